"""The private descent: its plan from public numbers, its formula step by step, what it learns."""

import inspect

import numpy as np
import pytest

from deniable.persons import linear_training as module
from deniable.persons.budget import NOISE_STEPS, Budget
from deniable.persons.collection import group_rows
from deniable.persons.linear_training import (
    STEPS,
    compute_contrasts,
    fit_private_weights,
    fit_public_weights,
    plan_linear_measurement,
    plan_linear_training,
)
from deniable.persons.noisy_sums import ResidualSums, add_noise
from deniable.vectors.discrete_noise import make_noise_generator
from tests.persons.collections import MAP, draw_reviews

TEXTS, CODES = draw_reviews(60)
ROWS = MAP.extract_features(TEXTS)
START = np.random.default_rng(4).normal(size=(len(MAP), 1))


def make_budget(epsilon=4.0, class_count=2, unit="record"):
    """Return a budget for the descent alone."""
    return Budget(epsilon, 1e-6, unit, (plan_linear_measurement(MAP, class_count),))


@pytest.mark.parametrize("class_count", [2, 3, 10, 50])
def test_contrasts_are_orthonormal(class_count):
    """The contrasts are K - 1 orthonormal columns that sum to 0."""
    contrasts = compute_contrasts(class_count)
    assert contrasts.shape == (class_count, class_count - 1)
    np.testing.assert_allclose(contrasts.T @ contrasts, np.eye(class_count - 1), atol=1e-12)
    np.testing.assert_allclose(contrasts.sum(axis=0), 0, atol=1e-12)


def test_the_plan_knows_public_numbers_alone():
    """The plan takes a budget and a nominal number; the noise is s C / B, and the step small where noise is large."""
    assert list(inspect.signature(plan_linear_training).parameters) == ["budget", "nominal_count"]
    budget = make_budget()
    plan = plan_linear_training(budget, 1_000)
    assert plan.noise == pytest.approx(NOISE_STEPS / budget.compute_norm_bound("classifier") * plan.clip)
    rates = [
        plan_linear_training(make_budget(epsilon), count).rate for epsilon, count in ((1, 500), (4, 500), (4, 5e7))
    ]
    assert rates == sorted(rates)
    assert rates[-1] == 512
    assert plan_linear_training(make_budget(unit="person"), 1_000).clip > plan.clip


def test_the_measurement_counts_every_step():
    """The descent is T sums of D (K - 1) coordinates."""
    measurement = plan_linear_measurement(MAP, 5)
    assert (measurement.coordinates, measurement.sums) == (4 * len(MAP), STEPS)


@pytest.mark.parametrize("start", [None, START])
def test_every_step_follows_the_formula(start):
    """The weights are those of the documented formula, made again with the same noise from the noisy sums alone."""
    budget, count, units = make_budget(), 70.0, group_rows(len(TEXTS))
    found = fit_private_weights(ROWS, CODES, units, MAP, 2, budget, count, make_noise_generator(9), start)
    plan, generator = plan_linear_training(budget, count), make_noise_generator(9)
    bound = budget.compute_norm_bound("classifier")
    sums = ResidualSums(ROWS.offsets, ROWS.columns, ROWS.values, CODES, units, compute_contrasts(2))
    weights, visited = np.zeros((len(MAP), 1)) if start is None else start, []
    for _ in range(STEPS):
        noisy_sum = add_noise(sums.sum_gradients(weights, plan.clip, bound), generator)
        weights = weights + plan.rate / count * MAP.condition(noisy_sum * (plan.clip / bound))
        visited.append(weights)
    np.testing.assert_allclose(found, np.mean(visited[STEPS // 2 :], axis=0), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(START, np.random.default_rng(4).normal(size=(len(MAP), 1)))  # left as it was


def test_each_step_draws_fresh_noise(monkeypatch):
    """There are T draws of noise of D (K - 1) coordinates each, as the budget counts them."""
    shapes = []

    def note_noise(sums, generator):
        shapes.append(sums.shape)
        return add_noise(sums, generator)

    monkeypatch.setattr(module, "add_noise", note_noise)
    progress = []
    fit_private_weights(
        ROWS,
        CODES,
        group_rows(len(TEXTS)),
        MAP,
        2,
        make_budget(),
        60,
        make_noise_generator(0),
        progress=lambda done, total: progress.append((done, total)),
    )
    assert shapes == [(len(MAP), 1)] * STEPS
    assert sum(rows * columns for rows, columns in shapes) == make_budget().coordinates
    assert progress == [(step, STEPS) for step in range(1, STEPS + 1)]


def test_public_weights_learn():
    """Weights learned in the open tell the classes of other texts apart."""
    weights = fit_public_weights(ROWS, CODES, MAP, 2)
    texts, codes = draw_reviews(200, seed=5)
    rows = MAP.extract_features(texts)
    scores = np.bincount(np.repeat(np.arange(200), np.diff(rows.offsets)), rows.values * weights[rows.columns, 0])
    assert np.mean((scores * compute_contrasts(2)[1, 0] > 0) == (codes == 1)) > 0.9
