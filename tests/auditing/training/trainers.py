"""Training for tests of its audits: sums of the first coordinate of records, clipped to 1, with Gaussian noise."""

import dataclasses
import functools

import numpy as np

import deniable as dn

DELTA = 1e-5
RECORDS = [0.0] * 20
CANARY = 5.0
CLAIM = dn.Guarantee(1.0, "the claim under audit", "claimed", delta=DELTA, adjacency="one record added or removed")


def make_trainer(multiplier=2.0, *, rate=1.0, steps=1, noise=None, clip=1.0, copies=1):
    """Return training whose plan says multiplier, clip 1 and so many coins; noise, clip and copies are what is done."""
    applied = multiplier if noise is None else noise

    def train(records, seed):
        random = np.random.default_rng(seed)
        places = len(RECORDS) + 1
        yield dn.TrainingPlan("all" if rate == 1 else "poisson", places, rate * places, steps, multiplier, 1.0)
        for number in range(steps):
            coins = np.random.default_rng([seed, number]).random(places)[: len(records)]
            batch = np.repeat(np.flatnonzero(coins < rate), copies)
            total = np.array([np.clip(np.array(records)[batch], -clip, clip).sum()])
            # On a grid, so that no last bits tell what the values hide.
            noisy = np.round(1_024 * (total + applied * random.standard_normal(1))) / 1_024
            yield dn.TrainingStep(noisy, batch, total, applied)

    return train


@functools.cache
def make_claim(multiplier=2.0, *, rate=1.0, steps=1):
    """Return the true guarantee of `make_trainer` with these numbers, which `test_accounting` holds against others."""
    train = make_trainer(multiplier, rate=rate, steps=steps)
    return dataclasses.replace(CLAIM, epsilon=collect(train, CLAIM).stated.upper)


def collect(train, claim=None, records=RECORDS, canary=CANARY, **options):
    """Return the facts of a training."""
    claim = claim or make_claim(1.0)
    options = {"seed": 1, "claim": claim.epsilon, "delta": claim.delta} | options
    return dn.collect_training_facts(train, records, canary, **options)


def audit_pair(train, claim, **options):
    """Return the verdict of many runs with the canary and without it."""
    options = {"runs": 400, "seed": 3, "delta": claim.delta} | options
    return dn.audit_training(train, RECORDS, [CANARY], claim=claim.epsilon, **options)
