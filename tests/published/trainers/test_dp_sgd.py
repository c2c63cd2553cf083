"""What the trainers of the zoo share."""

import math

import numpy as np
import pytest
from scipy import stats

from deniable.auditing.sensitivity import compute_gaussian_epsilon
from deniable.auditing.training.worst_case import audit_worst_case
from deniable.published.trainers import drawn_batch_size, unclipped_remainder
from deniable.published.trainers.dp_sgd import GRID_STEP, calibrate_plan, clip_rows, draw_noise, train_on_all


def test_clipped_rows():
    """Rows within the norm stay, longer ones get it, all are on the grid, and none is longer than the norm."""
    rows = np.array([[0.0, 0.0], [0.6, 0.0], [3.0, 4.0], [-1.0, 1.0]])
    clipped = clip_rows(rows)
    assert clipped == pytest.approx(np.array([[0, 0], [0.6, 0], [0.6, 0.8], [-(0.5**0.5), 0.5**0.5]]), abs=2e-12)
    assert np.linalg.norm(clipped, axis=1).max() <= 1
    assert (clipped / GRID_STEP == np.rint(clipped / GRID_STEP)).all()
    assert clip_rows(np.array([30.0, 40.0]), 0.5) == pytest.approx([0.3, 0.4], abs=2e-12)


@pytest.mark.parametrize("scale", [0.7, 2.0, 7.9])
def test_noise_is_gaussian_of_its_scale(scale):
    """A sampler of the true scale passes, and scales 30 % off fail."""
    noise = draw_noise(5, scale, (4_000,))
    assert (noise / GRID_STEP == np.rint(noise / GRID_STEP)).all()
    assert stats.kstest(noise, "norm", (0, scale)).pvalue > 1e-3
    for factor in (0.7, 1.3):
        assert stats.kstest(noise, "norm", (0, scale * factor)).pvalue < 1e-6


@pytest.mark.parametrize("steps", [1, 4, 16])
def test_noise_of_a_plan_is_that_of_its_claim(steps):
    """The composition of all steps spends what is claimed, and at most a billionth less."""
    plan = calibrate_plan(16, steps, 2.0)
    epsilon = compute_gaussian_epsilon(math.sqrt(steps) / plan.noise_multiplier, 1e-5)
    assert 2.0 - 1e-7 < epsilon < 2.0


def test_a_step_releases_its_sum_with_noise():
    """What is released is the sum of the step plus noise from the seed."""
    plan = calibrate_plan(3, 2)
    stated, *steps = train_on_all([np.ones(2)] * 3, 8, plan=plan, sum_gradients=lambda rows: rows.sum(axis=0))
    assert stated == plan
    noise = draw_noise(8, plan.noise_multiplier, (2, 2))
    for step, drawn in zip(steps, noise, strict=True):
        assert (step.clipped_sum == 3).all()
        assert (step.released == 3 + drawn).all()
        assert step.batch.tolist() == [0, 1, 2]


@pytest.mark.parametrize("module", [drawn_batch_size, unclipped_remainder])
def test_twins_are_seldom_refuted(module):
    """At 80 % confidence, where a fifth of correct trainers may be refuted, twins are refuted no more often."""
    seeds, case = 100, module.CASE
    refuted = sum(
        audit_worst_case(
            module.train_mended,
            case.records,
            case.canary,
            case.guarantee,
            runs=120,
            noise=case.noise,
            confidence=0.8,
            seed=seed,
        ).status
        == "refuted"
        for seed in range(seeds)
    )
    assert refuted <= stats.binom.isf(1e-6, seeds, 0.2)
