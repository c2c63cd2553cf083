"""Each of K micro-batches, or machines, adds a K-th of the noise.

Variances add up, not deviations: the sum of K draws of deviation C sigma / K has deviation C sigma / sqrt(K). Each must
add C sigma / sqrt(K).
"""

import functools
from typing import Any

import numpy as np

from deniable.auditing.training.observation import TrainingStep
from deniable.published.trainers.dp_sgd import Steps, TrainerCase, calibrate_plan, draw_noise, make_entries, sum_clipped

_MICRO_BATCHES = 4
PLAN = calibrate_plan(16, 1)
CASE = TrainerCase(records=(np.array([0.0]),) * 15, canary=np.array([1.0]))


def _train(records: list[Any], seed: int, *, share: float) -> Steps:
    gradients = np.stack(records)
    totals = np.array([sum_clipped(part) for part in np.array_split(gradients, _MICRO_BATCHES)])
    scale = share * PLAN.noise_multiplier
    yield PLAN
    for noise in draw_noise(seed, scale, (PLAN.steps, *totals.shape)):
        noisy = totals + noise
        yield TrainingStep(noisy.sum(axis=0), np.arange(len(records)), totals.sum(axis=0), scale * _MICRO_BATCHES**0.5)


train = functools.partial(_train, share=1 / _MICRO_BATCHES)
train_mended = functools.partial(_train, share=_MICRO_BATCHES**-0.5)

ENTRY, TWIN = make_entries(
    "noise-per-micro-batch",
    CASE,
    train,
    train_mended,
    source="textbook code for several machines",
    flaw="each of four micro-batches adds a quarter of the noise: together half of it, since variances add up",
    facts_status="refuted",
)
