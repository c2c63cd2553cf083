"""Trainers whose flaw is which records come into a step: in order, several times, or none."""

import functools
from typing import Any

import numpy as np

from deniable.accounting.training import TrainingPlan
from deniable.auditing.training.observation import TrainingStep
from deniable.published.trainers.dp_sgd import (
    BrokenTrainer,
    Steps,
    calibrate_plan,
    clip_rows,
    draw_noise,
    list_entries,
)

_BATCHES = 20
_SHUFFLED_PLAN = TrainingPlan("poisson", records=_BATCHES, batch_size=1, steps=_BATCHES, noise_multiplier=0.7, clip=1.0)


def _train_in_batches(records: list[Any], seed: int, *, is_shuffled: bool) -> Steps:
    """Batches of a shuffled epoch, accounted for as Poisson samples.

    Nearly every trainer cuts a random order of the records into batches and computes epsilon as if each batch had drawn
    each record by its own coin. A record is then in exactly one batch of an epoch, and cannot be in none: with many
    batches and little noise the true epsilon is several times the claimed one (Chua et al. 2024, "How private are
    DP-SGD implementations?"; private-transformers #7).
    """
    random, gradients = np.random.default_rng(seed), clip_rows(np.stack(records))
    noise = draw_noise(seed, _SHUFFLED_PLAN.noise_multiplier, (_BATCHES, 1))
    order = random.permutation(len(records))
    yield _SHUFFLED_PLAN
    for step in range(_BATCHES):
        is_drawn = random.random(len(records)) < _SHUFFLED_PLAN.rate
        batch = order[step : step + 1] if is_shuffled else np.flatnonzero(is_drawn)
        total = gradients[batch].sum(axis=0)
        yield TrainingStep(total + noise[step], batch, total, _SHUFFLED_PLAN.noise_multiplier)


SHUFFLED_BATCHES = BrokenTrainer(
    "shuffled-batches",
    "Chua et al. 2024; private-transformers #7",
    "one epoch of shuffled batches, each accounted for as a Poisson sample: a record cannot be in no batch",
    functools.partial(_train_in_batches, is_shuffled=True),
    functools.partial(_train_in_batches, is_shuffled=False),
    records=(np.array([-1.0]),) * (_BATCHES - 1),
    canary=np.array([1.0]),
    other=np.array([0.0]),
    epsilon=1.43,  # of the plan, rounded up
    delta=0.01,
    noise="any",
    runs=6_000,
)

_MICRO_BATCHES, _MICRO_EPSILON = 8, 4.0
_MICRO_PLAN = calibrate_plan(16, 1, _MICRO_EPSILON)


def _train_on_micro_batches(records: list[Any], seed: int, *, is_partition: bool) -> Steps:
    """Micro-batches of one step, each drawn anew, so that a record may count more than once.

    Where memory is short, a step adds the clipped gradients of several micro-batches. The accountant counts one batch,
    in which a record is at most once, and so moves the sum by the clipping norm C. If each micro-batch is a fresh
    sample, a record that two of them drew moves it by 2 C. Libraries forbid it (Opacus #320: "Poisson sampling is not
    compatible with grad accumulation"); who loops over the loader without them gets it. The claim is that of one pass
    over all records.
    """
    random, gradients = np.random.default_rng(seed), clip_rows(np.stack(records))
    draws = random.random((len(records), _MICRO_BATCHES))
    places = draws.argmax(axis=1)
    micro_batches = [
        np.flatnonzero(places == number if is_partition else draws[:, number] < 1 / _MICRO_BATCHES)
        for number in range(_MICRO_BATCHES)
    ]
    batch = np.concatenate(micro_batches)
    total = gradients[batch].sum(axis=0)
    yield _MICRO_PLAN
    noise = draw_noise(seed, _MICRO_PLAN.noise_multiplier, total.shape)
    yield TrainingStep(total + noise, batch, total, _MICRO_PLAN.noise_multiplier)


INDEPENDENT_MICRO_BATCHES = BrokenTrainer(
    "independent-micro-batches",
    "what Opacus #320 forbids",
    "every micro-batch of a step is drawn anew: a record in two of them moves the sum by twice the clipping norm",
    functools.partial(_train_on_micro_batches, is_partition=False),
    functools.partial(_train_on_micro_batches, is_partition=True),
    records=(np.array([0.0]),) * 15,
    canary=np.array([1.0]),
    epsilon=_MICRO_EPSILON,
    runs=20_000,
    facts_seed=2,  # under which the canary is drawn more than once
)

_SPARSE_PLAN = TrainingPlan("poisson", records=4, batch_size=1, steps=8, noise_multiplier=3.0, clip=1.0)


def _train_on_few(records: list[Any], seed: int, *, skips_empty: bool) -> Steps:
    """Steps whose batch is empty are skipped, and release nothing.

    The accountant of Poisson samples counts noise at every step, also where no record was drawn. A loop over a loader
    skips empty batches, or fails at them: that a step was made shows that somebody was there (Opacus #161, mended in
    #164).
    """
    random, gradients = np.random.default_rng(seed), clip_rows(np.reshape(records, (len(records), 1)))
    yield _SPARSE_PLAN
    for noise in draw_noise(seed, _SPARSE_PLAN.noise_multiplier, (_SPARSE_PLAN.steps, 1)):
        batch = np.flatnonzero(random.random(len(records)) < _SPARSE_PLAN.rate)
        if len(batch) == 0 and skips_empty:
            continue
        total = gradients[batch].sum(axis=0)
        yield TrainingStep(total + noise, batch, total, _SPARSE_PLAN.noise_multiplier)


SKIPPED_EMPTY_BATCHES = BrokenTrainer(
    "skipped-empty-batches",
    "Opacus #161",
    "steps with an empty batch are skipped: a step that was made shows that a record was there",
    functools.partial(_train_on_few, skips_empty=True),
    functools.partial(_train_on_few, skips_empty=False),
    records=(),
    canary=np.array([1.0]),
    epsilon=1.05,  # of the plan, rounded up
    noise="any",
    runs=1_000,
    facts_status="undecided",  # fewer steps than the plan states, of which batches that were not drawn show nothing
)

ENTRIES = list_entries(SHUFFLED_BATCHES, INDEPENDENT_MICRO_BATCHES, SKIPPED_EMPTY_BATCHES)
