"""DPAL's certificate: as published, with its errors apart, and what is proved in its place."""

import dataclasses
import math

import pytest

from deniable import InputError
from deniable.published.dpal.certificate import (
    DPALCertificate,
    compute_attack_epsilon,
    compute_composed_size,
    compute_group_epsilon,
    compute_post_processed_size,
    compute_published_sizes,
    compute_robustness_epsilon,
    compute_sizes_in_one_unit,
    compute_sound_sizes,
)
from deniable.published.dpal.counterexample import (
    build_unit_certificate,
    compare_one_pass,
    compare_two_networks,
    compute_threshold,
)
from tests.models.shared.tallies import make_tally

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
    with pytest.raises(InputError, match=name):
        dataclasses.replace(build_unit_certificate(), **{name: 0.0})


def test_functions_check_their_numbers():
    """Sizes and shares outside their domains are refused."""
    for call in (
        lambda: compute_post_processed_size(0.0, 1.0),
        lambda: compute_composed_size(()),
        lambda: compute_composed_size((1.0, -1.0)),
        lambda: compute_group_epsilon(1.0, 0.0),
        lambda: compare_two_networks(true_distance=0.0),
        lambda: compare_one_pass(rivals=0.4),
        lambda: compute_threshold(1.0),
    ):
        with pytest.raises(InputError):
            call()
