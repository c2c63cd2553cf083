"""Micro-batches of one step, each drawn anew, so that a record may count more than once.

Where memory is short, a step adds the clipped gradients of several micro-batches. The accountant counts one batch, in
which a record is at most once, and so moves the sum by the clipping norm C. If each micro-batch is a fresh sample, a
record that two of them drew moves it by 2 C. Libraries forbid it (Opacus #320: "Poisson sampling is not compatible with
grad accumulation"); who loops over the loader without them gets it. The claim is that of one pass over all records.
"""

import functools
from typing import Any

import numpy as np

from deniable.auditing.training.observation import TrainingStep
from deniable.published.trainers.dp_sgd import Steps, TrainerCase, calibrate_plan, clip_rows, draw_noise, make_entries

_MICRO_BATCHES = 8
_EPSILON = 4.0
PLAN = calibrate_plan(16, 1, _EPSILON)
CASE = TrainerCase(
    records=(np.array([0.0]),) * 15,
    canary=np.array([1.0]),
    epsilon=_EPSILON,
    runs=20_000,
    facts_seed=2,  # under which the canary is drawn more than once
)


def _train(records: list[Any], seed: int, *, is_partition: bool) -> Steps:
    random, gradients = np.random.default_rng(seed), clip_rows(np.stack(records))
    draws = random.random((len(records), _MICRO_BATCHES))
    places = draws.argmax(axis=1)
    micro_batches = [
        np.flatnonzero(places == number if is_partition else draws[:, number] < 1 / _MICRO_BATCHES)
        for number in range(_MICRO_BATCHES)
    ]
    batch = np.concatenate(micro_batches)
    total = gradients[batch].sum(axis=0)
    yield PLAN
    noise = draw_noise(seed, PLAN.noise_multiplier, total.shape)
    yield TrainingStep(total + noise, batch, total, PLAN.noise_multiplier)


train = functools.partial(_train, is_partition=False)
train_mended = functools.partial(_train, is_partition=True)

ENTRY, TWIN = make_entries(
    "independent-micro-batches",
    CASE,
    train,
    train_mended,
    source="what Opacus #320 forbids",
    flaw="every micro-batch of a step is drawn anew: a record in two of them moves the sum by twice the clipping norm",
    facts_status="refuted",
)
