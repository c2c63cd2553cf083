"""DPAL's certificate: as published, with its errors apart, and against classifiers of known robustness."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import integrate

from deniable.published.dpal.certificate import (
    DPALCertificate,
    compute_attack_epsilon,
    compute_published_sizes,
    compute_robustness_epsilon,
)
from studies.dpal_counterexample import (
    build_unit_certificate,
    compare_one_pass,
    compare_two_networks,
    compute_composed_size,
    compute_group_epsilon,
    compute_post_processed_size,
    compute_sizes_in_one_unit,
    compute_sound_sizes,
    compute_tail_probability,
    compute_threshold,
)
from tests.models.tallies import make_tally
from tests.refusals import refuses

MNIST = DPALCertificate(
    delta_r=(14**2 + 2) * 25, m=2_499, eps1=0.1, mu=0.2, d=784, beta=14**2 * 32, theta1=1.0, psi=2.0
)


def test_published_sizes():
    """Kappa and phi are those of Eq. 15, term by term, whatever psi is."""
    kappa, phi = compute_published_sizes(MNIST, 0.5)
    assert kappa == pytest.approx(4_950 / (2_499 * 0.1) * 0.5 / (0.2 * 784))
    assert phi == pytest.approx(2 * 4_950 / (2_499 * 0.1) * 0.5 / 6_272)
    assert compute_published_sizes(dataclasses.replace(MNIST, psi=10.0), 0.5) == (kappa, phi)


def test_corrections_one_by_one():
    """One unit takes mu out of kappa, psi divides both, and each rule of composition is its own formula."""
    kappa, phi = compute_published_sizes(MNIST, 0.5)
    assert compute_sizes_in_one_unit(MNIST, 0.5) == pytest.approx((0.2 * kappa, phi))
    assert compute_sound_sizes(MNIST, 0.5) == pytest.approx((0.1 * kappa, phi / 2))
    assert compute_post_processed_size(1.0, 2.0) == 2.0
    assert compute_composed_size((1.0, 2.0)) == pytest.approx(2 / 3)
    assert compute_group_epsilon(0.5, 2.0) == 0.25
    # At the size that is left for the product, the parts of epsilon add up to eps_r.
    size = compute_composed_size((1.0, 2.0))
    assert compute_group_epsilon(0.5, 1.0, size) + compute_group_epsilon(0.5, 2.0, size) == pytest.approx(0.5)


def test_certify_as_published():
    """The class has the largest mean score, and the size follows from Hoeffding's bounds at alpha / 2K."""
    votes, sums = [600, 390, 10], [550.0, 400.0, 50.0]
    found = MNIST.certify(make_tally(votes, sums), make_tally(votes, sums), 0.05)
    half = math.sqrt(math.log(6 / 0.05) / 2_000)
    assert found.label == 0
    assert found.radius == pytest.approx(
        sum(compute_published_sizes(MNIST, math.log((0.55 - half) / (0.4 + half)) / 2))
    )
    assert (MNIST.status, MNIST.norm, MNIST.pixels_per_unit) == ("refuted", "linf", 0.5)


@pytest.mark.parametrize("changes", [{}, {"beta": 49.0}, {"theta1": 3.0}, {"mu": 1.0}, {"d": 1.0, "beta": 1.0}])
def test_a_refuted_size_has_a_larger_loss(changes):
    """At the size up to which the noise is said to be 1-DP, the densities of a first layer differ by more than e."""
    certificate = dataclasses.replace(MNIST, **changes)
    assert certificate.status == "refuted"
    size = sum(compute_published_sizes(certificate, 1.0))
    assert compute_attack_epsilon(certificate, size) > 1
    assert "refuted" in certificate.source


@pytest.mark.parametrize("changes", [{"psi": 0.01}, {"mu": 1.0, "psi": 0.4}, {"mu": 1e9}])
def test_a_size_below_the_proved_one_is_not_refuted(changes):
    """Parameters that make the published size at most the proved one are claimed, not refuted."""
    certificate = dataclasses.replace(MNIST, **changes)
    assert sum(compute_published_sizes(certificate, 1.0)) <= compute_post_processed_size(
        *compute_sound_sizes(certificate, 1.0)
    )
    assert certificate.status == "claimed"
    assert "refuted" not in certificate.source


def test_the_loss_of_an_attack():
    """For one input and one unit it is the largest quotient of the density of the sum of both noises, far out."""
    certificate = dataclasses.replace(build_unit_certificate(), theta1=3.0, psi=2.0)
    far, attack = 60.0, 0.7

    def compute_density(value: float) -> float:
        """Return the density of 3 n1 + n2, with scales 3 / 2 and 1."""
        first, second = 1.5, 1.0
        parts = first * math.exp(-abs(value) / first) - second * math.exp(-abs(value) / second)
        return parts / (2 * (first**2 - second**2))

    exact = math.log(compute_density(far - 3 * attack) / compute_density(far))
    assert compute_attack_epsilon(certificate, attack) == pytest.approx(exact, rel=1e-9)


