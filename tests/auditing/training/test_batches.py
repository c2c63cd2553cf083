"""Schemes that batches show, and what is chance."""

import numpy as np

from deniable.auditing.training.batches import classify_batches, doubt_batches
from deniable.auditing.training.observation import TrainingPlan


def test_schemes_that_batches_show():
    """Coins, epochs, subsets of one size, everything, and what is none of them."""
    random = np.random.default_rng(1)
    coins = [np.flatnonzero(random.random(500) < 0.1) for _ in range(60)]
    assert classify_batches(coins, 500).scheme == "poisson"
    assert classify_batches([random.choice(500, 50, replace=False) for _ in range(60)], 500).scheme == "fixed size"
    epochs = [part for _ in range(3) for part in np.split(random.permutation(500), 10)]
    assert classify_batches(epochs, 500).scheme == "shuffled"
    short = [part for _ in range(3) for part in np.array_split(random.permutation(500), range(45, 500, 45))]
    assert classify_batches(short, 500).scheme == "shuffled"
    dropped = [part for part in short if len(part) == 45]
    shown = classify_batches(dropped, 500)
    assert (shown.scheme, shown.per_epoch, shown.presence) == ("shuffled", 11, 0.99)
    assert classify_batches([np.arange(500)] * 3, 500).scheme == "all"
    shown = classify_batches([np.array([1, 1, 1, 2])] * 5, 500)
    assert shown.scheme is None
    assert "up to 3 times in one batch, in 5 of 5 steps" in shown.note
    assert classify_batches([np.arange(size) for size in [10, 300] * 20], 500).scheme is None
    shown = classify_batches([None, np.arange(3)], 500)
    assert (shown.scheme, shown.note, len(shown.sizes)) == (None, "the run does not show its batches", 0)
    assert classify_batches([], 500).scheme is None
    assert classify_batches([np.empty(0, dtype=int)] * 4, 500).scheme == "fixed size"


def test_a_short_last_batch_of_an_epoch():
    """An epoch of two whole batches and a short one is a shuffled epoch, and no Poisson samples."""
    order = np.random.default_rng(3).permutation(9)
    assert classify_batches([order[:4], order[4:8], order[8:]], 9).scheme == "shuffled"
    assert classify_batches([order[:4], order[4:8], order[7:]], 9).scheme != "shuffled"


def test_what_the_stated_scheme_shows_by_chance():
    """Few random batches with no record in common, one Poisson sample, part of an epoch: no other scheme."""
    random = np.random.default_rng(0)
    fixed = TrainingPlan("fixed size", 4, 2, 2, 1.0, 1.0)
    shown = [classify_batches([random.choice(4, 2, replace=False) for _ in range(2)], 4) for _ in range(60)]
    assert sum(batches.scheme == "shuffled" for batches in shown) > 3
    assert {doubt_batches(batches, fixed, 4).scheme for batches in shown} == {None, "fixed size"}
    one = classify_batches([np.arange(20)], 50)
    assert one.scheme == "fixed size"
    assert doubt_batches(one, TrainingPlan("poisson", 50, 20, 1, 1.0, 1.0), 50).scheme is None
    assert doubt_batches(one, TrainingPlan("shuffled", 50, 20, 1, 1.0, 1.0), 50).scheme is None
    part = classify_batches(np.split(random.permutation(50)[:30], 3), 50)
    assert doubt_batches(part, TrainingPlan("shuffled", 50, 10, 3, 1.0, 1.0), 50).scheme is None
    many = classify_batches([random.choice(50, 20, replace=False) for _ in range(40)], 50)
    assert doubt_batches(many, TrainingPlan("poisson", 50, 20, 40, 1.0, 1.0), 50).scheme == "fixed size"
    assert doubt_batches(many, TrainingPlan("shuffled", 50, 20, 40, 1.0, 1.0), 50).scheme == "fixed size"
    order = [part for _ in range(5) for part in np.split(random.permutation(500), 10)]
    epochs = classify_batches(order, 500)
    assert doubt_batches(epochs, TrainingPlan("fixed size", 500, 50, 50, 1.0, 1.0), 500).scheme == "shuffled"
    assert doubt_batches(epochs, TrainingPlan("poisson", 500, 50, 50, 1.0, 1.0), 500).scheme == "shuffled"


def test_limits_of_a_rate():
    """They have the chance of the coins between them."""
    random = np.random.default_rng(1)
    low, high = classify_batches([np.flatnonzero(random.random(500) < 0.1) for _ in range(60)], 500).rates
    assert low < 0.1 < high < 1.25 * low
