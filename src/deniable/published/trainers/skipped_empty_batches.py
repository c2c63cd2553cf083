"""Steps whose batch is empty are skipped, and release nothing.

The accountant of Poisson samples counts noise at every step, also where no record was drawn. A loop over a loader skips
empty batches, or fails at them: that a step was made shows that somebody was there (Opacus #161, mended in #164).
"""

import functools
from typing import Any

import numpy as np

from deniable.accounting.training import TrainingPlan
from deniable.auditing.training.observation import TrainingStep
from deniable.published.trainers.dp_sgd import Steps, TrainerCase, clip_rows, draw_noise, make_entries

PLAN = TrainingPlan("poisson", records=4, batch_size=1, steps=8, noise_multiplier=3.0, clip=1.0)
CASE = TrainerCase(
    records=(),
    canary=np.array([1.0]),
    epsilon=1.05,  # of the plan, rounded up
    noise="any",
    runs=1_000,
)


def _train(records: list[Any], seed: int, *, skips_empty: bool) -> Steps:
    random, gradients = np.random.default_rng(seed), clip_rows(np.reshape(records, (len(records), 1)))
    yield PLAN
    for noise in draw_noise(seed, PLAN.noise_multiplier, (PLAN.steps, 1)):
        batch = np.flatnonzero(random.random(len(records)) < PLAN.rate)
        if len(batch) == 0 and skips_empty:
            continue
        total = gradients[batch].sum(axis=0)
        yield TrainingStep(total + noise, batch, total, PLAN.noise_multiplier)


train = functools.partial(_train, skips_empty=True)
train_mended = functools.partial(_train, skips_empty=False)

ENTRY, TWIN = make_entries(
    "skipped-empty-batches",
    CASE,
    train,
    train_mended,
    source="Opacus #161",
    flaw="steps with an empty batch are skipped: a step that was made shows that a record was there",
    facts_status="undecided",  # fewer steps than the plan states, of which batches that were not drawn show nothing
)