def test_abstains_without_a_gap():
    """Bounds that overlap certify nothing."""
    assert MNIST.certify(make_tally([51, 49]), make_tally([51, 49]), 0.05).label is None
    assert compute_robustness_epsilon(0.3, 0.3) == 0
    assert compute_robustness_epsilon(0.3, 0.0) == math.inf


@pytest.mark.parametrize("name", ["delta_r", "m", "eps1", "mu", "d", "beta", "theta1", "psi"])
def test_parameters_are_checked(name):
    """A number that is not positive is refused by name."""
    with refuses(name):
        dataclasses.replace(build_unit_certificate(), **{name: 0.0})


@pytest.mark.parametrize(("psi", "claimed"), [(1.0, 2.838), (2.0, 5.260), (10.0, 20.10)])
def test_two_networks_are_refuted_exactly(psi, claimed):
    """A threshold 0.3 away is certified up to many times as far, and up to less than 0.3 once all is fixed."""
    found = compare_two_networks(psi=psi)
    assert found.published == pytest.approx(claimed, rel=1e-3)
    assert found.true_distance == 0.3
    assert found.published > found.one_unit > found.true_distance  # the unit alone does not fix it
    assert found.one_unit == pytest.approx(found.composed * 9 / 2)  # 1 + 2 against 1 / (1 + 1/2)
    assert (found.composed > found.true_distance) == (psi > 1)  # nor does the composition, with psi
    assert found.sound < found.true_distance


@pytest.mark.parametrize("psi", [1.0, 2.0, 10.0])
def test_two_networks_by_quadrature(psi):
    """The probabilities behind eps_r are those of the Laplace laws, and both classes are even at the border."""
    shares = [
        0.5 + integrate.quad(lambda n, b=b: math.exp(-abs(n) / b) / (2 * b), -0.3, 0)[0] for b in (1 / psi, 2 / psi)
    ]
    ours, theirs = math.prod(shares), math.prod(1 - share for share in shares)
    assert compare_two_networks(psi=psi).eps_r == pytest.approx(math.log(ours / theirs) / 2)


@pytest.mark.parametrize("true", [0.01, 0.3, 1.0, 5.0])
@pytest.mark.parametrize("psi", [1.0, 2.0, 10.0])
def test_the_mended_size_is_sound_for_two_networks(true, psi):
    """At every input looked at, the harmonic size with psi does not exceed the true distance."""
    assert compare_two_networks(true, psi).sound <= true * (1 + 1e-12)


@pytest.mark.parametrize("rivals", [0.001, 0.05, 0.1, 0.2, 0.33])
@pytest.mark.parametrize("psi", [1.0, 2.0, 10.0])
def test_the_mended_size_is_sound_for_one_pass(rivals, psi):
    """With both noises in one pass, the larger size with psi does not exceed the true distance."""
    found = compare_one_pass(rivals, psi)
    assert 0 < found.sound <= found.true_distance * (1 + 1e-9)
    assert found.published > found.true_distance


def test_the_sum_is_refuted_for_one_pass():
    """Three classes and both noises in one pass: the sum in one unit, without psi, exceeds the true distance."""
    found = compare_one_pass()
    assert found.true_distance == pytest.approx(2.976, abs=1e-3)
    assert found.one_unit == pytest.approx(3.119, abs=1e-3)
    assert found.published == pytest.approx(7.278, abs=1e-3)
    assert found.sound == pytest.approx(2.079, abs=1e-3)


@pytest.mark.parametrize("psi", [1.0, 3.0])
@pytest.mark.parametrize("value", [-3.0, -0.2, 0.0, 0.7, 4.0])
def test_tail_of_two_laplace_numbers(psi, value):
    """The tail of the sum is the convolution of the two laws, and the threshold inverts it."""
    density = lambda noise, scale: math.exp(-abs(noise) / scale) / (2 * scale)  # noqa: E731 - one line of mathematics
    survival = lambda noise: np.where(noise > 0, 0.5 * np.exp(-abs(noise) * psi), 1 - 0.5 * np.exp(-abs(noise) * psi))  # noqa: E731
    by_quadrature = integrate.quad(
        lambda n: density(n, 2 / psi) * float(survival(value - n)), -60, 60, points=sorted({0.0, value}), limit=200
    )[0]
    assert compute_tail_probability(value, psi) == pytest.approx(by_quadrature, rel=1e-6)
    assert compute_threshold(compute_tail_probability(value, psi), psi) == pytest.approx(value, abs=1e-9)
