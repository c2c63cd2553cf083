"""SecureSGD's certificate: its formula, its radius against brute force, and where uneven noise breaks it."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from deniable import InputError
from deniable.models.images.layer_noise import compute_equivalent_gaussian_scale
from deniable.models.images.networks import ImageArchitecture, NetworkNoise
from deniable.models.images.pixeldp import PixelDP
from deniable.models.images.smoothing import compute_gaussian_radius
from deniable.published.securesgd.certificate import (
    SecureSGDCertificate,
    compute_heterogeneous_sigma,
    find_false_radius,
)
from tests.models.shared.tallies import make_tally


def test_known_sigma():
    """At epsilon 4 and delta 1e-5 the formula gives the published number."""
    assert compute_heterogeneous_sigma(4.0, 1e-5) == pytest.approx(1.285, abs=5e-4)


@pytest.mark.parametrize(("low", "high"), [(0.9, 0.05), (0.6, 0.4), (0.99, 1e-3), (0.4, 0.1), (0.5, 0.499)])
def test_radius_by_brute_force(low, high):
    """The radius meets the condition of Proposition 2 for some epsilon, and one 1 % larger for none."""
    radius = SecureSGDCertificate(0.25, 2.0).radius(low, high)
    epsilons = np.linspace(0, math.log(low / high) / 2, 4_001)[1:-1]

    def holds(size):
        """Say whether some epsilon, with the delta that the formula gives for this size, certifies it."""
        ratio = 0.25 / (2.0 * size)
        root = (epsilons * ratio - 1 / (2 * ratio)) / math.sqrt(2)
        deltas = np.where(root > 0, math.sqrt(2 / math.pi) * np.exp(-(root**2)), 1.0)
        return (low > np.exp(2 * epsilons) * high + (1 + np.exp(epsilons)) * deltas).any()

    assert holds(0.999 * radius)
    assert not holds(1.01 * radius)


@pytest.mark.parametrize(("low", "high"), [(0.9, 0.05), (0.6, 0.4), (0.99, 1e-3), (0.4, 0.1)])
def test_even_noise_stays_below_the_tight_radius(low, high):
    """With even noise the radius does not exceed that of Cohen et al., which no sound one can."""
    certificate = SecureSGDCertificate(0.25)
    assert 0 < certificate.radius(low, high) < compute_gaussian_radius(low, high, 0.25)
    assert certificate.status == "proved for ideal arithmetic"


def test_uneven_noise_breaks_the_radius():
    """A half-space along a coordinate with little noise is certified beyond its border; the weighted norm is not."""
    share, p_a = 0.05, 0.9
    claimed = SecureSGDCertificate(0.25, least_share=share)
    true = 0.25 * math.sqrt(share) * stats.norm.ppf(p_a)
    assert claimed.radius(p_a, 1 - p_a) > 1.2 * true
    assert claimed.status == "refuted"
    deviations = 0.25 * torch.tensor([share, 2 - share]).sqrt()
    sound = SecureSGDCertificate(
        compute_equivalent_gaussian_scale(torch.nn.Identity(), (1, 1, 2), deviations.view(1, 1, 2))
    )
    assert 0 < sound.radius(p_a, 1 - p_a) < true
    assert sound.status == "proved for ideal arithmetic"


@pytest.mark.parametrize("decision_rule", ["softmax", "votes"])
@pytest.mark.parametrize("share", [1e-9, 0.05, 0.1, 0.2, 0.3])
def test_a_refuted_share_has_a_false_radius(share, decision_rule):
    """The witness is a radius of the published rule, and a shorter attack after which another class is as likely."""
    certificate = SecureSGDCertificate(0.25, 2.0, share, decision_rule)
    assert certificate.status == "refuted"
    witness = find_false_radius(certificate)
    assert certificate.radius(witness.low, witness.high) == witness.stated > witness.exact
    assert witness.low + (witness.classes - 1) * witness.high == pytest.approx(1)
    # The attack moves the coordinate by 2 units for each of its own, against noise of its own deviation.
    moved = 2.0 * witness.exact / (0.25 * math.sqrt(share))
    certified, rival = stats.norm.ppf(witness.low) - moved, stats.norm.ppf(witness.high) + moved
    assert rival == pytest.approx(certified, abs=1e-9)
    assert "attack of size" in certificate.source


@pytest.mark.parametrize("share", [0.4, 0.5, 0.7, 0.95, 1 - 1e-6])
def test_a_share_without_a_false_radius_is_not_refuted(share):
    """Where no radius that the rule states of up to 100 classes exceeds the exact one, nothing is decided."""
    certificate = SecureSGDCertificate(0.25, least_share=share)
    assert (certificate.status, find_false_radius(certificate)) == ("undecided", None)
    assert "refuted" not in certificate.source
    for low in np.linspace(0.06, 0.999, 12):
        for high in np.geomspace(max(1e-6, (1 - low) / 99), min(low, 1 - low), 8)[:-1]:
            exact = compute_gaussian_radius(low, high, 0.25 * math.sqrt(share))
            assert certificate.radius(low, high) <= exact


@given(st.floats(1e-12, 1.0, exclude_min=True), st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
@settings(max_examples=25, deadline=None)
def test_a_status_depends_on_the_share_alone(share, sigma, sensitivity):
    """Noise and sensitivity scale the stated radius and the exact one alike."""
    assert SecureSGDCertificate(sigma, sensitivity, share).status == SecureSGDCertificate(1.0, 1.0, share).status


@pytest.mark.parametrize("noise", [(1e-300, 1e300), (1e300, 1e-300)])
def test_noise_beyond_floats_is_not_refuted(noise):
    """Where radii are 0 or infinite in floats, none is known to be false."""
    assert SecureSGDCertificate(*noise, 0.05).status == "undecided"


def test_certify():
    """The class and its bounds are those of PixelDP, the radius that of the formula."""
    tally = make_tally([9_500, 300, 200])
    certificate = SecureSGDCertificate(0.25, decision_rule="votes")
    found = certificate.certify(tally, tally, 0.001)
    ends = stats.beta.ppf([0.001 / 3, 1 - 0.001 / 3], [9_500, 301], [501, 9_700])
    assert found.label == PixelDP(0.25, decision_rule="votes").certify(tally, tally, 0.001).label == 0
    assert found.radius == pytest.approx(certificate.radius(*ends))
    assert certificate.certify(make_tally([51, 49]), make_tally([51, 49]), 0.05).label is None


def test_of_a_network():
    """The certificate of a network with uneven noise states its mean variance and its least share, and is refuted."""
    network = ImageArchitecture("small", (1, 18, 18), 10).build(0)
    scale = torch.ones(16, 9, 9)
    scale[0] = 0.5
    uneven = SecureSGDCertificate.from_network(network, (1, 18, 18), (NetworkNoise("first layer", "gaussian", scale),))
    assert uneven.least_share == pytest.approx(0.25 / (61 / 64))
    assert uneven.sigma == pytest.approx(math.sqrt(61 / 64))
    assert uneven.status == "refuted"
    with pytest.raises(InputError, match="on the first layer"):
        SecureSGDCertificate.from_network(network, (1, 18, 18), (NetworkNoise("input", "gaussian", scale),))


@pytest.mark.parametrize(
    "wrong", [{"sigma": 0.0}, {"sensitivity": -1.0}, {"decision_rule": "none"}, {"least_share": 1.5}]
)
def test_parameters_are_checked(wrong):
    """A parameter outside its domain is refused by name."""
    with pytest.raises(InputError, match=next(iter(wrong))):
        dataclasses.replace(SecureSGDCertificate(1.0), **wrong)


def test_formula_is_checked():
    """A delta beyond the formula's domain is refused."""
    with pytest.raises(InputError, match="delta"):
        compute_heterogeneous_sigma(1.0, 0.8)
