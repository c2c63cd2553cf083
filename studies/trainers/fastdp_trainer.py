"""Adapter for `fastDP` (awslabs/fast-differential-privacy): `PrivacyEngine.attach` and the loop of its README.

Schemes: default (`clipping_fn="automatic"`, whose norm is 1 whatever is asked for); abadi.
"""

from __future__ import annotations

import importlib
from typing import Any

import torch
from own_loop import compare_loops, describe_engine, train_loop
from protocol import Outcome, Sums, Task, main
from torch import nn
from torch_task import compute_loss


def attach(task: Task, model: nn.Module, optimizer: torch.optim.Optimizer, size: int) -> Any:  # noqa: ANN401 - theirs
    """Return the engine."""
    engine: Any = importlib.import_module("fastDP").PrivacyEngine(
        model,
        batch_size=task.batch * task.accumulation,
        sample_size=size,
        epochs=task.epochs,
        noise_multiplier=task.noise,
        target_delta=task.delta,
        max_grad_norm=task.clip,
        clipping_fn="Abadi" if task.scheme == "abadi" else "automatic",
    )
    engine.attach(optimizer)
    return engine


def step(optimizer: Any, model: nn.Module, x: torch.Tensor, labels: torch.Tensor, is_step: bool) -> None:  # noqa: ANN401, FBT001 - theirs
    """Go back through one physical batch; step where one ends."""
    loss: Any = compute_loss(model(x), labels)
    loss.backward()
    if is_step:
        optimizer.step()
        optimizer.zero_grad()


def train(task: Task) -> Outcome:
    """Train and add what the engine reports."""
    outcome, engine = train_loop(attach, step, task, task.read_data(), first=0)  # as in the README
    outcome.facts |= describe_engine(engine)
    return outcome


def compare(task: Task) -> Sums:
    """Compare sums with and without a canary."""
    return compare_loops(attach, step, task)


if __name__ == "__main__":
    main(train, compare)
