"""PixelDP: its formulas against known numbers and the exact profile, and its radius against brute force."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import optimize, stats

from deniable.models.images.pixeldp import PixelDP, compute_pixeldp_sigma
from tests.models.images.random_images import fitted
from tests.models.tallies import draw_tally, make_tally
from tests.refusals import refuses

CALIBRATIONS = ["gaussian", "analytic"]


def true_delta(calibration, epsilon, delta):
    """Return the exact delta of noise calibrated for (epsilon, delta)."""
    sigma = compute_pixeldp_sigma(calibration, epsilon, delta)
    far = math.exp(epsilon + stats.norm.logcdf(-epsilon * sigma - 1 / (2 * sigma)))  # Balle and Wang 2018, Theorem 8
    return stats.norm.cdf(1 / (2 * sigma) - epsilon * sigma) - far


@pytest.mark.parametrize(("calibration", "sigma"), [("gaussian", 1.211), ("analytic", 1.081)])
def test_known_sigmas(calibration, sigma):
    """At epsilon 4 and delta 1e-5 both formulas give the published numbers."""
    assert compute_pixeldp_sigma(calibration, 4.0, 1e-5) == pytest.approx(sigma, abs=5e-4)


@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.05, 0.5])
def test_formulas_hold_up_to_epsilon_one(calibration, epsilon, delta):
    """Where they are used, no formula gives less noise than the exact profile requires."""
    assert true_delta(calibration, epsilon, delta) <= delta * (1 + 1e-6)


def test_classical_formula_fails_for_large_epsilon():
    """At delta 1e-5 the classical formula gives too little noise from epsilon 8.4 on; the analytic never does."""
    crossing = optimize.brentq(lambda epsilon: true_delta("gaussian", epsilon, 1e-5) - 1e-5, 2.0, 20.0)
    assert crossing == pytest.approx(8.42, abs=0.01)
    assert true_delta("analytic", 20.0, 1e-5) == pytest.approx(1e-5)


@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize(("low", "high"), [(0.9, 0.05), (0.6, 0.4), (0.99, 1e-3), (0.4, 0.1), (0.5, 0.499)])
def test_radius_by_brute_force(calibration, low, high):
    """The radius meets the condition of Proposition 2 for some epsilon, and one 1 % larger for none."""
    certificate = PixelDP(0.25, 2.0, calibration)
    radius = certificate.radius(low, high)
    most = math.log(low / high) / 2
    epsilons = np.linspace(0, min(most, 1.0) if calibration == "gaussian" else most, 4_001)[1:-1]

    def holds(size):
        """Say whether some epsilon, with the delta that the formula gives for this size, certifies it."""
        ratio = 0.25 / (2.0 * size)
        if calibration == "analytic":
            deltas = stats.norm.cdf(0.5 / ratio - epsilons * ratio) - np.exp(epsilons) * stats.norm.cdf(
                -0.5 / ratio - epsilons * ratio
            )
        else:
            deltas = 1.25 * np.exp(-((ratio * epsilons) ** 2) / 2)
        return (low > np.exp(2 * epsilons) * high + (1 + np.exp(epsilons)) * deltas).any()

    assert holds(0.999 * radius)
    assert not holds(1.01 * radius)


@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize(("low", "high"), [(0.9, 0.05), (0.6, 0.4), (0.99, 1e-3), (0.4, 0.1)])
def test_never_beyond_the_tight_radius(calibration, low, high):
    """No radius from privacy exceeds that of Cohen et al., which no sound one can for the same probabilities."""
    tight = 0.125 * (stats.norm.ppf(low) - stats.norm.ppf(high))
    assert 0 < PixelDP(0.25, calibration=calibration).radius(low, high) < tight


def test_radius_scales_and_ends():
    """Twice the sensitivity halves the radius; equal bounds leave none; a rival of probability 0 is allowed."""
    one, two = PixelDP(0.25), PixelDP(0.25, 2.0)
    assert one.radius(0.9, 0.05) == pytest.approx(2 * two.radius(0.9, 0.05))
    assert one.radius(0.4, 0.4) == 0
    assert one.radius(0.9, 0.0) > one.radius(0.9, 1e-6)


def test_bounds_of_softmax_and_votes():
    """Means of softmax get Hoeffding's bounds at alpha / K, votes Clopper and Pearson's, and these certify more."""
    found = make_tally([9_500, 300, 200])
    half = math.sqrt(math.log(3 / 0.001) / 20_000)
    softmax = PixelDP(0.25).certify(found, found, 0.001)
    assert softmax.label == 0
    assert softmax.radius == PixelDP(0.25).radius(0.95 - half, 0.03 + half)
    ends = stats.beta.ppf([0.001 / 3, 1 - 0.001 / 3], [9_500, 301], [501, 9_700])
    votes = PixelDP(0.25, decision_rule="votes").certify(found, found, 0.001)
    assert votes.radius == pytest.approx(PixelDP(0.25).radius(*ends))
    assert softmax.radius < votes.radius < 0.25 * stats.norm.ppf(stats.beta.ppf(0.001, 9_500, 501))


@pytest.mark.parametrize("decision_rule", ["softmax", "votes"])
def test_coverage_at_a_half_space(decision_rule):
    """The bounds on both classes are wrong at most alpha of the time, which is seen from the radius they give."""
    generator = np.random.default_rng(0)
    certificate = PixelDP(0.5, calibration="gaussian", decision_rule=decision_rule)
    true = certificate.radius(0.75, 0.25)
    radii = [
        certificate.certify(
            draw_tally((0.75, 0.25), 50, generator), draw_tally((0.75, 0.25), 4_000, generator), 0.2
        ).radius
        for _ in range(200)
    ]
    assert sum(radius > true for radius in radii) <= stats.binom.isf(1e-6, 200, 0.2)
    assert 0.7 * true < np.mean(radii) < true


def test_of_a_network():
    """The certificate of a model uses the noise of its first layer, and refuses uneven noise or noise elsewhere."""
    model = fitted("pixeldp")
    (noise,) = model.noises

    def certificate(**changes):
        noises = (dataclasses.replace(noise, **changes),)
        return PixelDP.from_network(model.network, model.architecture.shape, noises, "analytic")

    half = certificate(scale=noise.scale / 2)
    assert half.sigma == pytest.approx(certificate().sigma / 2)
    assert (half.status, half.norm) == ("proved for ideal arithmetic", "l2")
    uneven = noise.scale.expand(model.network.first.out_channels, 8, 8).clone()
    uneven[0] /= 2
    for wrong, value in (({"scale": uneven}, "one deviation"), ({"place": "input"}, "first layer")):
        with refuses(value):
            certificate(**wrong)


@pytest.mark.parametrize(
    ("call", "value"),
    [
        (lambda: PixelDP(0.0), "sigma"),
        (lambda: PixelDP(1.0, sensitivity=-1.0), "sensitivity"),
        (lambda: PixelDP(1.0, calibration="none"), "calibration"),
        (lambda: PixelDP(1.0, decision_rule="none"), "decision_rule"),
        (lambda: compute_pixeldp_sigma("none", 1.0, 0.1), "calibration"),
        (lambda: compute_pixeldp_sigma("gaussian", 1.0, 1.0), "delta"),
    ],
)
def test_parameters_are_checked(call, value):
    """A parameter outside its domain is refused by name."""
    with refuses(value):
        call()
