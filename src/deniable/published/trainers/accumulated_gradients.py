"""Gradients of micro-batches are added up as training frameworks do, and their sum is clipped once.

``loss.backward()`` adds to the gradients that are there, and clipping before ``optimizer.step()`` looks right. The
clipped sum has norm C, but one record can turn it around: it moves by 2 C, with noise for C. Opacus #219 says why
gradients cannot be added before they are clipped.
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

_MICRO_BATCHES = 4
PLAN = calibrate_plan(16, 1)
CASE = TrainerCase(records=(np.array([1.0]),) * 15, canary=np.array([-100.0]))


def _clip_accumulated(gradients: FloatArray) -> FloatArray:
    total = np.zeros(gradients.shape[1])
    for micro_batch in np.array_split(gradients, _MICRO_BATCHES):
        total += micro_batch.sum(axis=0)
    return clip_rows(total)


def _accumulate_clipped(gradients: FloatArray) -> FloatArray:
    total = np.zeros(gradients.shape[1])
    for micro_batch in np.array_split(gradients, _MICRO_BATCHES):
        total += sum_clipped(micro_batch)
    return total


train = functools.partial(train_on_all, plan=PLAN, sum_gradients=_clip_accumulated)
train_mended = functools.partial(train_on_all, plan=PLAN, sum_gradients=_accumulate_clipped)

ENTRY, TWIN = make_entries(
    "accumulated-gradients",
    CASE,
    train,
    train_mended,
    source="what Opacus #219 warns of",
    flaw="gradients of micro-batches are added before they are clipped: one record turns the sum around, by 2 C",
    facts_status="refuted",
)
