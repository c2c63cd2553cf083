"""Adapter for `jax_privacy`: its parts put together as its documentation does, and its Keras interface.

Schemes: default (`BandMFExecutionPlanConfig` with one band, which is DP-SGD with Poisson sampling); keras
(`make_private` and `fit` on arrays, with the defaults of `DPKerasConfig`); keras-poisson
(`poisson_sampling_in_fit=True`).
"""

from __future__ import annotations

import importlib
import os
from typing import Any

import numpy as np
from protocol import Outcome, Sums, Task, main


def train(task: Task) -> Outcome:
    """Train by the scheme's interface."""
    return train_keras(task) if task.scheme.startswith("keras") else train_plan(task)


def make_loss(jax: Any) -> Any:  # noqa: ANN401 - theirs
    """Return the mean logistic loss of weights on records."""

    def compute_loss(weights: Any, x: Any, labels: Any) -> Any:  # noqa: ANN401 - arrays of jax
        logits = x @ weights
        return jax.numpy.mean(jax.nn.softplus(logits) - labels * logits)

    return compute_loss


def train_plan(task: Task) -> Outcome:
    """Train with an execution plan."""
    jax: Any = importlib.import_module("jax")
    plans: Any = importlib.import_module("jax_privacy.experimental.execution_plan")
    sampling: Any = importlib.import_module("jax_privacy.batch_selection")
    data = task.read_data()
    steps = task.epochs * (len(data) // task.batch)
    config = plans.BandMFExecutionPlanConfig(
        iterations=steps,
        strategy=np.ones(1),
        epsilon=None,
        delta=None,
        noise_multiplier=task.noise,
        l2_clip_norm=task.clip,
        rescale_to_unit_norm=False,
        normalize_by=float(task.batch),
        sampling_prob=task.batch / len(data),
    )
    plan = config.plan
    gradient = jax.jit(plan.clipped_grad(make_loss(jax), batch_argnums=(1, 2)))
    weights = jax.numpy.zeros(data.x.shape[1])
    state = plan.noise_addition_transform.init(weights)
    outcome = Outcome([np.asarray(weights)])
    for drawn in plan.batch_selection_strategy.batch_iterator(len(data)):
        places = sampling.pad_to_multiple_of(drawn, 32)
        batch_sum = gradient(
            weights, data.x[places], data.labels[places].astype(np.float32), is_padding_example=places == -1
        )
        noisy, state = plan.noise_addition_transform.update(batch_sum, state)
        weights = weights - task.rate * noisy
        outcome.weights.append(np.asarray(weights))
        outcome.draws.append(drawn.tolist())
    accountant = config.accountant.compose(plan.dp_event)
    outcome.facts = {
        "sampler": type(plan.batch_selection_strategy).__name__,
        "noise": config.noise_multiplier,
        "clip": config.l2_clip_norm,
        "divisor": config.normalize_by,
        "accountant": f"{type(accountant).__name__}, {accountant.neighboring_relation}",
        "accounted": [[task.noise, config.sampling_prob, steps]],
        "epsilon": accountant.get_epsilon(task.delta),
        "delta": task.delta,
    }
    return outcome


def train_keras(task: Task) -> Outcome:
    """Train a Keras model with `fit`; which records a step uses is not seen."""
    os.environ["KERAS_BACKEND"] = "jax"
    keras: Any = importlib.import_module("keras")
    private: Any = importlib.import_module("jax_privacy.keras_api")
    data = task.read_data()
    # fit() must be given whole batches, so a few records are left out.
    size = len(data) // (task.batch * task.accumulation) * task.batch * task.accumulation
    batches = task.epochs * size // task.batch
    steps = batches // task.accumulation
    model = keras.Sequential(
        [keras.layers.Input((data.x.shape[1],)), keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros")]
    )
    config = private.DPKerasConfig(
        epsilon=1000.0,  # the noise is given; the package asks for an epsilon that it stays below
        delta=task.delta,
        clipping_norm=task.clip,
        batch_size=task.batch,
        gradient_accumulation_steps=task.accumulation,
        train_steps=batches,  # fit() counts physical batches
        train_size=size,
        noise_multiplier=task.noise,
        rescale_to_unit_norm=False,
        **({"poisson_sampling_in_fit": True} if task.scheme == "keras-poisson" else {}),
    )
    private.make_private(model, config)
    accumulation = {"gradient_accumulation_steps": task.accumulation} if task.accumulation > 1 else {}
    model.compile(
        optimizer=keras.optimizers.SGD(task.rate, **accumulation),
        loss=keras.losses.BinaryCrossentropy(from_logits=True),
    )
    outcome = Outcome([np.asarray(model.layers[-1].get_weights()[0]).reshape(-1)])

    class Watcher(keras.callbacks.Callback):  # type: ignore[misc]  # the base class is known at run time only
        """Reads the weights."""

        def on_train_batch_end(self, batch: int, logs: object = None) -> None:
            """Keep what a step has left."""
            del logs
            if (batch + 1) % task.accumulation == 0:
                outcome.weights.append(np.asarray(self.model.layers[-1].get_weights()[0]).reshape(-1).copy())

    model.fit(
        data.x[:size], data.labels[:size].astype(np.float32)[:, None], batch_size=task.batch, epochs=task.epochs,
        verbose=0, callbacks=[Watcher()],
    )  # fmt: skip
    analysis: Any = importlib.import_module("jax_privacy.accounting.analysis")
    parameters = analysis.DpParams(
        noise_multipliers=task.noise, batch_size=config.effective_batch_size, num_samples=size, delta=task.delta
    )
    checked = analysis.DpParams(
        noise_multipliers=task.noise, batch_size=config.batch_size, num_samples=size, delta=task.delta
    )
    accountant = config._accountant  # noqa: SLF001 - the one that the configuration is checked with
    outcome.facts = {
        "sampler": "Poisson, of the package" if config.poisson_sampling_in_fit else "fit() of Keras, shuffled",
        "left_out": len(data) - size,
        "noise": task.noise,
        "clip": task.clip,
        "divisor": config.effective_batch_size,
        "accountant": "PLD",
        "accounted": [[task.noise, config.effective_batch_size / size, steps]],
        "epsilon": accountant.compute_epsilon(steps, parameters),
        "epsilon_checked": accountant.compute_epsilon(config.train_steps, checked),
        "delta": task.delta,
    }
    return outcome


def compare(task: Task) -> Sums:
    """Compare clipped sums with and without a canary."""
    from dataclasses import replace

    jax: Any = importlib.import_module("jax")
    gradient = importlib.import_module("jax_privacy").clipped_grad(
        make_loss(jax), l2_clip_norm=task.clip, batch_argnums=(1, 2)
    )
    sums = []
    for first in (False, True):
        data = replace(task, included=[first] + [False] * (len(task.included) - 1)).read_data()
        weights = jax.numpy.zeros(data.x.shape[1])
        sums.append(np.asarray(gradient(weights, data.x, data.labels.astype(np.float32))))
    return Sums(sums[0], sums[1], task.clip, "clipped_grad on all records")


if __name__ == "__main__":
    main(train, compare)
