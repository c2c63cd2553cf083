"""Trainers whose flaw is how noise is drawn and counted: in floats, from one key, by shares, from nothing again."""

import dataclasses
import functools
from typing import Any

import numpy as np

from deniable.auditing.training.observation import TrainingStep
from deniable.core.arrays import FloatArray
from deniable.published.trainers.dp_sgd import (
    PLAN,
    BrokenTrainer,
    Steps,
    calibrate_plan,
    draw_noise,
    list_entries,
    sum_clipped,
    train_on_all,
)

_DIMENSION = 64


def _draw_floats(seed: int, scale: float, shape: tuple[int, ...]) -> FloatArray:
    """Gaussian noise is added in floating point.

    The sum of a number and its noise is rounded in a way that depends on the number: which floats can come out at all
    differs, whatever the noise (Mironov 2012; Jin et al. 2022 for Gaussian noise). The twin, as all other trainers of
    this room, rounds each contribution to a grid before it is added, and its noise is an exact draw of integers on this
    grid. Rounding the noisy sum would remove the last bits, and prove nothing.
    """
    return scale * np.random.default_rng(seed).standard_normal(shape)


FLOATING_POINT_NOISE = BrokenTrainer(
    "floating-point-noise",
    "Mironov 2012; Jin et al. 2022",
    "noise is added in floating point: the last bits of the result depend on the sum",
    functools.partial(train_on_all, draw=_draw_floats),
    train_on_all,
    records=(np.zeros(_DIMENSION),) * 15,
    canary=np.full(_DIMENSION, _DIMENSION**-0.5),
    facts_status="not refuted",
)


def _draw_by_keys(seed: int, scale: float, shape: tuple[int, ...], *, has_key_for_each: bool) -> FloatArray:
    """Two parameters of one shape get the same noise, because their draws start from the same key.

    A random number generator without a state, as in JAX, draws the same numbers from the same key. Where one key serves
    all parameters of a step, the difference of two of them has no noise at all. The example of DP-SGD in JAX itself did
    that (jax #3646, mended in 2020).
    """
    steps, parameters = shape
    keys = [seed + number if has_key_for_each else seed for number in range(parameters)]
    return np.column_stack([draw_noise(key, scale, (steps,)) for key in keys])


SHARED_NOISE = BrokenTrainer(
    "shared-noise",
    "the example of DP-SGD in JAX, before jax #3646",
    "two parameters get the same noise from the same key: their difference has none",
    functools.partial(train_on_all, draw=functools.partial(_draw_by_keys, has_key_for_each=False)),
    functools.partial(train_on_all, draw=functools.partial(_draw_by_keys, has_key_for_each=True)),
    records=(np.zeros(2),) * 15,
    canary=np.array([1.0, -1.0]),
    runs=1_000,
    facts_status="not refuted",
)

_MICRO_BATCHES = 4


def _train_on_machines(records: list[Any], seed: int, *, share: float) -> Steps:
    """Each of K micro-batches, or machines, adds a K-th of the noise.

    Variances add up, not deviations: the sum of K draws of deviation C sigma / K has deviation C sigma / sqrt(K). Each
    must add C sigma / sqrt(K).
    """
    gradients = np.stack(records)
    totals = np.array([sum_clipped(part) for part in np.array_split(gradients, _MICRO_BATCHES)])
    scale = share * PLAN.noise_multiplier
    yield PLAN
    for noise in draw_noise(seed, scale, (PLAN.steps, *totals.shape)):
        noisy = totals + noise
        yield TrainingStep(noisy.sum(axis=0), np.arange(len(records)), totals.sum(axis=0), scale * _MICRO_BATCHES**0.5)


NOISE_PER_MICRO_BATCH = BrokenTrainer(
    "noise-per-micro-batch",
    "textbook code for several machines",
    "each of four micro-batches adds a quarter of the noise: together half of it, since variances add up",
    functools.partial(_train_on_machines, share=1 / _MICRO_BATCHES),
    functools.partial(_train_on_machines, share=_MICRO_BATCHES**-0.5),
    records=(np.array([0.0]),) * 15,
    canary=np.array([1.0]),
)

_JOBS = 4
_RESUMED_PLAN = calibrate_plan(16, _JOBS)


def _train_in_jobs(records: list[Any], seed: int, *, steps_of_job: int) -> Steps:
    """Training is resumed from a checkpoint, and its accountant starts again at nothing.

    A checkpoint of the parameters alone forgets the steps that were counted; each job then reports the epsilon of its
    own steps. Opacus could not store its accountant before #429 (#117, #373).
    """
    yield _RESUMED_PLAN
    for job in range(_JOBS):
        items = train_on_all(records, seed + job, plan=dataclasses.replace(_RESUMED_PLAN, steps=steps_of_job))
        yield from (item for item in items if isinstance(item, TrainingStep))


RESUMED_TRAINING = BrokenTrainer(
    "resumed-training",
    "cf. Opacus #117, #373",
    "training was resumed three times, and each of the four jobs counts its own steps alone",
    functools.partial(_train_in_jobs, steps_of_job=_RESUMED_PLAN.steps),
    functools.partial(_train_in_jobs, steps_of_job=_RESUMED_PLAN.steps // _JOBS),
    records=(np.array([0.0]),) * 15,
    canary=np.array([1.0]),
)

ENTRIES = list_entries(FLOATING_POINT_NOISE, SHARED_NOISE, NOISE_PER_MICRO_BATCH, RESUMED_TRAINING)
