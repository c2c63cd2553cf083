"""SecureSGD: its formula and its radius against brute force, where uneven noise breaks it, and what clips batches."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize, stats
from torch.nn import functional

import deniable as dn
from deniable.accounting.gaussian import bound_log_delta
from deniable.models.images.certificates import compute_gaussian_radius
from deniable.models.images.networks import ImageArchitecture, NetworkNoise
from deniable.models.images.pixeldp import PixelDP, compute_equivalent_gaussian_scale
from deniable.published.securesgd.certificate import (
    SecureSGDCertificate,
    compute_heterogeneous_sigma,
    find_false_radius,
)
from deniable.published.securesgd.trainers import SECURESGD_TRAINER, _clip_mean_gradient
from tests.models.images.random_images import data
from tests.models.tallies import make_tally
from tests.refusals import refuses


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
    with refuses("first layer"):
        SecureSGDCertificate.from_network(network, (1, 18, 18), (NetworkNoise("input", "gaussian", scale),))


@pytest.mark.parametrize(
    "wrong", [{"sigma": 0.0}, {"sensitivity": -1.0}, {"decision_rule": "none"}, {"least_share": 1.5}]
)
def test_parameters_are_checked(wrong):
    """A parameter outside its domain is refused by name."""
    with refuses(next(iter(wrong))):
        dataclasses.replace(SecureSGDCertificate(1.0), **wrong)


def test_formula_is_checked():
    """A delta beyond the formula's domain is refused."""
    with refuses(0.8):
        compute_heterogeneous_sigma(1.0, 0.8)


def compute_true_delta(epsilon: float, delta: float, least_share: float = 1.0) -> float:
    """Return the true delta of noise calibrated for (epsilon, delta); the claim is false if it is larger.

    The profile of Gaussian noise is known exactly (Balle and Wang 2018, Theorem 8). Noise N(0, sigma^2 K r_i) on
    coordinate i, with sum r = 1, is worst for a change of that coordinate alone with the least K r_i: that change
    meets noise of deviation sigma sqrt(K r_i), whatever the other coordinates carry. As implemented from the formula of
    Phan et al. 2019, sigma does not depend on r, so the claim fails wherever K r_i is far enough below 1.

    Args:
        epsilon: > 0.
        delta: claimed, in (0, sqrt(2 / pi)).
        least_share: min K r_i, in (0, 1]; 1 for even noise.
    """
    return math.exp(bound_log_delta(epsilon, compute_heterogeneous_sigma(epsilon, delta) * math.sqrt(least_share)))


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 20.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.05, 0.5])
def test_the_formula_holds_for_even_noise(epsilon, delta):
    """With even noise the formula gives no less than the exact profile requires."""
    assert compute_true_delta(epsilon, delta) <= delta


def test_uneven_noise_breaks_the_plain_formula():
    """A coordinate with half of the mean variance has 3.6 times the delta claimed, by the exact Gaussian profile."""
    sigma = compute_heterogeneous_sigma(1.0, 1e-5) * math.sqrt(0.5)
    exact = stats.norm.cdf(0.5 / sigma - sigma) - math.e * stats.norm.cdf(-0.5 / sigma - sigma)
    assert compute_true_delta(1.0, 1e-5, 0.5) == pytest.approx(exact, rel=1e-9)
    assert exact == pytest.approx(3.63e-5, rel=1e-3)


@pytest.mark.parametrize("share", [0.95, 0.8])
def test_no_share_below_one_is_safe(share):
    """For shares near 1 the plain formula has slack at a large delta, and fails at a small one."""
    assert compute_true_delta(1.0, 0.1, share) < 0.1
    assert compute_true_delta(1.0, 1e-200, share) > 1e-200


def test_shares_are_checked():
    """A least share above the mean, or of nothing, is refused."""
    for share in (0.0, 1.5):
        with refuses(share):
            SecureSGDCertificate(1.0, least_share=share)


TRAINER = dn.images.IMAGE_TRAINERS["dp-sgd-batch-clipped"]


DELTA = 1e-5


def fit(batch_size, **options):
    """Return a model of 60 random images after two steps."""
    chosen = {"steps": 2, "width": 0.25, "epsilon": 0.5, "delta": DELTA, "batch_size": batch_size} | options
    return dn.images.fit_image_model(TRAINER, data(), TRAINER.choose_options(**chosen), seed=0)


