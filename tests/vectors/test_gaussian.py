"""The Gaussian mechanism: calibration from above, the discrete accounting, the law."""

import itertools
import math
from typing import ClassVar

import numpy as np
import pytest
from scipy import stats

from deniable.vectors import Box, Gaussian, L1Ball, L2Ball
from deniable.vectors.gaussian import compute_discretization_cost, compute_noise_ratio
from tests.contracts.statistics import DRAWS, THRESHOLD
from tests.vectors.contract import SEED, VectorMechanismContract, refused

EPSILONS = (1e-6, 0.01, 0.5, 1.0, 4.0, 50.0, 1000.0, 1e6, 9.99e8)
DELTAS = (1e-200, 1e-30, 1e-12, 1e-6, 1e-2, 0.5, 0.999)


class TestGaussian(VectorMechanismContract):
    """The contract, on an l2 ball."""

    mechanism = Gaussian
    options: ClassVar = {"epsilon": 1.0, "delta": 1e-6, "domain": L2Ball(1.0)}
    bad: ClassVar = [
        *({"epsilon": e} for e in (0, -1.0, math.nan, math.inf, "1", 1e9)),
        *({"delta": d} for d in (0, 1, -1e-5, math.nan, "1e-5", None, 1e-300)),
        {"domain": 1.0},
    ]
    source = "Balle and Wang 2018, Theorem 8"

    def test_noise_has_the_deviation_it_says_and_no_other(self):
        """100,000 draws fit the normal law of the stated deviation, and none 30 % off."""
        self.check_deviation(self.make(seed=SEED), 0.0)

    @pytest.mark.parametrize("far", [1e4, -1e6])
    def test_noise_far_from_zero_has_the_same_law(self, far):
        """The same holds of a domain whose values are up to a million times larger than the noise."""
        self.check_deviation(self.make(domain=Box(far, far + 0.25), seed=SEED), far)

    @staticmethod
    def check_deviation(subject, x):
        noise = (subject.sample(np.full((DRAWS // 4, 4), x)).ravel() - x) / subject.scale(4)
        assert stats.kstest(noise, stats.norm.cdf).pvalue > THRESHOLD
        for factor in (0.7, 1.3):
            assert stats.kstest(noise / factor, stats.norm.cdf).pvalue < 1e-20

    def test_noise_agrees_with_opendp(self):
        """OpenDP's Gaussian mechanism of the same deviation gives the same law; 1.3 times it does not."""
        dp = pytest.importorskip("opendp.prelude")
        dp.enable_features("contrib")
        space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l2_distance(T=float)
        subject = self.make(seed=SEED)
        ours = subject.sample(np.zeros((20_000, 1)))[:, 0]
        for factor, agrees in ((1.0, True), (1.3, False)):
            theirs = dp.m.make_gaussian(*space, scale=factor * subject.scale(1))([0.0] * 20_000)
            p = stats.ks_2samp(ours, theirs).pvalue
            assert p > THRESHOLD if agrees else p < 1e-12

    @pytest.mark.parametrize("domain", [Box(0.0, 1.0), L1Ball(2.0), L2Ball(2.0)], ids=repr)
    @pytest.mark.parametrize("n", [1, 300, 1 << 20])
    def test_scale_is_the_calibrated_one_plus_what_rounding_costs(self, domain, n):
        """Deviation over sensitivity is at least the analytic ratio, sqrt(n) steps charged, and little more."""
        subject = Gaussian(epsilon=0.7, delta=1e-5, domain=domain)
        least = compute_noise_ratio(0.7, 1e-5) * (subject.sensitivity(n) + math.sqrt(n) * subject.grid(n).step)
        assert least < subject.scale(n) < least * (1 + 2.0**-31)
        assert subject.grid(n).noise_steps >= 1 << 39

    @pytest.mark.parametrize("epsilon", [1e-3, 1.0, 8.0, 1000.0])
    def test_no_pure_loss_is_claimed(self, epsilon):
        """Epsilons far above 1 are served too, and the guarantee names both numbers."""
        subject = self.make(epsilon=epsilon)
        assert (subject.guarantee.epsilon, subject.guarantee.delta) == (epsilon, 1e-6)
        assert np.isfinite(subject.sample(np.ones(5))).all()

    def test_parameters_that_the_grid_cannot_serve_are_refused(self):
        """Where the charge eats epsilon, or inputs outgrow the grid, there is an error."""
        refused(lambda: self.make(epsilon=1e-20).scale(300), "larger one")
        assert self.make(epsilon=9e8).scale(1) > 0
        refused(lambda: self.make(epsilon=9e8, domain=Box(1000.0, 1001.0)).scale(1), "smaller epsilon")
        refused(lambda: self.make(domain=Box(1e9, 1e9 + 1)).scale(1), "nearer to 0")


@pytest.mark.parametrize(("epsilon", "delta"), list(itertools.product(EPSILONS, DELTAS)))
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


@pytest.mark.parametrize(("epsilon", "delta"), list(itertools.product((0.1, 1.0, 5.0), (1e-10, 1e-5, 1e-2))))
def test_calibration_agrees_with_dp_accounting(epsilon, delta):
    """dp-accounting finds the same deviation."""
    accounting = pytest.importorskip("dp_accounting")
    assert compute_noise_ratio(epsilon, delta) == pytest.approx(accounting.get_sigma_gaussian(epsilon, delta), rel=1e-5)


@pytest.mark.parametrize("s", [2, 5, 40])
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


def test_charge_is_tiny_and_grows_with_the_dimension():
    """About n 2^-71.5."""
    assert compute_discretization_cost(1.0, 1) == pytest.approx(2.0**-71.6, rel=0.1)
    assert compute_discretization_cost(1.0, 1000) == pytest.approx(1000 * compute_discretization_cost(1.0, 1))


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
