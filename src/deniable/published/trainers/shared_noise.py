"""Two parameters of one shape get the same noise, because their draws start from the same key.

A random number generator without a state, as in JAX, draws the same numbers from the same key. Where one key serves all
parameters of a step, the difference of two of them has no noise at all. The example of DP-SGD in JAX itself did that
(jax #3646, mended in 2020).
"""

import functools
from typing import Any

import numpy as np

from deniable.auditing.training.observation import TrainingStep
from deniable.published.trainers.dp_sgd import Steps, TrainerCase, calibrate_plan, draw_noise, make_entries, sum_clipped

_PARAMETERS = 2
PLAN = calibrate_plan(16, 1)
CASE = TrainerCase(records=(np.zeros(_PARAMETERS),) * 15, canary=np.array([1.0, -1.0]), runs=1_000)


def _train(records: list[Any], seed: int, *, has_key_for_each: bool) -> Steps:
    total = sum_clipped(np.stack(records))
    keys = [seed + number if has_key_for_each else seed for number in range(_PARAMETERS)]
    noise = np.column_stack([draw_noise(key, PLAN.noise_multiplier, (PLAN.steps,)) for key in keys])
    yield PLAN
    for step in range(PLAN.steps):
        yield TrainingStep(total + noise[step], np.arange(len(records)), total, PLAN.noise_multiplier)


train = functools.partial(_train, has_key_for_each=False)
train_mended = functools.partial(_train, has_key_for_each=True)

ENTRY, TWIN = make_entries(
    "shared-noise",
    CASE,
    train,
    train_mended,
    source="the example of DP-SGD in JAX, before jax #3646",
    flaw="two parameters get the same noise from the same key: their difference has none",
    facts_status="not refuted",
)
