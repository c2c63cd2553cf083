"""Features are scaled by the largest one of the private data.

Whoever fits a scaler (mean and deviation, smallest and largest value) to the records before training lets one record
change the features of all the others. Each gradient is clipped, but all of them move. Ranges and scales are public,
or a release of their own that is paid for.
"""

import functools

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.published.trainers.dp_sgd import TrainerCase, calibrate_plan, make_entries, sum_clipped, train_on_all

_PUBLIC_SCALE = 1.0
PLAN = calibrate_plan(16, 1)
CASE = TrainerCase(records=(np.array([1.0]),) * 15, canary=np.array([-1000.0]), runs=1_000)


def _scale_by_largest(features: FloatArray) -> FloatArray:
    return sum_clipped(features / np.abs(features).max())


def _scale_by_constant(features: FloatArray) -> FloatArray:
    return sum_clipped(features / _PUBLIC_SCALE)


train = functools.partial(train_on_all, plan=PLAN, sum_gradients=_scale_by_largest)
train_mended = functools.partial(train_on_all, plan=PLAN, sum_gradients=_scale_by_constant)

ENTRY, TWIN = make_entries(
    "private-normalizer",
    CASE,
    train,
    train_mended,
    source="scalers that are fitted before private training",
    flaw="features are scaled by the largest of the private data: one record changes the clipped gradients of all",
    facts_status="refuted",
)
