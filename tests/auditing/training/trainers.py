"""Training for tests of its audits: sums of the first coordinate of records, clipped to 1, with Gaussian noise."""

import numpy as np

from deniable.auditing.training.accounting import recompute_epsilon
from deniable.auditing.training.observation import TrainingPlan, TrainingStep
from deniable.core.guarantees import ADDED_OR_REMOVED_RECORD, ApproxDP

DELTA = 1e-5
RECORDS = [0.0] * 20
CANARY = 5.0


def make_trainer(multiplier=2.0, *, rate=1.0, steps=1, noise=None, clip=1.0, copies=1):
    """Return training whose plan says multiplier, clip 1 and so many coins; noise, clip and copies are what is done."""
    applied = multiplier if noise is None else noise

    def train(records, seed):
        random = np.random.default_rng(seed)
        places = len(RECORDS) + 1
        yield TrainingPlan("all" if rate == 1 else "poisson", places, rate * places, steps, multiplier, 1.0)
        for number in range(steps):
            coins = np.random.default_rng([seed, number]).random(places)[: len(records)]
            batch = np.repeat(np.flatnonzero(coins < rate), copies)
            total = np.array([np.clip(np.array(records)[batch], -clip, clip).sum()])
            # On a grid, so that no last bits tell what the values hide.
            noisy = np.round(1_024 * (total + applied * random.standard_normal(1))) / 1_024
            yield TrainingStep(noisy, batch, total, applied)

    return train


def make_claim(multiplier=2.0, *, rate=1.0, steps=1):
    """Return the true guarantee of `make_trainer` with these numbers."""
    places = len(RECORDS) + 1
    plan = TrainingPlan("all" if rate == 1 else "poisson", places, rate * places, steps, multiplier, 1.0)
    epsilon = recompute_epsilon(plan, DELTA).upper
    return ApproxDP(epsilon, DELTA, "the claim under audit", "claimed", adjacency=ADDED_OR_REMOVED_RECORD)
