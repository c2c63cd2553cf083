"""What batches show of their sampling, what contradicts a plan, and how often true coins look so."""

import numpy as np
import pytest

from deniable import TrainingPlan, TrainingStep
from deniable.auditing.training.batches import (
    DOUBT,
    classify_batches,
    compute_rate_without_empty,
    doubt_batches,
    find_disagreement,
)
from deniable.auditing.training.observation import ObservedRun

N = 40
deep = pytest.mark.deep


def compare(sampling, batch_size, batches, *, steps=None, records=N):
    """Return the disagreement of a run of these batches with a plan."""
    plan = TrainingPlan(sampling, records, batch_size, steps or len(batches), 1.0, 1.0)
    run = ObservedRun(plan, tuple(TrainingStep(np.zeros(1), np.asarray(batch, int)) for batch in batches), None)
    shown = doubt_batches(classify_batches([step.batch for step in run.steps], N), plan, N)
    return find_disagreement(plan, shown, [run], N)


def draw_coins(random, steps, rate):
    """Return Poisson batches."""
    return [np.flatnonzero(random.random(N) < rate) for _ in range(steps)]


def shuffle(random, epochs, size, *, drops=False):
    """Return the batches of shuffled epochs."""
    orders = [random.permutation(N) for _ in range(epochs)]
    batches = [order[start : start + size] for order in orders for start in range(0, N, size)]
    return [batch for batch in batches if len(batch) == size or not drops]


def test_batches_of_the_plan_agree_with_it():
    """Each scheme, with a short last batch or without it, part of an epoch, and all records."""
    random = np.random.default_rng(0)
    assert compare("poisson", 4, draw_coins(random, 60, 0.1)) is None
    assert compare("shuffled", 10, shuffle(random, 3, 10)) is None
    assert compare("shuffled", 12, shuffle(random, 3, 12)) is None
    assert compare("shuffled", 12, shuffle(random, 3, 12, drops=True)) is None
    assert compare("shuffled", 12, shuffle(random, 1, 12)[:2]) is None
    assert compare("shuffled", N, shuffle(random, 3, N)) is None
    assert compare("fixed size", 7, [random.choice(N, 7, replace=False) for _ in range(30)]) is None
    assert compare("all", N, [np.arange(N)] * 3) is None
    assert compare("poisson", N, [np.arange(N)] * 3) is None
    assert compare("poisson", 4, [], steps=3) is None


def test_batches_of_another_plan_do_not():
    """Other sizes, schemes, rates and numbers of steps, caps, records that come twice, and nobody who is left out."""
    random = np.random.default_rng(1)
    coins = draw_coins(random, 200, 0.1)
    subsets = [random.choice(N, 7, replace=False) for _ in range(30)]
    redrawn = [batch for batch in draw_coins(random, 400, 0.025) if len(batch)]
    parts = [np.flatnonzero(order == part) for order in random.integers(10, size=(20, N)) for part in range(10)]
    for sampling, batch_size, batches, steps in (
        ("poisson", 4, coins, 199),
        ("poisson", 4, coins, 201),
        ("poisson", 6, coins, None),
        ("poisson", 3, coins, None),
        ("poisson", 1, redrawn, None),
        ("poisson", 4, [batch[:5] for batch in coins], None),
        ("poisson", 7, subsets, None),
        ("poisson", 4, shuffle(random, 4, 4), None),
        ("poisson", 4, parts, None),  # each record once in ten batches
        ("poisson", 4, [*coins, np.array([1, 1])], None),
        ("poisson", 4, [*coins, np.arange(30)], None),
        ("poisson", N, [np.arange(N - 1)] * 3, None),
        ("all", N, [np.arange(N - 1)] * 3, None),
        ("fixed size", 5, subsets, None),
        ("fixed size", 7, coins, None),
        ("fixed size", 7, [np.arange(7)] * 12, None),
        ("shuffled", 7, subsets, None),
        ("shuffled", 10, shuffle(random, 3, 5), None),
        ("shuffled", 10, [np.arange(10), np.arange(10)], None),
    ):
        found = compare(sampling, batch_size, batches, steps=steps)
        assert found is not None, (sampling, batch_size)
        assert found.chance < DOUBT
        assert found.is_accounted == (steps is not None)
    assert compare("fixed size", 7, subsets, records=70) is not None


@pytest.mark.parametrize(
    ("size", "steps"),
    [(1.0, 10), *(pytest.param(size, steps, marks=deep) for size in (0.2, 1.0, 3.0, 10.0) for steps in (1, 10, 100))],
)
def test_true_coins_are_doubted_no_more_often_than_said(size, steps):
    """Of 100 true runs, empty batches and all, so few are doubted as one in a hundred makes likely."""
    random = np.random.default_rng(2)
    doubted = sum(compare("poisson", size, draw_coins(random, steps, size / N)) is not None for _ in range(100))
    assert doubted <= 5  # more have a chance of 5e-4


def test_the_rate_without_empty_batches():
    """The mean size of batches that are drawn until one is not empty, per record."""
    random = np.random.default_rng(3)
    sizes = [len(batch) for batch in draw_coins(random, 20_000, 0.02) if len(batch)]
    plan = TrainingPlan("poisson", N, 0.02 * N, 1, 1.0, 1.0)
    assert compute_rate_without_empty(plan, N) == pytest.approx(np.mean(sizes) / N, rel=0.02)
    assert compute_rate_without_empty(TrainingPlan("poisson", N, N, 1, 1.0, 1.0), N) == 1


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
