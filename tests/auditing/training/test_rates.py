"""Rates of one event in independent runs: bounds that hold, and power that is real."""

import math

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.auditing.training.rates import (
    EventCounts,
    bound_epsilon_of_rates,
    estimate_strength,
    find_detectable_epsilon_of_rates,
)

ALPHA, DELTA = 0.05, 1e-5


def compute_delta(epsilon, mu):
    """Return the least delta of Gaussian noise at a distance (Balle and Wang 2018, Theorem 8)."""
    return stats.norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * stats.norm.cdf(-mu / 2 - epsilon / mu)


def test_the_limits_are_those_of_clopper_and_pearson():
    """Each side at half of alpha, as scipy's exact intervals; none at all of a count that says nothing."""
    counts = EventCounts(30, 4, 100, 80)
    p_low, q_high = counts.bound_chances(ALPHA)
    assert p_low == pytest.approx(stats.binomtest(30, 100).proportion_ci(1 - ALPHA).low)
    assert q_high == pytest.approx(stats.binomtest(4, 80).proportion_ci(1 - ALPHA).high)
    assert EventCounts(0, 80, 100, 80).bound_chances(ALPHA) == (0.0, 1.0)


def test_bounds_by_hand():
    """Epsilon of the rates, from either side, and of Gaussian noise; nothing from equal rates."""
    counts = EventCounts(90, 5, 100, 100)
    p_low, q_high = counts.bound_chances(ALPHA)
    assert bound_epsilon_of_rates("any", counts, 0.0, ALPHA) == pytest.approx(math.log(p_low / q_high))
    mirrored = EventCounts(95, 10, 100, 100)
    p_low, q_high = mirrored.bound_chances(ALPHA)
    assert bound_epsilon_of_rates("any", mirrored, 0.01, ALPHA) == pytest.approx(
        math.log((1 - q_high - 0.01) / (1 - p_low))
    )
    mu = stats.norm.ppf(p_low) - stats.norm.ppf(q_high)
    bound = bound_epsilon_of_rates("gaussian", mirrored, DELTA, ALPHA)
    assert compute_delta(bound, mu) == pytest.approx(DELTA, rel=1e-4)
    assert estimate_strength("gaussian", mirrored, ALPHA) == pytest.approx(mu)
    for noise in ("any", "gaussian"):
        assert bound_epsilon_of_rates(noise, EventCounts(50, 50, 100, 100), DELTA, ALPHA) == 0
        assert bound_epsilon_of_rates(noise, EventCounts(0, 100, 100, 100), DELTA, ALPHA) == 0


@pytest.mark.parametrize(
    ("noise", "draws"),
    [
        ("any", 400),
        ("gaussian", 200),
        *(pytest.param(noise, 4_000, marks=pytest.mark.deep) for noise in ("any", "gaussian")),
    ],
)
def test_the_bound_is_above_the_truth_once_in_twenty_at_most(noise, draws):
    """Over many draws of both counts, at rates that lie on the curve of the truth."""
    random, truth = np.random.default_rng(1), {"any": 1.5, "gaussian": 3.6}[noise]
    if noise == "any":
        p, q = math.exp(truth) / (1 + math.exp(truth)), 1 / (1 + math.exp(truth))
    else:
        mu = 1 / dn.Gaussian(epsilon=truth, delta=DELTA, domain=dn.L2Ball(0.5)).scale(1)
        p, q = stats.norm.sf([0.2, 0.2 + mu])
    bounds = [
        bound_epsilon_of_rates(noise, EventCounts(a, b, 300, 300), DELTA, ALPHA)
        for a, b in zip(random.binomial(300, p, draws), random.binomial(300, q, draws), strict=True)
    ]
    alarms = sum(bound > truth for bound in bounds)
    assert stats.binom.sf(alarms - 1, draws, ALPHA) > 1e-3
    assert np.median(bounds) > 0.5 * truth


@pytest.mark.parametrize(("draws", "tolerance"), [(400, 0.06), pytest.param(2_000, 0.03, marks=pytest.mark.deep)])
def test_the_power_that_is_stated(draws, tolerance):
    """At the detectable epsilon nine draws in ten refute, by randomized response; at the claim hardly any."""
    claim, runs, random = 1.0, (400, 400), np.random.default_rng(2)
    detectable = find_detectable_epsilon_of_rates("any", runs, claim, 0.0, ALPHA)
    assert claim < detectable < 2
    shares = {}
    for truth in (claim, detectable):
        p, q = 1 / (1 + math.exp(-truth)), 1 / (1 + math.exp(truth))
        shares[truth] = np.mean(
            [
                bound_epsilon_of_rates("any", EventCounts(a, b, *runs), 0.0, ALPHA) > claim
                for a, b in zip(random.binomial(400, p, draws), random.binomial(400, q, draws), strict=True)
            ]
        )
    assert shares[claim] < 0.05 + tolerance / 3
    assert shares[detectable] == pytest.approx(0.9, abs=tolerance)
    assert find_detectable_epsilon_of_rates("gaussian", runs, claim, DELTA, ALPHA) < 3
    assert math.isinf(find_detectable_epsilon_of_rates("any", (5, 5), 3.0, 0.0, ALPHA))
