"""Gaussian and Laplace smoothing: radii in closed form, tight where they should be, wrong as rarely as alpha says."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

import deniable as dn
from tests.models.images.random_images import fitted
from tests.models.tallies import draw_tally, make_tally, normal
from tests.refusals import refuses

ALPHA = 0.05
deep = pytest.mark.deep


def smoothing(law, scale, runner_up="complement"):
    """Return the certificate of a model with noise of a law and a scale on its pixels."""
    certificate = dn.images.smooth_image_model(fitted("plain"), scale, law).certificate
    return type(certificate)(scale, runner_up)


def lower(successes, draws, alpha):
    """Return the bound of Clopper and Pearson from below."""
    return stats.beta.ppf(alpha, successes, draws - successes + 1)


def too_large(certificate, shares, true, repetitions):
    """Return how often a certificate exceeds the true radius, and the mean radius."""
    generator = np.random.default_rng(0)
    radii = [
        certificate.certify(draw_tally(shares, 50, generator), draw_tally(shares, 1_000, generator), ALPHA).radius
        for _ in range(repetitions)
    ]
    return sum(radius > true for radius in radii), np.mean(radii)


@pytest.mark.parametrize("repetitions", [500, pytest.param(2_000, marks=deep)])
@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_coverage_at_a_half_space(law, repetitions):
    """The radius at a half-space, known exactly, is exceeded as often as alpha says, and not once sigma is 30 % off."""
    true, scale = 0.4, 0.5
    share = normal(true / scale) if law == "gaussian" else 1 - math.exp(-true / scale) / 2
    # The bound is below the truth at most alpha of the time, and less by what one vote more is worth.
    bounds = [0.0, *(lower(k, 1_000, ALPHA) for k in range(1, 1_001))]
    least = stats.binom.sf(np.searchsorted(bounds, share) - 1, 1_000, share)
    assert 0.8 * ALPHA < least <= ALPHA
    low, high = stats.binom.ppf(1e-6, repetitions, least), stats.binom.isf(1e-6, repetitions, least)
    count, mean = too_large(smoothing(law, scale), (share, 1 - share), true, repetitions)
    assert low <= count <= high
    assert 0.8 * true < mean < true
    assert too_large(smoothing(law, 1.3 * scale), (share, 1 - share), true, repetitions)[0] > 2 * high


def test_coverage_with_several_classes():
    """With both probabilities estimated the true radius is exceeded at most alpha of the time, and it is near."""
    shares, high = (0.6, 0.25, 0.1, 0.05), stats.binom.isf(1e-6, 500, ALPHA)
    true = 0.25 * (stats.norm.ppf(0.6) - stats.norm.ppf(0.25))
    count, mean = too_large(smoothing("gaussian", 0.5, "estimated"), shares, true, 500)
    assert count <= high
    assert 0.7 * true < mean < true
    assert too_large(smoothing("gaussian", 0.65, "estimated"), shares, true, 500)[0] > 5 * high


@pytest.mark.parametrize("votes", [[800, 150, 50], [510, 470, 20], [990, 5, 5], [400, 300, 300]])
def test_gaussian_radius_is_tight(votes):
    """Two half-spaces with the bounds on both classes are even at the radius exactly (Cohen et al. 2019, Theorem 2)."""
    found, draws = make_tally(votes), sum(votes)
    one = smoothing("gaussian", 0.25).certify(found, found, 0.001)
    low = lower(votes[0], draws, 0.001)
    assert one.radius == pytest.approx(max(0.25 * stats.norm.ppf(low), 0.0))
    two = smoothing("gaussian", 0.25, "estimated").certify(found, found, 0.001)
    p_a = lower(votes[0], draws, 0.0005)
    p_b = min(stats.beta.isf(0.00025, votes[1] + 1, draws - votes[1]), 1 - p_a)
    if p_a <= p_b:
        assert (two.label, two.radius) == (None, 0.0)
    else:
        ours, theirs = stats.norm.ppf(p_a) - two.radius / 0.25, stats.norm.ppf(p_b) + two.radius / 0.25
        assert stats.norm.cdf(ours) == pytest.approx(stats.norm.cdf(theirs))


@pytest.mark.parametrize("votes", [[560, 440], [700, 300], [1_000, 0]])
def test_laplace_radius_is_tight_in_one_dimension(votes):
    """A threshold whose class has the least probability p_A is as far away as the radius, by quadrature of the law."""
    found = make_tally(votes)
    radius = smoothing("laplace", 0.5).certify(found, found, 0.001).radius
    above = integrate.quad(lambda noise: math.exp(-abs(noise) / 0.5), -radius, 0)[0] + 0.5
    assert above == pytest.approx(lower(votes[0], 1_000, 0.001))


def test_laplace_radius_takes_the_larger_term():
    """With both classes bounded the ratio counts among many classes, and the difference between two."""
    for votes, larger in (([4_000, 500, *[1_100] * 5], 0), ([9_500, 500], 1)):
        found = make_tally(votes)
        p_a = lower(votes[0], sum(votes), 0.0005)
        rival = max(votes[1:])
        p_b = min(stats.beta.isf(0.0005 / (len(votes) - 1), rival + 1, sum(votes) - rival), 1 - p_a)
        terms = math.log(p_a / p_b) / 2, -math.log1p(p_b - p_a)
        radius = smoothing("laplace", 2.0, "estimated").certify(found, found, 0.001).radius
        assert radius == pytest.approx(2 * max(terms)) == pytest.approx(2 * terms[larger])


def test_both_bounds_help_with_many_classes():
    """Where no class has half of the votes only the bounds on both classes certify."""
    votes = make_tally([4_000, 1_500, 1_500, 1_500, 1_500])
    assert smoothing("gaussian", 0.25).certify(votes, votes, 0.001).label is None
    assert smoothing("gaussian", 0.25, "estimated").certify(votes, votes, 0.001).radius > 0.05
    assert smoothing("laplace", 0.25, "estimated").certify(votes, votes, 0.001).radius > 0.05


def test_class_comes_from_the_selection():
    """The class is the selection's; an estimation that disagrees makes the certificate abstain."""
    certificate = smoothing("gaussian", 1.0)
    other = certificate.certify(make_tally([1, 9]), make_tally([90, 10]), 0.05)
    assert (other.label, other.radius) == (None, 0.0)
    assert certificate.certify(make_tally([1, 9]), make_tally([5, 95]), 0.05).label == 1


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_parameters_are_checked(law):
    """A scale that is not positive, an unknown option and a level outside (0, 1) are refused."""
    kind, votes = type(smoothing(law, 1.0)), make_tally([9, 1])
    with refuses(kind.__name__):
        kind(0.0)
    with refuses("runner_up"):
        kind(1.0, "none")
    for alpha in (0, 1.0, -0.1, math.nan, "0.1"):
        with refuses("alpha"):
            kind(1.0).certify(votes, votes, alpha)
    with refuses("2 and 3 classes"):
        kind(1.0).certify(votes, make_tally([9, 1, 0]), 0.1)
