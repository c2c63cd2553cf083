"""The clipped sum is added to where backward passes have left the gradient itself.

A loop that takes gradients of single examples from a backward pass, clips them and adds them to ``p.grad`` forgets that
the pass has put the mean gradient there, which nobody clips (an issue of Differentially-Private-Deep-Learning, #7, asks
about that).
"""

import functools

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.published.trainers.dp_sgd import TrainerCase, calibrate_plan, make_entries, sum_clipped, train_on_all

PLAN = calibrate_plan(16, 1)
CASE = TrainerCase(records=(np.array([0.0]),) * 15, canary=np.array([100.0]), runs=1_000)


def _add_to_mean(gradients: FloatArray) -> FloatArray:
    total: FloatArray = gradients.mean(axis=0)
    total += sum_clipped(gradients)
    return total


def _add_to_zero(gradients: FloatArray) -> FloatArray:
    total: FloatArray = np.zeros(gradients.shape[1])
    total += sum_clipped(gradients)
    return total


train = functools.partial(train_on_all, plan=PLAN, sum_gradients=_add_to_mean)
train_mended = functools.partial(train_on_all, plan=PLAN, sum_gradients=_add_to_zero)

ENTRY, TWIN = make_entries(
    "unclipped-remainder",
    CASE,
    train,
    train_mended,
    source="cf. Differentially-Private-Deep-Learning #7",
    flaw="the mean gradient, which nobody clipped, stays in what the clipped sum is added to",
    facts_status="refuted",
)
