"""Adapter for `private-transformers`: `PrivacyEngine.attach` and the loop of its README.

Schemes: default; ghost (`clipping_mode="ghost"`). A model that is no transformer of its list needs `skip_checks=True`.
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
    engine: Any = importlib.import_module("private_transformers").PrivacyEngine(
        model,
        batch_size=task.batch * task.accumulation,
        sample_size=size,
        epochs=task.epochs,
        max_grad_norm=task.clip,
        noise_multiplier=task.noise,
        target_delta=task.delta,
        clipping_mode="ghost" if task.scheme == "ghost" else "default",
        skip_checks=True,
    )
    engine.attach(optimizer)
    return engine


def step(optimizer: Any, model: nn.Module, x: torch.Tensor, labels: torch.Tensor, is_step: bool) -> None:  # noqa: ANN401, FBT001 - theirs
    """Hand the losses of one physical batch over; step where one ends."""
    losses = compute_loss(model(x), labels, reduction="none")
    if is_step:
        optimizer.step(loss=losses)
        optimizer.zero_grad()
    else:
        optimizer.virtual_step(loss=losses)


def train(task: Task) -> Outcome:
    """Train and add what the engine reports."""
    outcome, engine = train_loop(attach, step, task, task.read_data())
    outcome.facts |= describe_engine(engine)
    return outcome


def compare(task: Task) -> Sums:
    """Compare sums with and without a canary."""
    return compare_loops(attach, step, task)


if __name__ == "__main__":
    main(train, compare)
