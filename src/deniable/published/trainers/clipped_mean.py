"""The mean gradient of a batch is clipped, not the gradient of each example, and gets the noise for one example.

It is quick, and the norm of what is released is bounded by C as the paper of DP-SGD says. But one record can turn the
mean around, and so moves it by 2 C, where the mean of clipped gradients moves by C / L. For micro-batches this is
Section 5.6 of Ponomareva et al. 2023, "How to DP-fy ML" (micro-batches of k need noise 2 k times as large); Opacus
was asked for it (#25).
"""

import functools

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.published.trainers.dp_sgd import (
    TrainerCase,
    calibrate_plan,
    clip_rows,
    make_entries,
    sum_clipped,
    train_on_all,
)

_SIZE = 16
PLAN = calibrate_plan(_SIZE, 1)
CASE = TrainerCase(records=(np.array([1.0]),) * (_SIZE - 1), canary=np.array([-100.0]), runs=1_000)


def _clip_mean(gradients: FloatArray) -> FloatArray:
    """Return L times the clipped mean, whose noise is that of a sum."""
    return _SIZE * clip_rows(gradients.sum(axis=0) / _SIZE)


def _average_clipped(gradients: FloatArray) -> FloatArray:
    """Return L times the mean of clipped gradients."""
    return _SIZE * (sum_clipped(gradients) / _SIZE)


train = functools.partial(train_on_all, plan=PLAN, sum_gradients=_clip_mean)
train_mended = functools.partial(train_on_all, plan=PLAN, sum_gradients=_average_clipped)

ENTRY, TWIN = make_entries(
    "clipped-mean",
    CASE,
    train,
    train_mended,
    source="cf. Ponomareva et al. 2023, Section 5.6; Opacus #25",
    flaw="the mean of a batch is clipped, not each gradient: one record moves it by 2 C, with noise for C / L",
    facts_status="refuted",
)
