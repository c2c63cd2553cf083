"""Gaussian noise: calibration from above, epsilon from noise, and the discrete law."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from deniable.accounting.gaussian import bracket_gaussian_epsilon, compute_gaussian_epsilon, compute_noise_ratio

SHOWN = [(1e-6, 1e-200), (1.0, 1e-6), (9.99e8, 0.999)]
GRID = itertools.product((1e-6, 0.01, 0.5, 4.0, 50.0, 1e6, 9.99e8), (1e-200, 1e-30, 1e-12, 1e-2, 0.999))
PARAMETERS = [*SHOWN, *(pytest.param(*case, marks=pytest.mark.deep) for case in GRID if case not in SHOWN)]


@pytest.mark.parametrize(("epsilon", "delta"), PARAMETERS)
def test_calibration_errs_on_the_safe_side_only(epsilon, delta):
    """In 400 digits delta(epsilon, sigma) is at most delta, and at usual values with 1e-4 less noise it is not."""
    mpmath = pytest.importorskip("mpmath")
    ratio = compute_noise_ratio(epsilon, delta)

    def true(r):
        with mpmath.workdps(400):
            r, e = mpmath.mpf(r), mpmath.mpf(epsilon)
            return mpmath.ncdf(1 / (2 * r) - e * r) - mpmath.exp(e) * mpmath.ncdf(-1 / (2 * r) - e * r)

    assert true(ratio) <= delta
    if epsilon >= 0.01:
        assert true(ratio * (1 - 1e-4)) > delta


@pytest.mark.parametrize("s", [2, pytest.param(40, marks=pytest.mark.deep)])
def test_discrete_and_rounded_gaussian_differ_as_little_as_charged(s):
    """ln of discrete mass over rounded mass lies in the band that `compute_discretization_cost` derives, with tails."""
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(60):
        total = mpmath.nsum(lambda j: mpmath.exp(-(j**2) / (2 * s**2)), [-mpmath.inf, mpmath.inf])
        for k in range(0, 12 * s, max(1, s // 4)):
            half = mpmath.mpf(1) / 2
            rounded = (
                mpmath.erf((k + half) / (s * mpmath.sqrt(2))) - mpmath.erf((k - half) / (s * mpmath.sqrt(2)))
            ) / 2
            ratio = mpmath.log(mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * s**2)) / total / rounded)
            assert -(k**2) / (24 * s**4) - 1 / (24 * s**2) <= ratio <= 1 / (24 * s**2)


def test_discrete_gaussian_keeps_the_promise_on_a_coarse_grid():
    """Summed exactly at s = 12, epsilon and delta of the discrete law stay within a charge made for that s."""
    s, epsilon, distance = 12, 1.0, 3
    k = np.arange(-40 * s, 40 * s + 1)
    p = np.exp(-(k**2) / (2.0 * s**2))
    p /= p.sum()
    shifted = np.roll(p, distance)
    delta = np.maximum(p - math.exp(epsilon) * shifted, 0).sum()
    half, shift = distance / (2 * s), epsilon * s / distance
    continuous = stats.norm.cdf(half - shift) - math.exp(epsilon) * stats.norm.cdf(-half - shift)
    charged = (2 * (epsilon + 1000) + 2) / (24 * s**2)
    less = epsilon - charged
    bound = stats.norm.cdf(half - less * s / distance) - math.exp(less) * stats.norm.cdf(-half - less * s / distance)
    assert delta <= bound
    assert delta == pytest.approx(continuous, rel=0.1)


@pytest.mark.parametrize(("mu", "delta"), [(0.1, 1e-5), (1.0, 1e-12), (3.0, 0.3), (40.0, 1e-5)])
def test_epsilon_is_where_the_bound_on_delta_crosses_it(mu, delta):
    """The ends are neighbours around the epsilon of Theorem 8, and noise that fits the epsilon is the noise."""
    low, high = bracket_gaussian_epsilon(1 / mu, math.log(delta))
    assert low == compute_gaussian_epsilon(mu, delta) <= high == pytest.approx(low, rel=1e-14)
    exact = stats.norm.cdf(mu / 2 - low / mu) - np.exp(low + stats.norm.logcdf(-mu / 2 - low / mu))
    assert exact == pytest.approx(delta, rel=1e-6)
    assert compute_noise_ratio(high, delta) == pytest.approx(1 / mu, rel=1e-6)


def test_a_sum_that_does_not_move_spends_nothing():
    """Epsilon is 0 where one unit moves the sum by nothing."""
    assert compute_gaussian_epsilon(0.0, 1e-5) == 0.0
