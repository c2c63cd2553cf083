"""Gaussian and Laplace smoothing: radii in closed form, tight where they should be, wrong as rarely as alpha says."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from deniable import InputError
from deniable.models.images.robustness import CertifiedImage
from deniable.models.images.smoothing import (
    GaussianSmoothing,
    LaplaceSmoothing,
    compute_gaussian_radius,
    compute_laplace_radius,
)
from deniable.models.shared.intervals import compute_clopper_pearson_lower, compute_clopper_pearson_upper
from tests.models.shared.tallies import counted, drawn, normal

ALPHA = 0.05
REPETITIONS = 2_000


def too_large(certificate, shares, true):
    """Return how often a certificate exceeds the true radius, and the mean radius."""
    generator = np.random.default_rng(0)
    radii = [
        certificate.certify(drawn(shares, 50, generator), drawn(shares, 1_000, generator), ALPHA).radius
        for _ in range(REPETITIONS)
    ]
    return sum(radius > true for radius in radii), np.mean(radii)


def limits(share):
    """Return counts out of the repetitions beyond which a share is refused, one in a million on either side."""
    return stats.binom.ppf(1e-6, REPETITIONS, share), stats.binom.isf(1e-6, REPETITIONS, share)


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_coverage_at_a_half_space(law):
    """The radius at a half-space, known exactly, is exceeded as often as alpha says, and not once sigma is 30 % off."""
    true, scale = 0.4, 0.5
    share = normal(true / scale) if law == "gaussian" else 1 - math.exp(-true / scale) / 2
    kind = GaussianSmoothing if law == "gaussian" else LaplaceSmoothing
    # The bound is below the truth at most alpha of the time, and less by what one vote more is worth.
    least = stats.binom.sf(
        np.searchsorted([compute_clopper_pearson_lower(k, 1_000, ALPHA) for k in range(1_001)], share) - 1, 1_000, share
    )
    assert 0.8 * ALPHA < least <= ALPHA
    low, high = limits(least)
    count, mean = too_large(kind(scale), (share, 1 - share), true)
    assert low <= count <= high
    assert 0.8 * true < mean < true
    assert too_large(kind(1.3 * scale), (share, 1 - share), true)[0] > 2 * high


def test_coverage_with_several_classes():
    """With both probabilities estimated the true radius is exceeded at most alpha of the time, and it is near."""
    shares = (0.6, 0.25, 0.1, 0.05)
    true = compute_gaussian_radius(0.6, 0.25, 0.5)
    count, mean = too_large(GaussianSmoothing(0.5, "estimated"), shares, true)
    assert count <= limits(ALPHA)[1]
    assert 0.7 * true < mean < true
    assert too_large(GaussianSmoothing(0.65, "estimated"), shares, true)[0] > 5 * limits(ALPHA)[1]


def test_gaussian_closed_form():
    """One bound gives sigma Phi^-1(p_A), two give half the difference of the quantiles."""
    votes = counted([800, 150, 50])
    one = GaussianSmoothing(0.25).certify(votes, votes, 0.001)
    assert one.label == 0
    assert one.radius == pytest.approx(0.25 * stats.norm.ppf(compute_clopper_pearson_lower(800, 1_000, 0.001)))
    two = GaussianSmoothing(0.25, "estimated").certify(votes, votes, 0.001)
    ends = compute_clopper_pearson_lower(800, 1_000, 0.0005), compute_clopper_pearson_upper(150, 1_000, 0.0005 / 2)
    assert two.radius == pytest.approx(0.125 * (stats.norm.ppf(ends[0]) - stats.norm.ppf(ends[1])))


def test_both_bounds_help_with_many_classes():
    """Where no class has half of the votes only the bounds on both classes certify."""
    votes = counted([4_000, 1_500, 1_500, 1_500, 1_500])
    assert GaussianSmoothing(0.25).certify(votes, votes, 0.001) == CertifiedImage(None, 0.0)
    assert GaussianSmoothing(0.25, "estimated").certify(votes, votes, 0.001).radius > 0.05
    assert LaplaceSmoothing(0.25, "estimated").certify(votes, votes, 0.001).radius > 0.05


def test_class_comes_from_the_selection():
    """The class is the selection's; an estimation that disagrees makes the certificate abstain."""
    assert GaussianSmoothing(1.0).certify(counted([1, 9]), counted([90, 10]), 0.05) == CertifiedImage(None, 0.0)
    assert GaussianSmoothing(1.0).certify(counted([1, 9]), counted([5, 95]), 0.05).label == 1


@pytest.mark.parametrize(("p_a", "p_b"), [(0.6, 0.4), (0.9, 0.1), (0.9, 0.05), (0.4, 0.3), (0.3, 0.01)])
def test_gaussian_radius_is_tight(p_a, p_b):
    """Two half-spaces with these probabilities are even at the radius exactly (Cohen et al. 2019, Theorem 2)."""
    radius = compute_gaussian_radius(p_a, p_b, 0.5)
    ours, theirs = stats.norm.ppf(p_a) - radius / 0.5, stats.norm.ppf(p_b) + radius / 0.5
    assert stats.norm.cdf(ours) == pytest.approx(stats.norm.cdf(theirs))


@pytest.mark.parametrize("p_a", [0.51, 0.7, 0.99])
def test_laplace_radius_is_tight_in_one_dimension(p_a):
    """A threshold whose class has the probability p_A is as far away as the radius, by quadrature of the law."""
    radius = compute_laplace_radius(p_a, 1 - p_a, 0.5)
    above = integrate.quad(lambda noise: math.exp(-abs(noise) / 0.5), -radius, 0)[0] + 0.5
    assert above == pytest.approx(p_a)


def test_laplace_radius_takes_the_larger_term():
    """Either term is the larger one somewhere, and the radius is it."""
    assert compute_laplace_radius(0.4, 0.05, 2.0) == pytest.approx(2 * max(math.log(8) / 2, -math.log(0.65)))
    assert compute_laplace_radius(0.95, 0.05, 2.0) == pytest.approx(-2 * math.log(0.1))
    assert compute_laplace_radius(0.4, 0.4, 2.0) == 0


@pytest.mark.parametrize("radius", [compute_gaussian_radius, compute_laplace_radius])
def test_radii_at_the_ends(radius):
    """A rival that never wins is never met, and one as probable is met at once."""
    assert radius(0.9, 0.0, 1.0) == math.inf
    assert radius(0.3, 0.3, 1.0) == 0


@pytest.mark.parametrize("kind", [GaussianSmoothing, LaplaceSmoothing])
def test_parameters_are_checked(kind):
    """A scale that is not positive, or an unknown option, is refused."""
    with pytest.raises(InputError, match=kind.__name__):
        kind(0.0)
    with pytest.raises(InputError, match="runner_up"):
        kind(1.0, "none")
    with pytest.raises(InputError, match="alpha"):
        kind(1.0).certify(counted([9, 1]), counted([9, 1]), 1.0)
