"""The sum is divided by the size of the batch that was drawn, and the noise by the expected size.

The mean over b records moves by up to 2 C / b when a record comes or goes: all others pull one way, the record the
other way, and the divisor changes with it. Noise of C sigma / L is made for a mean whose divisor L is public. Opacus
takes its divisor from the private number of records, which shows in small data (Opacus #571, #819).
"""

import functools

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.published.trainers.dp_sgd import TrainerCase, calibrate_plan, make_entries, sum_clipped, train_on_all

_EXPECTED_SIZE = 16
PLAN = calibrate_plan(_EXPECTED_SIZE, 1)
CASE = TrainerCase(records=(np.array([1.0]),) * (_EXPECTED_SIZE - 1), canary=np.array([-1.0]))


def _scale_drawn_mean(gradients: FloatArray) -> FloatArray:
    """Return L times the mean, whose noise is that of a sum."""
    return _EXPECTED_SIZE * sum_clipped(gradients) / len(gradients)


def _scale_nominal_mean(gradients: FloatArray) -> FloatArray:
    """Return the same with the public divisor L."""
    return _EXPECTED_SIZE * sum_clipped(gradients) / _EXPECTED_SIZE


train = functools.partial(train_on_all, plan=PLAN, sum_gradients=_scale_drawn_mean)
train_mended = functools.partial(train_on_all, plan=PLAN, sum_gradients=_scale_nominal_mean)

ENTRY, TWIN = make_entries(
    "drawn-batch-size",
    CASE,
    train,
    train_mended,
    source="cf. Opacus #571, #819",
    flaw="a mean over the batch that was drawn moves by up to 2 C / b, with noise for C / L",
    facts_status="refuted",
)
