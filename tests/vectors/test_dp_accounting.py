"""Our noise beside dp-accounting: what it spends by its scale, and what the samples themselves show."""

import itertools
import math

import numpy as np
import pytest

from deniable.vectors import Box, Gaussian, L1Ball, L2Ball, Laplace
from deniable.vectors.discrete_noise import make_noise_generator, sample_discrete_gaussian, sample_discrete_laplace
from tests.vectors.contract import SEED

pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")

DRAWS = 200_000
DOMAINS = (Box(0.0, 1.0), Box(1e5, 1e5 + 3), L1Ball(0.3), L2Ball(7.0))
PARAMETERS = list(itertools.product(DOMAINS, (0.1, 1.0, 6.0), (1, 400)))


@pytest.mark.parametrize(("domain", "epsilon", "n"), PARAMETERS)
def test_laplace_spends_its_epsilon(domain, epsilon, n):
    """The privacy loss distribution of noise of our scale has the claimed epsilon at delta 0, and its delta below."""
    subject = Laplace(epsilon=epsilon, domain=domain)
    loss = pld.from_laplace_mechanism(subject.scale(n), sensitivity=subject.sensitivity(n))
    assert loss.get_epsilon_for_delta(0.0) == pytest.approx(epsilon, abs=1e-4)
    assert loss.get_delta_for_epsilon(0.7 * epsilon) == pytest.approx(-math.expm1(-0.15 * epsilon), rel=1e-2)


@pytest.mark.parametrize(("domain", "epsilon", "n"), PARAMETERS)
def test_gaussian_spends_its_epsilon(domain, epsilon, n):
    """The privacy loss distribution of our deviation has the claimed epsilon; 0.7 times the noise costs more."""
    subject = Gaussian(epsilon=epsilon, delta=1e-5, domain=domain)
    spent, overspent = (
        pld.from_gaussian_mechanism(
            factor * subject.scale(n), sensitivity=subject.sensitivity(n), value_discretization_interval=1e-3
        ).get_epsilon_for_delta(1e-5)
        for factor in (1.0, 0.7)
    )
    assert spent == pytest.approx(epsilon, rel=1e-3, abs=2e-3)
    assert overspent > 1.3 * epsilon


def make_laplace(epsilon=1.0):
    """Return draws of our mechanism from both ends of its domain, and the loss at an output."""
    subject = Laplace(epsilon=epsilon, domain=Box(0.0, 1.0), seed=SEED)
    scale = subject.scale(1)
    return subject, lambda y: (np.abs(y - 1) - np.abs(y)) / scale, pld.from_laplace_mechanism(scale)


def make_gaussian():
    """Return the same of the Gaussian mechanism."""
    subject = Gaussian(epsilon=1.0, delta=1e-2, domain=Box(0.0, 1.0), seed=SEED)
    scale = subject.scale(1)
    return subject, lambda y: (1 - 2 * y) / (2 * scale**2), pld.from_gaussian_mechanism(scale)


def estimate_delta(first, second, losses, epsilon):
    """Return what an event shows of delta: its frequency from one input less e^epsilon times that from the other.

    The event is that the loss is above epsilon, which no other event exceeds. Second comes its standard deviation.
    """
    p, q = (float((losses(y) > epsilon).mean()) for y in (first, second))
    factor = math.exp(epsilon)
    return p - factor * q, math.sqrt((p * (1 - p) + factor**2 * q * (1 - q)) / len(first))


@pytest.mark.parametrize("make", [make_laplace, make_gaussian])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 0.6])
def test_samples_show_the_delta_of_dp_accounting(make, epsilon):
    """From 200,000 outputs of each input delta is that of dp-accounting, and not that of noise 30 % off."""
    subject, losses, loss = make()
    first, second = (subject.sample(np.full((DRAWS, 1), x))[:, 0] for x in (0.0, 1.0))
    delta, deviation = estimate_delta(first, second, losses, epsilon)
    assert abs(delta - loss.get_delta_for_epsilon(epsilon)) < 5 * deviation + 1e-4
    for factor in (0.7, 1.3):
        wrong = (pld.from_laplace_mechanism if make is make_laplace else pld.from_gaussian_mechanism)(
            factor * subject.scale(1)
        )
        assert abs(delta - wrong.get_delta_for_epsilon(epsilon)) > 10 * deviation


@pytest.mark.parametrize("distance", [1, 3])
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_integer_samples_show_the_delta_of_dp_accounting(kind, distance):
    """The same holds of noisy counts: integers of scale 4, one unit of which changes them by 1 or 3."""
    scale, epsilon = 4, 0.05
    generator = make_noise_generator(SEED)
    if kind == "laplace":
        draws = [sample_discrete_laplace(generator, scale, DRAWS) for _ in range(2)]
        expected = [pld.from_discrete_laplace_mechanism(1 / (f * scale), distance) for f in (1.0, 0.7, 1.3)]
    else:
        draws = [sample_discrete_gaussian(generator, scale, DRAWS) for _ in range(2)]
        expected = [pld.from_discrete_gaussian_mechanism(f * scale, distance) for f in (1.0, 0.7, 1.3)]

    def losses(y):
        if kind == "laplace":
            return (np.abs(y - distance) - np.abs(y)) / scale
        return ((y - distance) ** 2 - y**2) / (2 * scale**2)

    delta, deviation = estimate_delta(draws[0], draws[1] + distance, losses, epsilon)
    right, *wrong = (loss.get_delta_for_epsilon(epsilon) for loss in expected)
    assert abs(delta - right) < 5 * deviation + 1e-4
    assert all(abs(delta - other) > 10 * deviation for other in wrong)
