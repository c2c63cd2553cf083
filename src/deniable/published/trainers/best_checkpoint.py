"""The checkpoint with the least loss on the private data is the model.

All checkpoints together are as private as claimed, and so would be one of them that is named in advance. Which of them
fits the records best is a question to the records, that nobody counted, and loss is not clipped: a record with a large
loss picks the checkpoint that noise happened to drive its way. Papernot and Steinke 2022 count what such choices cost.
"""

import functools
from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from deniable.accounting.training import TrainingPlan
from deniable.auditing.training.observation import Model, TrainingStep
from deniable.core.arrays import FloatArray
from deniable.published.trainers.dp_sgd import TrainerCase, calibrate_plan, make_entries, sum_clipped, train_on_all

PLAN = calibrate_plan(16, 16)
CASE = TrainerCase(records=(np.array([-1.0]),), canary=np.array([3.0]), runs=2_000)


def _train(
    records: list[Any], seed: int, *, choose_checkpoint: Callable[[FloatArray], int]
) -> Generator[TrainingPlan | TrainingStep, None, Model]:
    checkpoints = np.zeros((0, 1))
    for item in train_on_all(records, seed, plan=PLAN, sum_gradients=sum_clipped):
        yield item
        if isinstance(item, TrainingStep):
            parameters = checkpoints[-1:].sum(axis=0) + item.released
            checkpoints = np.vstack([checkpoints, parameters])
    losses = -(checkpoints @ np.stack(records).T)
    model = checkpoints[choose_checkpoint(losses)]
    return lambda canaries: np.stack(canaries) @ model


train = functools.partial(_train, choose_checkpoint=lambda losses: int(losses.sum(axis=1).argmin()))
train_mended = functools.partial(_train, choose_checkpoint=lambda _: -1)

ENTRY, TWIN = make_entries(
    "best-checkpoint",
    CASE,
    train,
    train_mended,
    source="cf. Papernot and Steinke 2022",
    flaw="the checkpoint is chosen by its loss on the private data: the choice is an answer that nobody counted",
    facts_status="not refuted",
)
