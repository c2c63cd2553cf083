"""Shared by the adapters of trainers of the Hugging Face kind: arguments, and a callback that notes each step."""

from __future__ import annotations

import importlib
import secrets
from typing import TYPE_CHECKING, Any

import numpy as np
from protocol import Outcome, Sums
from torch_task import Classifier, Records, add_record, read_weights, watch_sums

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from protocol import Floats, Task

    Open = Callable[["Task", Classifier, Records, Any], Any]

TINY = 1e-3
"""A noise at which the accountants still answer; sums are read before the noise."""


def make_arguments(kind: Any, task: Task, batch: int, folder: Path) -> Any:  # noqa: ANN401 - of a package
    """Return training arguments: plain descent, a constant rate, no clipping of the sum, no files.

    A trainer of this kind seeds all generators with `seed`, 42 unless it is given another.
    """
    return kind(
        **({"seed": secrets.randbelow(2**32)} if task.fresh_seed else {}),
        output_dir=str(folder),
        per_device_train_batch_size=batch,
        gradient_accumulation_steps=task.accumulation,
        num_train_epochs=task.epochs,
        learning_rate=task.rate,
        lr_scheduler_type="constant",
        optim="sgd",
        max_grad_norm=0.0,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
        remove_unused_columns=False,
        use_cpu=True,
    )


def make_watcher(model: Classifier, outcome: Outcome, sums: list[Floats] | None = None) -> Any:  # noqa: ANN401 - theirs
    """Return a callback that keeps weights and places after each step, and if asked the clipped sums of each."""
    callback: Any = importlib.import_module("transformers").TrainerCallback

    class Watcher(callback):  # type: ignore[misc]  # the base class is known at run time only
        """Reads the user's own model."""

        def on_train_begin(self, *_: object, **given: Any) -> None:  # noqa: ANN401 - theirs
            """Find the optimizer of Opacus and wait for its steps."""
            optimizer = given["optimizer"]
            while not hasattr(optimizer, "original_optimizer"):
                optimizer = optimizer.optimizer
            outcome.facts |= {
                "noise": optimizer.noise_multiplier,
                "clip": optimizer.max_grad_norm,
                "divisor": optimizer.expected_batch_size,
                "secure": optimizer.secure_mode,
            }
            if sums is not None:
                watch_sums(optimizer, sums)

        def on_step_end(self, *_: object, **__: object) -> None:
            """Note what the step has used and left."""
            outcome.weights.append(read_weights(model))
            outcome.draws.append(model.seen.copy())
            model.seen.clear()

    return Watcher()


def train_with(open_trainer: Open, task: Task, records: Records) -> tuple[Outcome, Any]:
    """Train and return what was seen, and the trainer."""
    model = Classifier(records)
    outcome = Outcome([read_weights(model)])
    trainer = open_trainer(task, model, records, make_watcher(model, outcome))
    trainer.train()
    return outcome, trainer


def compare_with(open_trainer: Open, task: Task) -> Sums:
    """Return the clipped sums of a first step on everything, with and without a canary."""
    from dataclasses import replace

    first = []
    for data in add_record(task):
        records = Records(data)
        model = Classifier(records)
        sums: list[Floats] = []
        watcher = make_watcher(model, Outcome([]), sums)
        whole = replace(task, batch=len(data), accumulation=1, epochs=1, noise=TINY * 1000)
        open_trainer(whole, model, records, watcher).train()
        first.append(np.asarray(sums[0]))
    return Sums(first[0], first[1], task.clip, "mean loss of all records; clipped sums that the optimizer holds")
