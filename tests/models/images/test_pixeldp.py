"""PixelDP: its formulas against known numbers and the exact profile, and its radius against brute force."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from scipy import optimize, stats

from deniable import InputError
from deniable.models.images.layer_noise import PixelFirstLayer, compute_equivalent_gaussian_scale
from deniable.models.images.networks import ImageArchitecture, NetworkNoise
from deniable.models.images.pixeldp import PixelDP, compute_pixeldp_sigma, compute_true_delta
from deniable.models.images.smoothing import GaussianSmoothing, compute_gaussian_radius
from tests.robust.certificates.toy import counted, drawn

MECHANISMS = ["gaussian", "analytic", "heterogeneous"]


@pytest.mark.parametrize(("mechanism", "sigma"), [("gaussian", 1.211), ("heterogeneous", 1.285), ("analytic", 1.081)])
def test_known_sigmas(mechanism, sigma):
    """At epsilon 4 and delta 1e-5 the three formulas give the published numbers."""
    assert compute_pixeldp_sigma(mechanism, 4.0, 1e-5) == pytest.approx(sigma, abs=5e-4)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.05, 0.5])
def test_formulas_hold_up_to_epsilon_one(mechanism, epsilon, delta):
    """Where they are used, no formula gives less noise than the exact profile asks for."""
    assert compute_true_delta(mechanism, epsilon, delta) <= delta


def test_classical_formula_fails_for_large_epsilon():
    """At delta 1e-5 the classical formula gives too little noise from an epsilon of about 8.4, which others bear."""
    crossing = optimize.brentq(lambda epsilon: compute_true_delta("gaussian", epsilon, 1e-5) - 1e-5, 2.0, 20.0)
    assert crossing == pytest.approx(8.42, abs=0.01)
    assert compute_true_delta("heterogeneous", 20.0, 1e-5) < 1e-5
    assert compute_true_delta("analytic", 20.0, 1e-5) == pytest.approx(1e-5)


def test_uneven_noise_breaks_the_plain_formula():
    """A coordinate with half of the mean variance has 3.6 times the delta claimed, by the exact Gaussian profile."""
    sigma = compute_pixeldp_sigma("heterogeneous", 1.0, 1e-5) * math.sqrt(0.5)
    exact = stats.norm.cdf(0.5 / sigma - sigma) - math.e * stats.norm.cdf(-0.5 / sigma - sigma)
    assert compute_true_delta("heterogeneous", 1.0, 1e-5, 0.5) == pytest.approx(exact, rel=1e-9)
    assert exact == pytest.approx(3.63e-5, rel=1e-3)


@pytest.mark.parametrize("share", [0.95, 0.8])
def test_no_share_below_one_is_safe(share):
    """For shares near 1 the plain formula has slack at a large delta, and fails at a small one."""
    assert compute_true_delta("heterogeneous", 1.0, 0.1, share) < 0.1
    assert compute_true_delta("heterogeneous", 1.0, 1e-200, share) > 1e-200


def test_uneven_noise_breaks_the_radius():
    """A half-space along a coordinate with little noise is certified beyond its border; the weighted norm is not."""
    share, p_a = 0.05, 0.9
    claimed = PixelDP(0.25, mechanism="heterogeneous", least_share=share)
    true = 0.25 * math.sqrt(share) * stats.norm.ppf(p_a)
    assert claimed.radius(p_a, 1 - p_a) > 1.2 * true
    assert claimed.status == "refuted"
    deviations = 0.25 * torch.tensor([share, 2 - share]).sqrt()
    sound = PixelDP(
        compute_equivalent_gaussian_scale(torch.nn.Identity(), (1, 1, 2), deviations.view(1, 1, 2)),
        mechanism="heterogeneous",
    )
    assert 0 < sound.radius(p_a, 1 - p_a) < true
    assert sound.status == "proved for ideal arithmetic"


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(("low", "high"), [(0.9, 0.05), (0.6, 0.4), (0.99, 1e-3), (0.4, 0.1), (0.5, 0.499)])
def test_radius_by_brute_force(mechanism, low, high):
    """The radius meets the condition of Proposition 2 for some epsilon, and one 1 % larger for none."""
    certificate = PixelDP(0.25, 2.0, mechanism)
    radius = certificate.radius(low, high)
    most = math.log(low / high) / 2
    epsilons = np.linspace(0, min(most, 1.0) if mechanism == "gaussian" else most, 4_001)[1:-1]

    def holds(size):
        """Say whether some epsilon, with the delta that the mechanism's formula gives for this size, certifies it."""
        ratio = 0.25 / (2.0 * size)
        if mechanism == "analytic":
            deltas = stats.norm.cdf(0.5 / ratio - epsilons * ratio) - np.exp(epsilons) * stats.norm.cdf(
                -0.5 / ratio - epsilons * ratio
            )
        elif mechanism == "gaussian":
            deltas = 1.25 * np.exp(-((ratio * epsilons) ** 2) / 2)
        else:
            root = (epsilons * ratio - 1 / (2 * ratio)) / math.sqrt(2)
            deltas = np.where(root > 0, math.sqrt(2 / math.pi) * np.exp(-(root**2)), 1.0)
        return (low > np.exp(2 * epsilons) * high + (1 + np.exp(epsilons)) * deltas).any()

    assert holds(0.999 * radius)
    assert not holds(1.01 * radius)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(("low", "high"), [(0.9, 0.05), (0.6, 0.4), (0.99, 1e-3), (0.4, 0.1)])
