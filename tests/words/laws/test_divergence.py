"""Renyi divergences: the bounds hold over all pairs and meet where they should."""

import math

import numpy as np
import pytest

import deniable as dn
from deniable.accounting.renyi import bound_divergence_by_loss

ORDERS = [1.004, 1.5, 2.0, 17.0]


def divergences(rows, alpha):
    """Return D_alpha of all pairs (n, n), straight from the sum, by logarithms."""
    logs = np.log(rows)
    powers = alpha * logs[:, None] + (1 - alpha) * logs[None]
    return np.logaddexp.reduce(powers, axis=2) / (alpha - 1)


KERNELS = {
    "flat": dn.laws.ExponentialKernel(0.1),
    "weighted": dn.laws.ExponentialKernel(0.8, 3.0, np.random.default_rng(3).uniform(0.1, 4, size=60)),
    "sparse": dn.laws.ExponentialKernel(1.5, math.inf, np.arange(60) % 4 + 1e-3),
    "sharp": dn.laws.ExponentialKernel(4.0),
}


@pytest.mark.parametrize("name", KERNELS)
def test_exact_and_bounds(small_space, name):
    """The divergence of a law is that of its worst pair of tables; the bound by the loss is above it."""
    law = dn.laws.ExponentialLaw(small_space, KERNELS[name])
    rows, loss = law.tables(np.arange(60)) / 2.0**62, law.worst_loss()
    for alpha in ORDERS:
        truth, found = divergences(rows, alpha).max(), law.renyi(alpha)
        assert found == pytest.approx(truth, rel=1e-6, abs=2e-8 / (alpha - 1))
        assert truth * (1 - 1e-12) <= found
        by_loss = bound_divergence_by_loss(loss, alpha)
        assert found * (1 - 1e-9) <= by_loss <= loss * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize("alpha", ORDERS)
def test_randomized_response_reaches_the_bound_by_loss(alpha):
    """Two answers of odds e^loss have exactly that divergence; no loss has none, and a huge one does not overflow."""
    for loss in (1e-3, 0.5, 3.0, 12.0):
        kept, lost = 1 / (1 + math.exp(-loss)), 1 / (1 + math.exp(loss))
        truth = divergences(np.array([[kept, lost], [lost, kept]]), alpha).max()
        found = bound_divergence_by_loss(loss, alpha)
        assert found == pytest.approx(truth, rel=1e-9, abs=1e-13 / (alpha - 1))
    assert 0 <= bound_divergence_by_loss(0.0, alpha) < 1e-11
    assert bound_divergence_by_loss(1e4, 2.0) == pytest.approx(1e4, rel=1e-3)
