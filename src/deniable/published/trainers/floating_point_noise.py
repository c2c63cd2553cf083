"""Gaussian noise is added in floating point.

The sum of a number and its noise is rounded in a way that depends on the number: which floats can come out at all
differs, whatever the noise (Mironov 2012; Jin et al. 2022 for Gaussian noise). The twin, as all other trainers of this
room, rounds each contribution to a grid before it is added, and its noise is an exact draw of integers on this grid.
Rounding the noisy sum would remove the last bits, and prove nothing.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from deniable.auditing.training.observation import TrainingStep
from deniable.core.arrays import FloatArray
from deniable.published.trainers.dp_sgd import Steps, TrainerCase, calibrate_plan, draw_noise, make_entries, sum_clipped

_DIMENSION = 64
PLAN = calibrate_plan(16, 1)
CASE = TrainerCase(records=(np.zeros(_DIMENSION),) * 15, canary=np.full(_DIMENSION, _DIMENSION**-0.5))


def _draw_floats(seed: int, scale: float, shape: tuple[int, ...]) -> FloatArray:
    return scale * np.random.default_rng(seed).standard_normal(shape)


def _train(records: list[Any], seed: int, *, draw: Callable[[int, float, tuple[int, ...]], FloatArray]) -> Steps:
    total = sum_clipped(np.stack(records))
    yield PLAN
    for noise in draw(seed, PLAN.noise_multiplier, (PLAN.steps, _DIMENSION)):
        yield TrainingStep(total + noise, np.arange(len(records)), total, PLAN.noise_multiplier)


train = functools.partial(_train, draw=_draw_floats)
train_mended = functools.partial(_train, draw=draw_noise)

ENTRY, TWIN = make_entries(
    "floating-point-noise",
    CASE,
    train,
    train_mended,
    source="Mironov 2012; Jin et al. 2022",
    flaw="noise is added in floating point: the last bits of the result depend on the sum",
    facts_status="not refuted",
)
