"""The Gaussian mechanism: calibration from above, the discrete accounting, the law."""

import itertools
import math
from typing import ClassVar

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.vectors.gaussian import compute_noise_ratio
from tests.contracts.statistics import FEW_DRAWS, THRESHOLD
from tests.refusals import refuses
from tests.vectors.contract import SEED, VectorMechanismContract

SHOWN = [(1e-6, 1e-200), (1.0, 1e-6), (9.99e8, 0.999)]
GRID = itertools.product((1e-6, 0.01, 0.5, 4.0, 50.0, 1e6, 9.99e8), (1e-200, 1e-30, 1e-12, 1e-2, 0.999))
PARAMETERS = [*SHOWN, *(pytest.param(*case, marks=pytest.mark.deep) for case in GRID if case not in SHOWN)]


class TestGaussian(VectorMechanismContract):
    """The contract, on an l2 ball."""

    mechanism = dn.Gaussian
    options: ClassVar = {"epsilon": 1.0, "delta": 1e-6, "domain": dn.L2Ball(1.0)}
    bad: ClassVar = [
        *({"epsilon": e} for e in (0, -1.0, math.nan, math.inf, "1", 1e9)),
        *({"delta": d} for d in (0, 1, -1e-5, math.nan, "1e-5", None, 1e-300)),
        {"domain": 1.0},
    ]
    source = "Balle and Wang 2018, Theorem 8"

    @pytest.mark.parametrize("far", [0.0, 1e4, -1e6])
    def test_noise_has_the_deviation_it_says_and_no_other(self, far):
        """Draws fit the normal law of the stated deviation, and none 30 % off, also where values outgrow the noise."""
        subject = self.make(domain=dn.Box(far, far + 0.25), seed=SEED)
        noise = (subject.sample(np.full((FEW_DRAWS // 4, 4), far)).ravel() - far) / subject.scale(4)
        assert stats.kstest(noise, stats.norm.cdf).pvalue > THRESHOLD
        for factor in (0.7, 1.3):
            assert stats.kstest(noise / factor, stats.norm.cdf).pvalue < 1e-20

    @pytest.mark.parametrize("domain", [dn.Box(0.0, 1.0), dn.L1Ball(2.0), dn.L2Ball(2.0)], ids=repr)
    @pytest.mark.parametrize("n", [1, 300, 1 << 20])
    def test_scale_is_the_calibrated_one_plus_what_rounding_costs(self, domain, n):
        """Deviation over sensitivity is at least the analytic ratio, sqrt(n) steps charged, and little more."""
        subject = dn.Gaussian(epsilon=0.7, delta=1e-5, domain=domain)
        least = compute_noise_ratio(0.7, 1e-5) * (subject.sensitivity(n) + math.sqrt(n) * subject.grid(n).step)
        assert least < subject.scale(n) < least * (1 + 2.0**-31)
        assert subject.grid(n).noise_steps >= 1 << 39

    def test_parameters_that_the_grid_cannot_serve_are_refused(self):
        """Where the charge eats epsilon, or inputs outgrow the grid, there is an error; large epsilons are served."""
        for epsilon in (1e-3, 1000.0, 9e8):
            assert np.isfinite(self.make(epsilon=epsilon).sample(np.ones(5))).all()
        for changes, n, value in (
            ({"epsilon": 1e-20}, 300, "1e-20"),
            ({"epsilon": 9e8, "domain": dn.Box(1000.0, 1001.0)}, 1, 1001),
            ({"domain": dn.Box(1e9, 1e9 + 1)}, 1, "1e+09"),
        ):
            with refuses(value):
                self.make(**changes).scale(n)


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
