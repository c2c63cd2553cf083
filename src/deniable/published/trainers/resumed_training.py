"""Training is resumed from a checkpoint, and its accountant starts again at nothing.

A checkpoint of the parameters alone forgets the steps that were counted; each job then reports the epsilon of its own
steps. Opacus could not store its accountant before #429 (#117, #373).
"""

import dataclasses
import functools
from typing import Any

import numpy as np

from deniable.auditing.training.observation import TrainingStep
from deniable.published.trainers.dp_sgd import (
    Steps,
    TrainerCase,
    calibrate_plan,
    make_entries,
    sum_clipped,
    train_on_all,
)

_JOBS = 4
PLAN = calibrate_plan(16, 4)
CASE = TrainerCase(records=(np.array([0.0]),) * 15, canary=np.array([1.0]))


def _train(records: list[Any], seed: int, *, steps_of_job: int) -> Steps:
    yield PLAN
    for job in range(_JOBS):
        plan = dataclasses.replace(PLAN, steps=steps_of_job)
        items = train_on_all(records, seed + job, plan=plan, sum_gradients=sum_clipped)
        yield from (item for item in items if isinstance(item, TrainingStep))


train = functools.partial(_train, steps_of_job=PLAN.steps)
train_mended = functools.partial(_train, steps_of_job=PLAN.steps // _JOBS)

ENTRY, TWIN = make_entries(
    "resumed-training",
    CASE,
    train,
    train_mended,
    source="cf. Opacus #117, #373",
    flaw="training was resumed three times, and each of the four jobs counts its own steps alone",
    facts_status="refuted",
)
