"""Utility: shared noise costs nothing, new draws and independent noise cost nearly all."""

import numpy as np

from deniable.published.dpal.mechanism import DPALBudget
from deniable.published.dpal.sensitivity_audit import measure_noise_utility
from tests.robust.audits.digits import digits


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
