"""Batches of a shuffled epoch, accounted for as Poisson samples.

Nearly every trainer cuts a random order of the records into batches and computes epsilon as if each batch had drawn
each record by its own coin. A record is then in exactly one batch of an epoch, and cannot be in none: with many batches
and little noise the true epsilon is several times the claimed one (Chua et al. 2024, "How private are DP-SGD
implementations?"; private-transformers #7).
"""

import functools
from typing import Any

import numpy as np

from deniable.accounting.training import TrainingPlan
from deniable.auditing.training.observation import TrainingStep
from deniable.published.trainers.dp_sgd import Steps, TrainerCase, clip_rows, draw_noise, make_entries

_BATCHES = 20
PLAN = TrainingPlan("poisson", records=_BATCHES, batch_size=1, steps=_BATCHES, noise_multiplier=0.7, clip=1.0)
CASE = TrainerCase(
    records=(np.array([-1.0]),) * (_BATCHES - 1),
    canary=np.array([1.0]),
    other=np.array([0.0]),
    epsilon=1.43,  # of the plan, rounded up
    delta=0.01,
    noise="any",
    runs=6_000,
)


def _train(records: list[Any], seed: int, *, is_shuffled: bool) -> Steps:
    random, gradients = np.random.default_rng(seed), clip_rows(np.stack(records))
    noise = draw_noise(seed, PLAN.noise_multiplier, (_BATCHES, 1))
    order = random.permutation(len(records))
    yield PLAN
    for step in range(_BATCHES):
        batch = order[step : step + 1] if is_shuffled else np.flatnonzero(random.random(len(records)) < PLAN.rate)
        total = gradients[batch].sum(axis=0)
        yield TrainingStep(total + noise[step], batch, total, PLAN.noise_multiplier)


train = functools.partial(_train, is_shuffled=True)
train_mended = functools.partial(_train, is_shuffled=False)

ENTRY, TWIN = make_entries(
    "shuffled-batches",
    CASE,
    train,
    train_mended,
    source="Chua et al. 2024; private-transformers #7",
    flaw="one epoch of shuffled batches, each accounted for as a Poisson sample: a record cannot be in no batch",
    facts_status="refuted",
)
