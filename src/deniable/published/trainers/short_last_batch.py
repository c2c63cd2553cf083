"""The last batch of an epoch is short, and its sum is divided by its own size.

Noise of C sigma / L is made for the mean of L records. Where the last batch has b of them, and the mean is over these,
a record in it counts L / b times as much as the noise can hide.
"""

import functools
from typing import Any

import numpy as np

from deniable.accounting.training import TrainingPlan
from deniable.auditing.training.observation import TrainingStep
from deniable.published.trainers.dp_sgd import Steps, TrainerCase, calibrate_plan, draw_noise, make_entries, sum_clipped

_RECORDS, _SIZE = 9, 4
PLAN = TrainingPlan("shuffled", _RECORDS, _SIZE, 3, calibrate_plan(_RECORDS, 1).noise_multiplier, 1.0)  # once an epoch
CASE = TrainerCase(records=(np.array([0.0]),) * (_RECORDS - 1), canary=np.array([1.0]), other=np.array([0.0]))


def _train(records: list[Any], seed: int, *, divides_by_own_size: bool) -> Steps:
    """Train for one epoch, in the order of the file, which the claim does not rest on."""
    gradients = np.stack(records)
    noise = draw_noise(seed, PLAN.noise_multiplier, (PLAN.steps, 1))
    yield PLAN
    for step, start in enumerate(range(0, _RECORDS, _SIZE)):
        batch = np.arange(start, min(start + _SIZE, _RECORDS))
        divisor = len(batch) if divides_by_own_size else _SIZE
        # L times the mean, whose noise is that of a sum.
        total = _SIZE * sum_clipped(gradients[batch]) / divisor
        yield TrainingStep(total + noise[step], batch, total, PLAN.noise_multiplier)


train = functools.partial(_train, divides_by_own_size=True)
train_mended = functools.partial(_train, divides_by_own_size=False)

ENTRY, TWIN = make_entries(
    "short-last-batch",
    CASE,
    train,
    train_mended,
    source="loops that average over the batch at hand",
    flaw="the last batch has one record, and its mean the noise for four: the record counts four times",
    facts_status="refuted",
)
