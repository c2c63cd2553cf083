"""Adapter for `tensorflow-privacy`: `DPKerasSGDOptimizer` and `fit`, as in its tutorials.

Schemes: default (each example a microbatch); microbatches (5 examples in each). The package's tutorials compute epsilon
with `compute_dp_sgd_privacy_statement`; its numbers are taken from the text.
"""

from __future__ import annotations

import importlib
import re
from typing import Any

import numpy as np
from protocol import Outcome, Sums, Task, main

MICROBATCH = 5


def open_model(task: Task, width: int, noise: float, rate: float) -> tuple[Any, list[int]]:
    """Return a compiled model whose last input is the place of a record, and the list in which it notes places."""
    tf: Any = importlib.import_module("tensorflow")
    privacy: Any = importlib.import_module("tensorflow_privacy")
    seen: list[int] = []

    def split(values: Any) -> Any:  # noqa: ANN401 - a tensor
        if hasattr(values, "numpy"):
            seen.extend(values[:, -1].numpy().astype(int).tolist())
        return values[:, :-1]

    model = tf.keras.Sequential(
        [
            tf.keras.layers.Lambda(split, input_shape=(width + 1,)),
            tf.keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros"),
        ]
    )
    optimizer = privacy.DPKerasSGDOptimizer(
        l2_norm_clip=task.clip,
        noise_multiplier=noise,
        num_microbatches=task.batch // MICROBATCH if task.scheme == "microbatches" else None,
        learning_rate=rate,
    )
    loss = tf.keras.losses.BinaryCrossentropy(from_logits=True, reduction=tf.losses.Reduction.NONE)
    model.compile(optimizer=optimizer, loss=loss, run_eagerly=True)
    return model, seen


def train(task: Task) -> Outcome:
    """Train, and read what the package states."""
    tf: Any = importlib.import_module("tensorflow")
    statement: Any = importlib.import_module("tensorflow_privacy").compute_dp_sgd_privacy_statement
    data = task.read_data()
    size = len(data) // task.batch * task.batch if task.scheme == "microbatches" else len(data)
    model, seen = open_model(task, data.x.shape[1], task.noise, task.rate)
    outcome = Outcome([model.get_weights()[0].reshape(-1)])
    seen.clear()

    class Watcher(tf.keras.callbacks.Callback):  # type: ignore[misc]  # the base class is known at run time only
        """Reads weights and places."""

        def on_train_batch_end(self, batch: int, logs: object = None) -> None:
            """Keep what a step has used and left."""
            del batch, logs
            outcome.weights.append(self.model.get_weights()[0].reshape(-1))
            outcome.draws.append(seen.copy())
            seen.clear()

    model.fit(
        np.column_stack([data.x, np.arange(len(data))])[:size].astype(np.float32),
        data.labels[:size].astype(np.float32)[:, None],
        batch_size=task.batch,
        epochs=task.epochs,
        verbose=0,
        callbacks=[Watcher()],
    )
    text = statement(
        number_of_examples=size,
        batch_size=task.batch,
        num_epochs=task.epochs,
        noise_multiplier=task.noise,
        delta=task.delta,
        used_microbatching=task.scheme == "microbatches",
    )
    found = [float(number) for number in re.findall(r":\s+([\d.]+|inf)\s*$", text, re.MULTILINE)]
    outcome.facts = {
        "sampler": "fit() of Keras, shuffled",
        "noise": task.noise,
        "clip": task.clip,
        "divisor": "microbatches in the batch drawn",
        "accountant": "rdp",
        "accounted": [[task.noise, task.batch / size, len(outcome.draws)]],
        "statement": text,
        "epsilons": found,
        "delta": task.delta,
    }
    return outcome


def compare(task: Task) -> Sums:
    """Take one step on everything, without noise, with and without a canary."""
    from dataclasses import replace

    sums = []
    for first in (False, True):
        data = replace(task, included=[first] + [False] * (len(task.included) - 1)).read_data()
        model, _ = open_model(replace(task, scheme="default"), data.x.shape[1], 0.0, float(len(data)))
        x = np.column_stack([data.x, np.arange(len(data))]).astype(np.float32)
        model.fit(x, data.labels.astype(np.float32)[:, None], batch_size=len(data), epochs=1, verbose=0)
        sums.append(-model.get_weights()[0].reshape(-1))
    return Sums(sums[0], sums[1], task.clip, "one step without noise; the weights' change, times the batch")


if __name__ == "__main__":
    main(train, compare)
