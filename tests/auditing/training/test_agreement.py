"""Steps and batches that are not those of the plan, and how often true ones look so."""

import numpy as np
import pytest

from deniable.auditing.training.agreement import DOUBT, compute_rate_without_empty, find_disagreement, has_empty_batch
from deniable.auditing.training.batches import classify_batches, doubt_batches
from deniable.auditing.training.observation import ObservedRun, TrainingPlan, TrainingStep

N = 40


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


@pytest.mark.parametrize("size", [0.2, 1.0, 3.0, 10.0])
@pytest.mark.parametrize("steps", [1, 10, 100])
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


def test_steps_that_do_not_show_their_batch_count_as_no_empty_ones():
    """Whoever hides a step does not show that a batch may be empty."""
    full, empty, hidden = (TrainingStep(np.zeros(1), batch) for batch in (np.arange(2), np.arange(0), None))
    assert [has_empty_batch([ObservedRun(None, (full, other), None)]) for other in (full, empty, hidden)] == [0, 1, 0]
