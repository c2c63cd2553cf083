"""What independent noise of DPAL's scale gives: its law, and the accuracy that is left."""

import math

import numpy as np
import pytest
from scipy import stats

from deniable.published.dpal.mechanism import DPALBudget
from studies.dpal_noise import audit_sensitivity, measure_noise_utility
from tests.published.digits import digits

BUDGET = DPALBudget(0.2)


def run(seed, epochs=30):
    images, labels = digits()
    train, test = (images[:1400], labels[:1400]), (images[1400:], labels[1400:])
    return measure_noise_utility(train, test, DPALBudget(0.2), np.random.default_rng(seed), epochs=epochs)


def test_where_the_accuracy_comes_from():
    """A network is as good with its own shared noise as without any, and near chance with any other noise."""
    found = run(0)
    assert found.plain.value > 0.7
    assert abs(found.shared.value - found.plain.value) < 0.1
    assert found.fresh.value < 0.35
    assert found.independent.value < 0.3
    assert found.shared.count == 397


def test_a_seed_repeats_the_numbers():
    """The same seed gives the same accuracies, another one others."""
    assert run(1, 2) == run(1, 2) != run(2, 2)


def test_the_law():
    """The l1 sensitivity is 2 d, and 2 d / scale the exact epsilon: far beyond the claim."""
    found = audit_sensitivity(BUDGET)
    assert (found.l1, found.used) == (1568, 1)
    assert found.epsilon == pytest.approx(1568 / found.scale) == pytest.approx(45.05, abs=0.01)
    assert found.claim == pytest.approx(0.0287, abs=1e-4)
    assert found.claim < found.at_delta < found.epsilon


def test_at_delta():
    """The composition agrees with a normal approximation of the loss over 784 pixels, and with eps1 = 0.0611."""
    found = audit_sensitivity(BUDGET)
    step = 2 / found.scale
    mean = 784 * (step + math.expm1(-step))
    grid = np.linspace(-60, 60, 400_001)
    law = np.exp(-np.abs(grid)) / 2
    losses = np.abs(grid - step) - np.abs(grid)
    deviation = math.sqrt(784 * np.trapezoid(law * (losses - mean / 784) ** 2, grid))
    values = np.linspace(found.at_delta, mean + 12 * deviation, 100_001)
    delta = np.trapezoid(stats.norm.pdf(values, mean, deviation) * -np.expm1(found.at_delta - values), values)
    assert delta == pytest.approx(found.delta, rel=0.3)
    assert audit_sensitivity(DPALBudget(0.2, theta_norm=0.522)).at_delta == pytest.approx(8.24, abs=0.02)
