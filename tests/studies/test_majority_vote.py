"""The published check: its counts, its estimate and what it tends to."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from studies.majority_vote import (
    RUNS,
    SUBJECTS,
    compute_chances,
    compute_deviation,
    compute_limit,
    count_votes,
    estimate_loss,
    estimate_losses,
    simulate_runs,
)

REPEATS = 20_000


def enumerate_outcomes(q, n, *, coin):
    """Return the chance that most of n coordinates read as x', by adding up all outcomes."""
    total = 0.0
    for outcome in itertools.product((0, 1), repeat=n):
        weight = math.prod(q if one else 1 - q for one in outcome)
        total += weight * ((2 * sum(outcome) > n) + (0.5 if coin and 2 * sum(outcome) == n else 0.0))
    return total


@pytest.mark.parametrize("coin", [False, True])
@pytest.mark.parametrize("n", [1, 2, 5, 6])
def test_chances(n, coin):
    """The tails of binomials are the sums over all outcomes, with ties as x or by a coin."""
    pair = (0.3, 0.65)
    expected = [enumerate_outcomes(q, n, coin=coin) for q in pair]
    assert compute_chances(pair, n, coin=coin) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 7, 8])
@pytest.mark.parametrize("subject", SUBJECTS.values(), ids=list(SUBJECTS))
def test_the_closed_form_is_what_the_mechanism_does(subject, n):
    """Votes of every mechanism follow their closed form, and would not follow one that is 30% off."""
    mechanism = subject.build(2.0, 5)
    for x, chance in zip(subject.inputs(n), compute_chances(subject.coordinate(2.0, n), n), strict=True):
        count = count_votes(mechanism, x, subject.threshold, REPEATS)
        assert stats.binomtest(count, REPEATS, min(chance, 1.0)).pvalue > 1e-6
        if 0.01 < chance < 0.7:
            assert stats.binomtest(count, REPEATS, 1.3 * chance).pvalue < 1e-6


def test_chunks_and_thresholds():
    """Runs are counted once each, however they are cut, and a coordinate half-way reads as x'."""
    copy = SUBJECTS["copy"].build(1.0, None)
    for repeats in (1, 3, 600_000):
        assert count_votes(copy, np.ones(2), 0.5, repeats) == repeats
    assert count_votes(copy, np.full(3, 0.5), 0.5, 10) == 10
    assert count_votes(copy, np.array([0.0, 1.0]), 0.5, 10) == 0


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((25, 50, 100), math.log(2)),
        ((50, 50, 100), 0.0),
        ((0, 60, 100), math.inf),
        ((40, 100, 100), math.inf),
        ((0, 100, 100), math.inf),
        ((100, 100, 100), 0.0),
        ((0, 0, 100), 0.0),
        ((60, 20, 100), math.log(3)),
    ],
)
def test_estimates(counts, expected):
    """A guess always right is an infinite loss, one never made says nothing; many at once are as one at a time."""
    assert estimate_loss(*counts) == pytest.approx(expected)
    ones, primes, repeats = counts
    assert estimate_losses(np.array([float(ones)]), np.array([float(primes)]), repeats) == pytest.approx([expected])


def test_limit():
    """The estimate tends to its limit, infinite where one input never leads to a guess, and 0 where both agree."""
    pair, repeats = (0.35, 0.6), 10**9
    counts = np.random.default_rng(4).binomial(repeats, compute_chances(pair, 4))
    assert estimate_loss(*map(int, counts), repeats) == pytest.approx(compute_limit(pair, 4), rel=1e-3)
    assert compute_limit((0.3, 1.0), 128) == math.inf
    assert compute_limit((0.5, 0.5), 8) == 0
    assert compute_limit((0.1, 0.9), 5, coin=True) == compute_limit((0.1, 0.9), 5)
    assert compute_limit((0.1, 0.9), 6, coin=True) < compute_limit((0.1, 0.9), 6)


def test_deviation():
    """The delta method's deviation is that of simulated estimates."""
    pair, repeats = (0.2, 0.5), 20_000
    ones = np.random.default_rng(8).binomial(repeats, pair, (4_000, 2))
    simulated = np.std([estimate_loss(int(a), int(b), repeats) for a, b in ones])
    assert compute_deviation(*pair, repeats) == pytest.approx(simulated, rel=0.05)


def test_a_hundred_runs():
    """Their mean is the limit and their deviation that of the law, and both would not be if they were 30% off."""
    subject, repeats = SUBJECTS["adept-unclipped"], 10**7
    found = simulate_runs(subject, 0.1, 2, repeats, np.random.default_rng(6))
    limit, error = compute_limit(subject.coordinate(0.1, 2), 2), found["deviation_by_the_law"] / math.sqrt(RUNS)
    assert abs(found["mean_estimate"] - limit) < 5 * error < 0.3 * limit
    chi = (RUNS - 1) * (found["deviation"] / found["deviation_by_the_law"]) ** 2
    assert 1e-6 < stats.chi2.cdf(chi, RUNS - 1) < 1 - 1e-6
    assert stats.chi2.cdf(chi / 1.69, RUNS - 1) < 1e-2
    assert found["true_loss"] == pytest.approx(0.2)
    assert found["deviations_short"] == pytest.approx((0.2 - found["mean_estimate"]) / found["deviation_by_the_law"])
