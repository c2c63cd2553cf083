"""Shared by the adapters of engines that attach to an optimizer: the loop and the loader are the user's own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from protocol import Outcome, Sums
from torch_task import Batch, Records, add_record, make_linear, read_weights

if TYPE_CHECKING:
    from collections.abc import Callable

    from protocol import Data, Floats, Task
    from torch import nn

    Step = Callable[[Any, nn.Module, torch.Tensor, torch.Tensor, bool], None]
    Attach = Callable[[Task, nn.Module, torch.optim.Optimizer, int], Any]


def train_loop(attach: Attach, step: Step, task: Task, data: Data, first: int = 1) -> tuple[Outcome, Any]:
    """Train with a shuffled loader, as both packages' examples do; return what was seen, and the engine.

    The engine is given the number of records in a step and of all records. The physical batches of an epoch are
    numbered from `first`, and a step ends where their number is a multiple of the task's accumulation; what is left of
    an epoch waits in the engine for the next.
    """
    records = Records(data)
    model = make_linear(records.x.shape[1])
    optimizer = torch.optim.SGD(model.parameters(), lr=task.rate)
    engine = attach(task, model, optimizer, len(records))
    loader: torch.utils.data.DataLoader[Batch] = torch.utils.data.DataLoader(
        records, batch_size=task.batch, shuffle=True
    )
    outcome = Outcome([read_weights(model)])
    used: list[int] = []
    for _ in range(task.epochs):
        for number, (x, labels, places) in enumerate(loader, first):
            used += places.tolist()
            is_step = number % task.accumulation == 0
            step(optimizer, model, x, labels, is_step)
            if is_step:
                outcome.weights.append(read_weights(model))
                outcome.draws.append(used)
                used = []
    outcome.facts = {"sampler": type(loader.batch_sampler).__name__, "divisor": task.batch * task.accumulation}
    return outcome, engine


def describe_engine(engine: Any) -> dict[str, Any]:  # noqa: ANN401 - fastDP's grew out of private-transformers'
    """Return what an engine reports of its noise and its accounting."""
    return {
        "noise": engine.noise_multiplier,
        "clip": engine.max_grad_norm,
        "divisor": engine.batch_size,
        "accountant": engine.accounting_mode,
        "accounted": [[engine.noise_multiplier, engine.sample_rate, engine.steps]],
        "epsilon": engine.get_privacy_spent()["eps_rdp"],
        "delta": engine.target_delta,
    }


def compare_loops(attach: Attach, step: Step, task: Task) -> Sums:
    """Return the clipped sums of one step on everything, without noise: what the weights have moved."""
    sums: list[Floats] = []
    none, one = add_record(task)
    for data in (none, one):
        whole = replace(task, batch=len(one), accumulation=1, epochs=1, noise=0.0, rate=float(len(one)))
        outcome, _ = train_loop(attach, step, whole, data)
        sums.append(outcome.weights[0] - outcome.weights[1])
    return Sums(sums[0], sums[1], task.clip, "one step without noise; the weights' change, times the engine's divisor")
