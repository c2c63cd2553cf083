"""Renyi divergences: the bounds hold over all pairs and meet where they should."""

import dataclasses
import math

import numpy as np
import pytest

from deniable.space import Space
from deniable.words.laws import ExponentialKernel
from deniable.words.laws.divergence import (
    _find_extremes,
    _find_input_bound,
    _sift_extremes,
    bound_divergence,
    bound_divergence_by_loss,
    compute_exact_divergence,
    compute_input_losses,
    compute_loss_extremes,
)

ORDERS = [1.01, 1.5, 2.0, 8.0, 64.0]


def divergences(rows, alpha):
    """Return D_alpha of all pairs (n, n), straight from the sum."""
    return np.log((rows[:, None] ** alpha * rows[None] ** (1 - alpha)).sum(axis=2)) / (alpha - 1)


@pytest.fixture(scope="module")
def kernel():
    """Return a kernel with weights."""
    return ExponentialKernel(0.8, 3.0, np.random.default_rng(3).uniform(0.5, 2, size=60))


@pytest.mark.parametrize("alpha", ORDERS)
def test_exact_is_the_largest_of_all_pairs(small_space, kernel, alpha):
    """One product of matrices gives the largest of all sums, not less."""
    rows = kernel.rows(small_space.distances(range(60)))
    truth = divergences(rows, alpha).max()
    found = compute_exact_divergence(small_space, lambda _, distances: kernel.rows(distances), alpha)
    assert found == pytest.approx(truth, rel=1e-5, abs=2e-7 / (alpha - 1) * 1e-1)
    assert found >= truth - 1e-6


@pytest.mark.parametrize("alpha", ORDERS)
def test_bounds_hold(small_space, kernel, alpha):
    """That of the family and that by the largest loss are at least the exact one, and at most the loss itself."""
    exact = compute_exact_divergence(small_space, lambda _, distances: kernel.rows(distances), alpha)
    loss = compute_loss_extremes(small_space, kernel)["loss"]
    assert exact <= bound_divergence(small_space, kernel, alpha)
    assert exact <= bound_divergence_by_loss(loss, alpha) <= loss * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize("alpha", ORDERS)
@pytest.mark.parametrize("loss", [0.01, 1.0, 5.0])
def test_randomized_response_reaches_the_bound_by_loss(alpha, loss):
    """Two answers of odds e^loss have exactly that divergence."""
    kept = 1 / (1 + math.exp(-loss))
    truth = divergences(np.array([[kept, 1 - kept], [1 - kept, kept]]), alpha).max()
    assert bound_divergence_by_loss(loss, alpha) == pytest.approx(truth, rel=1e-6, abs=1e-9)


def test_no_loss_has_no_divergence():
    """A loss of 0 bounds the divergence by rounding alone, and a huge one by itself without overflow."""
    assert 0 <= bound_divergence_by_loss(0.0, 2.0) < 1e-12
    assert bound_divergence_by_loss(1e4, 2.0) == pytest.approx(1e4, rel=1e-3)


@pytest.mark.parametrize("scale", [1.0, 1e14, 1e20, 1e25])
def test_losses_beyond_what_float32_holds_are_found(scale):
    """The farthest pair is found where neither end of it is among the points that are looked at first."""
    generator = np.random.default_rng(1)
    inner, far = generator.normal(scale=0.01, size=(900, 2)), generator.normal([0.6, 0.0], 0.001, size=(40, 2))
    points = np.concatenate([inner, far, [[0.0, 0.5], [0.0, -0.5]]])
    space = Space([f"w{chr(0x4E00 + number)}" for number in range(len(points))], points)
    losses = compute_loss_extremes(space, ExponentialKernel(scale))
    assert losses["loss"] >= scale
    assert losses["reach"] >= scale


def test_losses_of_inputs_bound_every_output(small_space, kernel):
    """No pair loses more at any output than the bound of its input, and the largest bound is reached to a half."""
    logs = np.log(kernel.rows(small_space.distances(range(60))))
    losses = np.abs(logs[:, None] - logs[None]).max(axis=(1, 2))
    bounds = compute_input_losses(small_space, kernel, np.array([5, 0, 59]))
    assert (losses[[5, 0, 59]] <= bounds).all()
    assert bounds == pytest.approx(compute_input_losses(small_space, kernel, np.arange(60))[[5, 0, 59]])
    extremes = compute_loss_extremes(small_space, kernel)
    assert losses.max() <= extremes["loss"] <= 2 * losses.max() + 1e-6


@pytest.mark.parametrize("alpha", ORDERS)
def test_the_bound_of_the_family_is_its_formula(small_space, alpha):
    """It is max [s R + ln Z_s] + max [ln Z_(alpha s) - alpha ln Z_s] / (alpha - 1), and no looser but for rounding."""
    distances = small_space.distances(range(60))
    logs, steeper = (np.log(np.exp(-scale * distances).sum(axis=1)) for scale in (0.8, 0.8 * alpha))
    reach = (0.8 * distances.max(axis=1) + logs).max()
    expected = reach + (steeper - alpha * logs).max() / (alpha - 1)
    found = bound_divergence(small_space, ExponentialKernel(0.8), alpha)
    assert found == pytest.approx(expected, rel=1e-5, abs=1e-6 / (alpha - 1))


@pytest.mark.parametrize("scale", [1e-22, 1e-13, 5e-10, 1e-5, 0.05, 1.0, 3.0, 60.0, 1e7])
@pytest.mark.parametrize("cutoff", [math.inf, 4.0, 0.1])
def test_sifted_losses_are_those_of_all_pairs(glove_2000, scale, cutoff):
    """What float32 sifts and float64 decides is the largest loss and reach of all pairs."""
    kernel = ExponentialKernel(scale, cutoff)
    logs = np.log(kernel.normalisers(glove_2000))
    for workers in (1, 2):
        sifted = _sift_extremes(glove_2000, kernel, logs, workers)
        assert sifted == pytest.approx(_find_extremes(glove_2000, kernel, logs, workers), rel=1e-12)


@pytest.mark.parametrize("scale", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("alpha", [1.004, 2.0, 17.0])
@pytest.mark.parametrize("limit", [256, 2048])
def test_inputs_looked_at_bound_all(glove_2000, monkeypatch, scale, alpha, limit):
    """The largest term of any input is found without looking at most of them, or by a pass where many must be."""
    monkeypatch.setattr("deniable.words.laws.divergence._MAX_SINGLE_INPUTS", limit)
    kernel = ExponentialKernel(scale)
    steeper = dataclasses.replace(kernel, scale=alpha * scale)
    logs, steeper_logs = (np.log(each.normalisers(glove_2000)) for each in (kernel, steeper))
    found = _find_input_bound(glove_2000, kernel, steeper, alpha, None)
    assert found == pytest.approx((steeper_logs - alpha * logs).max(), rel=1e-9, abs=1e-12)