def test_batches_clipped_as_one_are_refuted():
    """Clipping the mean of a batch, with noise made for clipped examples, spends more than it claims."""
    model = fit(30)
    assert model.verdict.status == model.guarantee.status == "refuted"
    assert model.verdict.lower_bound > 0.5
    assert model.verdict.witness is not None


def find_mixture_epsilon(rate, shift):
    """Return the exact epsilon at delta of N(0, 1) against its mixture with N(shift, 1), by integrating the excess."""

    def compute_delta(epsilon):
        def excess(x):
            null = stats.norm.pdf(x)
            return max(rate * stats.norm.pdf(x - shift) + (1 - rate) * null - math.exp(epsilon) * null, 0.0)

        return integrate.quad(excess, -10, shift + 12, points=[0, shift / 2, shift], limit=500)[0]

    return optimize.brentq(lambda epsilon: compute_delta(epsilon) - DELTA, 1e-9, shift**2 / 2 + 12 * shift + 1)


@pytest.mark.parametrize(
    ("batch_size", "clip"),
    [
        (1, 0.1),
        (60, 0.1),
        pytest.param(1, 1e-3, marks=pytest.mark.deep),
        pytest.param(7, 5.0, marks=pytest.mark.deep),
        pytest.param(200, 1e-3, marks=pytest.mark.deep),
    ],
)
def test_the_lower_bound_is_at_most_the_true_loss_of_its_witness(batch_size, clip):
    """At every batch size, 1 too: g of one record in a batch of empty ones, the clip included, and the mixture."""
    model = fit(batch_size, clip=clip)
    size = min(batch_size, 60)
    network = model.architecture.build(0)
    train = data().train
    losses = [functional.cross_entropy(network(x[None]), y[None]) for x, y in zip(train.pixels, train.labels)]  # noqa: B905
    gradients = [torch.autograd.grad(loss, list(network.parameters())) for loss in losses]
    norm = max(math.sqrt(sum(float(part.double().square().sum()) for part in parts)) for parts in gradients)
    shift = min(norm, size * clip) / (clip * model.facts["noise multiplier"])
    truth = find_mixture_epsilon(size / 60, shift)
    assert truth * 0.9 < model.verdict.lower_bound <= truth * (1 + 1e-6)
    if batch_size == 1:  # then it is DP-SGD on a batch of fixed size, which its accounting covers
        assert model.verdict.status == "undecided"


def test_the_step_is_the_mean_gradient_clipped_to_its_norm():
    """Empty records count in the divisor and add nothing; a mean within the norm stays what it is."""
    network = torch.nn.Linear(3, 2)
    images, labels = torch.eye(3)[:2], torch.tensor([0, 1])
    loss = functional.cross_entropy(network(images), labels)
    expected = torch.autograd.grad(loss, list(network.parameters()))
    mean, value = _clip_mean_gradient(network, images, labels, 100.0)
    assert value == pytest.approx(float(loss.detach()))
    torch.testing.assert_close(mean, expected)
    half, _ = _clip_mean_gradient(network, images[[0, 0]], torch.tensor([0, -1]), 100.0)
    whole, _ = _clip_mean_gradient(network, images[:1], labels[:1], 100.0)
    torch.testing.assert_close(tuple(2 * part for part in half), whole)
    clipped, _ = _clip_mean_gradient(network, images, labels, 0.25)
    assert torch.cat([part.flatten() for part in clipped]).norm() == pytest.approx(0.25)


def test_uneven_noise_has_the_variance_of_even_noise():
    """SecureSGD shares out the variance that even noise would have, at least half of it evenly: no false radius."""
    options = SECURESGD_TRAINER.choose_options(
        steps=2, batch_size=30, width=0.25, epsilon=90.0, delta=1e-5, noise_multiplier=2.0
    )
    model = dn.images.fit_image_model(SECURESGD_TRAINER, data(), options, seed=3)
    scale = model.noises[0].scale
    even = 2 * 0.1 * compute_heterogeneous_sigma(1.0, 0.05)
    assert scale.shape == (4, 14, 14)
    assert scale.square().mean().sqrt() == pytest.approx(even)
    assert 0.7 * even < scale.min() < 0.9 * scale.max()
    assert isinstance(model.certificate, SecureSGDCertificate)
    assert model.certificate.least_share == pytest.approx(float(scale.min() ** 2 / scale.square().mean()))
    assert (model.certificate.status, model.guarantee.status) == ("undecided", "proved for ideal arithmetic")
