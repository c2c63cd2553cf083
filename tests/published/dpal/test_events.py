"""Events: their bounds on epsilon against other computations, and how often these are wrong."""

import math

import numpy as np
import pytest
from scipy import stats

from deniable.published.dpal.events import EventCounts


def test_the_bound_of_ten_thousand():
    """10,000 of 10,000 against 0 of 10,000 shows an epsilon of 7.9 at 95 %, by Clopper and Pearson at 97.5 % each."""
    bound = EventCounts(10_000, 10_000, 0, 10_000).compute_lower_bound()
    least = 0.025 ** (1 / 10_000)
    assert bound == pytest.approx(math.log(least / (1 - least)), rel=1e-9)
    assert round(bound, 1) == 7.9


@pytest.mark.parametrize("counts", [(17, 40, 5, 60), (40, 40, 1, 60), (3, 40, 2, 5)])
def test_the_intervals_are_clopper_and_pearson(counts):
    """The two probabilities are those of scipy's exact intervals."""
    hits, trials, false_hits, false_trials = counts
    low = stats.binomtest(hits, trials).proportion_ci(0.9, method="exact").low
    high = stats.binomtest(false_hits, false_trials).proportion_ci(0.9, method="exact").high
    assert EventCounts(*counts).compute_lower_bound(0.9) == pytest.approx(max(math.log(low / high), 0))
    assert EventCounts(*counts).compute_lower_bound(0.9, delta=0.1) == pytest.approx(
        max(math.log(max(low - 0.1, 1e-99) / high), 0)
    )


def test_what_tells_nothing():
    """An event that never happens, always happens, or is as frequent in both shows nothing."""
    for counts in ((0, 50, 0, 50), (50, 50, 50, 50), (25, 50, 25, 50), (1, 50, 50, 50)):
        assert EventCounts(*counts).compute_lower_bound() == 0
    assert EventCounts(50, 50, 0, 50).compute_lower_bound(delta=0.99) == 0


def test_counts():
    """Right are the hits on D, and the runs on D' without the event."""
    event = EventCounts(9, 10, 2, 20)
    assert (event.correct_runs, event.total_runs) == (27, 30)


def test_a_bound_is_seldom_above_the_truth():
    """Randomized response at epsilon 1 gets a bound above 1 in at most 5 % of audits, and one near 1 on average."""
    random, chance = np.random.default_rng(0), 1 / (1 + math.exp(-1))
    drawn = zip(random.binomial(400, chance, 600), random.binomial(400, 1 - chance, 600), strict=True)
    bounds = [EventCounts(int(hits), 400, int(false), 400).compute_lower_bound() for hits, false in drawn]
    above = sum(bound > 1 for bound in bounds)
    assert stats.binomtest(above, 600, 0.05, alternative="greater").pvalue > 1e-6
    assert 0.6 < np.mean(bounds) < 1


def test_detectable():
    """A loss of the size that is said to be seen is seen about nine times in ten; too few runs see nothing."""
    event = EventCounts(0, 200, 0, 200)
    seen = event.compute_detectable_epsilon(0.5)
    random, chance = np.random.default_rng(1), 1 / (1 + math.exp(-seen))
    drawn = zip(random.binomial(200, chance, 1000), random.binomial(200, 1 - chance, 1000), strict=True)
    refuted = sum(EventCounts(int(hits), 200, int(false), 200).compute_lower_bound() > 0.5 for hits, false in drawn)
    assert 0.85 < refuted / 1000 < 0.99
    assert math.isinf(EventCounts(0, 5, 0, 5).compute_detectable_epsilon(5.0))