def test_never_beyond_the_tight_radius(mechanism, low, high):
    """No radius from privacy exceeds that of Cohen et al., which no sound one can for the same probabilities."""
    assert 0 < PixelDP(0.25, mechanism=mechanism).radius(low, high) < compute_gaussian_radius(low, high, 0.25)


def test_radius_scales_and_ends():
    """Twice the sensitivity halves the radius; equal bounds leave none; a rival of probability 0 is allowed."""
    one, two = PixelDP(0.25), PixelDP(0.25, 2.0)
    assert one.radius(0.9, 0.05) == pytest.approx(2 * two.radius(0.9, 0.05))
    assert one.radius(0.4, 0.4) == 0
    assert one.radius(0.9, 0.0) > one.radius(0.9, 1e-6)


def test_bounds_of_softmax_and_votes():
    """Means of softmax get Hoeffding's bounds at alpha / K, votes Clopper and Pearson's, and these certify more."""
    found = counted([9_500, 300, 200])
    half = math.sqrt(math.log(3 / 0.001) / 20_000)
    softmax = PixelDP(0.25).certify(found, found, 0.001)
    assert softmax.label == 0
    assert softmax.radius == PixelDP(0.25).radius(0.95 - half, 0.03 + half)
    ends = stats.beta.ppf([0.001 / 3, 1 - 0.001 / 3], [9_500, 301], [501, 9_700])
    votes = PixelDP(0.25, estimated="votes").certify(found, found, 0.001)
    assert votes.radius == pytest.approx(PixelDP(0.25).radius(*ends))
    assert softmax.radius < votes.radius < GaussianSmoothing(0.25).certify(found, found, 0.001).radius


@pytest.mark.parametrize("estimated", ["softmax", "votes"])
def test_coverage_at_a_half_space(estimated):
    """The bounds on both classes are wrong at most alpha of the time, which is seen from the radius they give."""
    generator = np.random.default_rng(0)
    certificate = PixelDP(0.5, mechanism="gaussian", estimated=estimated)
    true = certificate.radius(0.75, 0.25)
    radii = [
        certificate.certify(drawn((0.75, 0.25), 50, generator), drawn((0.75, 0.25), 4_000, generator), 0.2).radius
        for _ in range(200)
    ]
    assert sum(radius > true for radius in radii) <= stats.binom.isf(1e-6, 200, 0.2)
    assert 0.7 * true < np.mean(radii) < true


def test_of_a_network():
    """The certificate of a network takes the exact norm of its first layer, and says where the noise is uneven."""
    network = ImageArchitecture("small", (1, 18, 18), 10).build(0)
    even = PixelDP.from_network(
        network, (1, 18, 18), NetworkNoise("first layer", "gaussian", torch.tensor(0.5)), "analytic"
    )
    assert (even.sigma, even.status, even.norm) == (0.5, "proved for ideal arithmetic", "l2")
    assert even.sensitivity == pytest.approx(
        1 / compute_equivalent_gaussian_scale(PixelFirstLayer(network), (1, 18, 18))
    )
    scale = torch.ones(16, 9, 9)
    scale[0] = 0.5
    uneven = PixelDP.from_network(network, (1, 18, 18), NetworkNoise("first layer", "gaussian", scale), "heterogeneous")
    assert uneven.least_share == pytest.approx(0.25 / (61 / 64))
    assert uneven.sigma == pytest.approx(math.sqrt(61 / 64))
    assert uneven.status == "refuted"
    with pytest.raises(InputError, match="after the first layer"):
        PixelDP.from_network(network, (1, 18, 18), NetworkNoise("input", "gaussian", scale), "analytic")


@pytest.mark.parametrize(
    "wrong",
    [{"sigma": 0.0}, {"sensitivity": -1.0}, {"mechanism": "none"}, {"estimated": "none"}, {"least_share": 1.5}],
)
def test_parameters_are_checked(wrong):
    """A parameter outside its domain is refused by name."""
    with pytest.raises(InputError, match=next(iter(wrong))):
        dataclasses.replace(PixelDP(1.0), **wrong)


def test_formula_is_checked():
    """An unknown mechanism and a delta beyond the formula's domain are refused."""
    with pytest.raises(InputError, match="mechanism"):
        compute_pixeldp_sigma("none", 1.0, 0.1)
    with pytest.raises(InputError, match="delta"):
        compute_pixeldp_sigma("heterogeneous", 1.0, 0.8)
