"""Renyi divergences: the bounds hold over all pairs and meet where they should."""

import dataclasses
import math

import numpy as np
import pytest

import deniable as dn
from deniable.words.laws import divergence, exponential

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
    """The divergence of a law is that of its worst pair of tables; both bounds are above it, at every order."""
    law = dn.laws.ExponentialLaw(small_space, KERNELS[name])
    rows, loss = law.tables(np.arange(60)) / 2.0**62, law.worst_loss()
    for alpha in ORDERS:
        truth, found = divergences(rows, alpha).max(), law.renyi(alpha)
        assert found.is_exact
        assert found.divergence == pytest.approx(truth, rel=1e-6, abs=2e-8 / (alpha - 1))
        assert truth * (1 - 1e-12) <= found.divergence <= divergence.bound_divergence(small_space, law.kernel, alpha)
        by_loss = divergence.bound_divergence_by_loss(loss, alpha)
        assert found.divergence * (1 - 1e-9) <= by_loss <= loss * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize("metric", ["manhattan", "angular", pytest.param("chebyshev", marks=pytest.mark.deep)])
def test_bounds_hold_under_every_metric(small_space, small_vectors, metric):
    """The bound of the family is above the exact divergence under the other metrics too."""
    space = dn.Space(small_space.words, small_vectors, metric=metric)
    for scale in (0.05, 5.0):
        law = dn.laws.ExponentialLaw(space, dn.laws.ExponentialKernel(scale))
        for alpha in ORDERS:
            assert divergence.bound_divergence(space, law.kernel, alpha) >= law.renyi(alpha).divergence


@pytest.mark.parametrize("alpha", ORDERS)
def test_randomized_response_reaches_the_bound_by_loss(alpha):
    """Two answers of odds e^loss have exactly that divergence; no loss has none, and a huge one does not overflow."""
    for loss in (1e-3, 0.5, 3.0, 12.0):
        kept, lost = 1 / (1 + math.exp(-loss)), 1 / (1 + math.exp(loss))
        truth = divergences(np.array([[kept, lost], [lost, kept]]), alpha).max()
        found = divergence.bound_divergence_by_loss(loss, alpha)
        assert found == pytest.approx(truth, rel=1e-9, abs=1e-13 / (alpha - 1))
    assert 0 <= divergence.bound_divergence_by_loss(0.0, alpha) < 1e-11
    assert divergence.bound_divergence_by_loss(1e4, 2.0) == pytest.approx(1e4, rel=1e-3)


def test_larger_spaces_use_the_bound(small_space, monkeypatch):
    """Where all pairs are too many the bound takes their place: not below the exact promise, nor above the linear."""
    subject = dn.CalibratedExponential(small_space, epsilon=0.1)
    exact = subject.document_guarantee(500, 1e-6)
    monkeypatch.setattr(exponential, "MAX_EXACT_POINTS", 59)
    assert not subject.law.renyi(3.0).is_exact
    bounded = subject.document_guarantee(500, 1e-6)
    assert bounded.pure == exact.pure
    assert exact.approximate.epsilon <= bounded.approximate.epsilon < exact.pure.epsilon


@pytest.mark.parametrize("backwards", [False, True])
def test_the_bound_of_the_family_is_its_formula(monkeypatch, backwards):
    """It is max [s R + ln Z_s] + max [ln Z_(alpha s) - alpha ln Z_s] / (alpha - 1), whatever inputs are looked at."""
    vectors = np.random.default_rng(4).normal(size=(700, 2))
    vectors = vectors[np.argsort(np.linalg.norm(vectors, axis=1))][:: -1 if backwards else 1]
    space, kernel = dn.Space([f"w{number}" for number in range(700)], vectors), dn.laws.ExponentialKernel(0.9, 5.0)
    distances = np.minimum(space.distances(range(700)), 5.0)
    logs = np.log(kernel.normalisers(space))
    reach = (0.9 * distances + logs).max()
    for alpha in (1.25, 3.0):
        steeper = dataclasses.replace(kernel, scale=0.9 * alpha)
        inputs = (np.log(steeper.normalisers(space)) - alpha * logs).max()
        for limit in (256, 2048):
            monkeypatch.setattr(divergence, "_MAX_SINGLE_INPUTS", limit)
            found = divergence._find_input_bound(space, kernel, steeper, alpha, None)
            assert found == pytest.approx(inputs, rel=1e-9, abs=1e-12)
        bound = divergence.bound_divergence(space, kernel, alpha)
        assert bound == pytest.approx(reach + inputs / (alpha - 1), rel=1e-5)


@pytest.mark.parametrize("scale", [1.0, 1e14, 1e25])
def test_losses_beyond_what_float32_holds_are_found(scale):
    """The farthest pair is found where neither end of it is among the points that are looked at first."""
    generator = np.random.default_rng(1)
    inner, far = generator.normal(scale=0.01, size=(900, 2)), generator.normal([0.6, 0.0], 0.001, size=(40, 2))
    points = np.concatenate([inner, far, [[0.0, 0.5], [0.0, -0.5]]])
    space = dn.Space([f"w{chr(0x4E00 + number)}" for number in range(len(points))], points)
    losses = divergence.compute_loss_extremes(space, dn.laws.ExponentialKernel(scale))
    assert losses["loss"] >= scale
    assert losses["reach"] >= scale
