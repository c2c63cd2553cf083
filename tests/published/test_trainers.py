"""The trainers of the zoo: samples refute each and not its mended twin, and facts measure what a record does."""

import math

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.published.trainers import data, noise, sampling, sums
from deniable.published.trainers.dp_sgd import (
    GRID_STEP,
    BrokenTrainer,
    calibrate_plan,
    clip_rows,
    draw_noise,
    train_on_all,
)
from deniable.registry import ZOOS

SEED = 20_220_524
"""Another than that of the table in the docs."""
TRAINERS = {
    "accumulated-gradients": (2.0, 3_000),  # one record turns the clipped sum around
    "best-checkpoint": (1.0, 1_000),  # facts see steps that are as they should be; the model shows the choice
    "clipped-layers": (2.0, 3_000),  # four layers of norm 1 have norm 2
    "clipped-mean": (31.0, 400),  # a mean of 15 sixteenths becomes -1: by 31 times the sixteenth that is allowed
    "drawn-batch-size": (2.0, 3_000),  # the mean of sixteen records falls from 16 to 14 sixteenths
    "floating-point-noise": (1.0, 2_000),  # the last bits of what is released tell
    "independent-micro-batches": (2.0, 16_000),  # a record that two micro-batches drew counts twice
    "noise-per-micro-batch": (1.0, 3_000),  # the sum moves as it should, and has half of the noise
    "private-normalizer": (15 - 0.015 + 1, 400),  # fifteen gradients of 1 become a thousandth, and one is -1
    "private-vocabulary": (None, 200),  # facts cannot compare sums of different lengths; the lengths tell
    "resumed-training": (1.0, 3_000),  # four jobs of four steps, of which four were counted
    "shared-noise": (1.0, 400),  # the difference of both parameters has no noise
    "short-last-batch": (4.0, 1_000),  # the record counts four times
    "shuffled-batches": (1.0, 5_000),  # the order is not what was accounted for
    "skipped-empty-batches": (None, 400),  # with no record there is no step
    "unclipped-remainder": (100 / 16 + 1, 400),  # a gradient of 100 adds a sixteenth of it to its clipped self
}
"""Trainer -> what one record does to the sum of a step, per unit of what is allowed, and runs that refute it."""
DEAR = {name for name, (_, runs) in TRAINERS.items() if runs > 1_000}


BY_NAME = {
    value.name: value
    for module in (sampling, sums, data, noise)
    for value in vars(module).values()
    if isinstance(value, BrokenTrainer)
}


@pytest.fixture
def trainer(name):
    """Return a trainer, with its twin."""
    return BY_NAME[name]


def test_every_trainer_is_tried():
    """No entry of the zoo is left out here."""
    entries = [entry.name for entries in ZOOS["trainers"].values() for entry in entries]
    assert entries[::2] == list(BY_NAME)
    assert {*BY_NAME} == {*TRAINERS}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.deep if name in DEAR else ()) for name in TRAINERS]
)
def test_samples_refute_the_trainer_and_not_its_twin(trainer, name):
    """Fewer runs than those of the zoo refute it, and do not refute the twin."""
    runs = TRAINERS[name][1]
    entry, twin = trainer.entries
    verdict = trainer.audit_samples(trainer.train, SEED, runs)
    assert verdict.status == "refuted" == entry.sampled_status
    assert verdict.confidence == 0.999
    verdict = trainer.audit_samples(trainer.mended, SEED, runs)
    assert verdict.status == "not refuted" == twin.sampled_status


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.deep if name == "shuffled-batches" else ()) for name in TRAINERS]
)
def test_facts(trainer, name):
    """Facts say what the entries expect, how far a record moves the sum, and that the plan is what is claimed."""
    entry, twin = trainer.entries
    for train, expected, moved in ((trainer.train, entry, TRAINERS[name][0]), (trainer.mended, twin, 1.0)):
        facts = dn.collect_training_facts(
            train, trainer.records, trainer.canary, **trainer.neighbours, seed=trainer.facts_seed
        )
        assert (facts.movement and facts.movement.ratio) == (moved and pytest.approx(moved, rel=1e-9))
        found = "refuted" if facts.is_refuted else facts.verdicts["the accounting"].status
        assert expected.exact_status == found
        assert facts.stated.lower <= trainer.epsilon <= facts.stated.upper * 1.01
        assert facts.stated.upper <= trainer.epsilon * (1 + 1e-4)


@pytest.mark.parametrize("name", TRAINERS)
def test_what_the_entries_say(trainer):
    """The trainer has a flaw and a source, its twin neither, and their claims are the same."""
    entry, twin = trainer.entries
    assert entry.flaw
    assert entry.source
    assert (twin.flaw, twin.source) == ("", f"control: {entry.name} mended")
    assert twin.name == f"{entry.name}-mended"
    assert entry.claim == twin.claim


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
    drawn = draw_noise(5, scale, (4_000,))
    assert (drawn / GRID_STEP == np.rint(drawn / GRID_STEP)).all()
    assert stats.kstest(drawn, "norm", (0, scale)).pvalue > 1e-3
    for factor in (0.7, 1.3):
        assert stats.kstest(drawn, "norm", (0, scale * factor)).pvalue < 1e-6


@pytest.mark.parametrize("steps", [1, 4, 16])
def test_noise_of_a_plan_is_that_of_its_claim(steps):
    """The composition of all steps spends what is claimed, and at most a billionth less."""
    plan = calibrate_plan(16, steps, 2.0)
    mu = math.sqrt(steps) / plan.noise_multiplier

    def compute_delta(epsilon):
        return stats.norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * stats.norm.cdf(-mu / 2 - epsilon / mu)

    assert compute_delta(2.0) < 1e-5 < compute_delta(2.0 - 1e-7)


def test_a_step_releases_its_sum_with_noise():
    """What is released is the sum of the step plus noise from the seed."""
    plan = calibrate_plan(3, 2)
    stated, *steps = train_on_all([np.ones(2)] * 3, 8, plan=plan, sum_gradients=lambda rows: rows.sum(axis=0))
    assert stated == plan
    for step, drawn in zip(steps, draw_noise(8, plan.noise_multiplier, (2, 2)), strict=True):
        assert (step.clipped_sum == 3).all()
        assert (step.released == 3 + drawn).all()
        assert step.batch.tolist() == [0, 1, 2]


@pytest.mark.deep
@pytest.mark.parametrize("name", ["drawn-batch-size", "unclipped-remainder"])
def test_twins_are_seldom_refuted(trainer):
    """At 80 % confidence, where a fifth of correct trainers may be refuted, twins are refuted no more often."""
    seeds = 100
    given = {"claim": trainer.epsilon, "delta": trainer.delta, "noise": trainer.noise, "other": trainer.other}
    refuted = sum(
        dn.audit_training(
            trainer.mended, trainer.records, [trainer.canary], **given, runs=120, confidence=0.8, seed=seed
        ).status
        == "refuted"
        for seed in range(seeds)
    )
    assert refuted <= stats.binom.isf(1e-6, seeds, 0.2)
