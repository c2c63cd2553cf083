"""Adapter for `opacus`: `PrivacyEngine.make_private` and the loop of its README.

Schemes: default (Poisson sampling); shuffled (`poisson_sampling=False`); ghost (`grad_sample_mode="ghost"`).
"""

from __future__ import annotations

import importlib
from typing import Any

import torch
from protocol import Outcome, Sums, Task, main
from torch_task import Batch, Records, add_record, compute_loss, make_linear, read_weights, watch_sums


def open_private(task: Task, records: Records, batch: int, noise: float) -> dict[str, Any]:
    """Return what `make_private` gives, by name."""
    engine: Any = importlib.import_module("opacus").PrivacyEngine()
    model = make_linear(records.x.shape[1])
    loader: torch.utils.data.DataLoader[Batch] = torch.utils.data.DataLoader(records, batch_size=batch, shuffle=True)
    arguments: dict[str, Any] = {} if task.scheme != "shuffled" else {"poisson_sampling": False}
    if task.scheme == "ghost":
        arguments = {"grad_sample_mode": "ghost", "criterion": torch.nn.BCEWithLogitsLoss()}
    made = engine.make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=task.rate),
        data_loader=loader,
        noise_multiplier=noise,
        max_grad_norm=task.clip,
        **arguments,
    )
    names = (
        ("model", "optimizer", "criterion", "loader") if len(made) > len("abc") else ("model", "optimizer", "loader")
    )
    return dict(zip(names, made, strict=True)) | {"engine": engine}


def train(task: Task) -> Outcome:
    """Train as the README does, with the weights read after each step."""
    private = open_private(task, Records(task.read_data()), task.batch, task.noise)
    model, optimizer, loader = private["model"], private["optimizer"], private["loader"]
    outcome = Outcome([read_weights(model)])
    for _ in range(task.epochs):
        for x, labels, places in loader:
            optimizer.zero_grad()
            if "criterion" in private:
                loss = private["criterion"](model(x).squeeze(-1), labels)
            else:
                loss = compute_loss(model(x), labels)
            loss.backward()
            optimizer.step()
            outcome.weights.append(read_weights(model))
            outcome.draws.append(places.tolist())
    outcome.facts = {
        "sampler": type(loader.batch_sampler).__name__,
        "noise": optimizer.noise_multiplier,
        "clip": optimizer.max_grad_norm,
        "divisor": optimizer.expected_batch_size,
        "accountant": private["engine"].accountant.mechanism(),
        "accounted": private["engine"].accountant.history,
        "epsilon": private["engine"].get_epsilon(task.delta),
        "delta": task.delta,
    }
    return outcome


def compare(task: Task) -> Sums:
    """Take one step on everything, without noise, with and without a canary."""
    sums: list[Any] = []
    for data in add_record(task):
        records = Records(data)
        private = open_private(task, records, len(data), 0.0)
        model, optimizer = private["model"], private["optimizer"]
        if task.scheme == "ghost":
            loss = private["criterion"](model(records.x).squeeze(-1), records.labels)
        else:
            loss = compute_loss(model(records.x), records.labels)
        watch_sums(optimizer, sums)
        loss.backward()
        optimizer.step()
    return Sums(sums[0], sums[1], task.clip, "mean loss of all records; clipped sums that the optimizer holds")


if __name__ == "__main__":
    main(train, compare)
