"""What is said of training without statistics."""

import json

import numpy as np
import pytest

from deniable.auditing.training.accounting import recompute_epsilon
from deniable.auditing.training.batches import CHANCE
from deniable.auditing.training.facts import collect_training_facts
from deniable.auditing.training.observation import TrainingPlan, TrainingStep
from deniable.core.guarantees import REPLACED_RECORD, ApproxDP
from tests.auditing.training.trainers import CANARY, DELTA, RECORDS, make_claim, make_trainer


def test_true_training_has_true_facts():
    """Coins, sizes, noise, one record's movement and epsilon are what the plan says."""
    claim = make_claim(1.5, rate=0.3, steps=60)
    facts = collect_training_facts(make_trainer(1.5, rate=0.3, steps=60), RECORDS, CANARY, claim, seed=1)
    assert facts.shown.scheme == facts.plan.sampling == "poisson"
    assert facts.multipliers == pytest.approx([1.5] * 60)
    assert facts.movement.ratio == pytest.approx(1.0)
    assert facts.movement.copies == 1
    assert facts.seen is None
    assert facts.stated.upper == pytest.approx(claim.epsilon)
    assert not facts.is_refuted
    assert {name: verdict.status for name, verdict in facts.verdicts.items()} == {
        "the sum of a step": "not refuted",
        "the accounting": "not refuted",
    }


@pytest.mark.parametrize(
    ("options", "name", "ratio"),
    [
        ({"clip": 1.2}, "the sum of a step", 1.2),
        ({"copies": 3}, "the sum of a step", 3.0),
        ({"noise": 0.9}, "the accounting", 1.0),
    ],
)
def test_each_flaw_is_a_proof(options, name, ratio):
    """A clip that is 20 % too large, a record that counts three times, noise that is 10 % too small."""
    facts = collect_training_facts(make_trainer(1.0, **options), RECORDS, CANARY, make_claim(1.0), seed=1)
    assert facts.movement.ratio == pytest.approx(ratio)
    assert [other for other, verdict in facts.verdicts.items() if verdict.status == "refuted"] == [name]
    verdict = facts.verdicts[name]
    assert verdict.lower_bound > verdict.claim
    assert (verdict.samples, verdict.confidence) == (0, 1.0)


def test_a_record_that_acts_through_others():
    """A normaliser taken from the data moves the terms of all records, whose batch is the same."""

    def train(records, seed):
        yield TrainingPlan("all", 21, 21, 1, 1.0, 1.0)
        values = np.array(records) - np.mean(records)
        total = np.array([np.clip(values, -1, 1).sum()])
        yield TrainingStep(total + np.random.default_rng(seed).standard_normal(1), np.arange(len(records)), total, 1.0)

    facts = collect_training_facts(train, [0.0] * 20, 100.0, make_claim(1.0), seed=1)
    assert facts.movement.ratio > 10
    assert facts.is_refuted


def shuffle(records, seed, *, sampling="poisson", size=2, epochs=3):
    """Train on shuffled batches, and say that each record has a coin of its own."""
    random = np.random.default_rng(seed)
    yield TrainingPlan(sampling, len(records), size, epochs * len(records) // size, 1.0, 1.0)
    for _ in range(epochs):
        order = random.permutation(len(records))
        for start in range(0, len(records), size):
            batch = order[start : start + size]
            total = np.array([np.clip(np.array(records)[batch], -1, 1).sum()])
            yield TrainingStep(total + random.standard_normal(1), batch, total, 1.0)


def test_shuffled_batches_are_recomputed_as_what_they_are():
    """The scheme that is seen, not the one stated, decides epsilon; neighbours must have one size."""
    claim = ApproxDP(8.0, DELTA, "a claim", adjacency=REPLACED_RECORD)
    facts = collect_training_facts(shuffle, [0.0] * 199, CANARY, claim, other=-CANARY, seed=1)
    assert facts.shown.scheme == "shuffled"
    assert facts.stated.upper < 3 < facts.seen.lower
    assert facts.movement.ratio == pytest.approx(1.0)  # 2 C for a record that is replaced
    removed = collect_training_facts(shuffle, [0.0] * 199, CANARY, make_claim(1.0), seed=1)
    assert removed.movement is None
    assert "give a record in the place of the canary" in removed.movement_note
    assert removed.verdicts["the accounting"].status == "refuted"


def test_what_is_not_shown_is_not_judged():
    """A run that yields plain arrays has no facts but the number of its steps."""

    def train(_records, _seed):
        yield np.zeros(1)

    facts = collect_training_facts(train, RECORDS, CANARY, make_claim(), seed=1)
    assert (facts.verdicts, facts.movement, facts.plan, facts.steps) == ({}, None, None, 1)
    text = facts.to_report().to_text()
    assert "the run yields no TrainingPlan" in text

    def train_without_sums(_records, _seed):
        yield TrainingPlan("all", 21, 21, 1, 1.0, 1.0)
        yield TrainingStep(np.zeros(1))

    facts = collect_training_facts(train_without_sums, RECORDS, CANARY, make_claim(1.0), seed=1)
    assert facts.movement_note == "not measured: the run does not show its sums before the noise"
    assert list(facts.verdicts) == ["the accounting"]


def test_sums_that_cannot_be_compared():
    """Of other lengths, or without the canary: the note says so."""

    def train(records, _seed):
        yield TrainingPlan("all", 21, 21, 1, 1.0, 1.0)
        yield TrainingStep(np.zeros(1), np.arange(len(records)) if shows_batches else None, np.zeros(len(records)), 1.0)

    shows_batches = True
    facts = collect_training_facts(train, RECORDS, CANARY, make_claim(1.0), seed=1)
    assert facts.movement_note == "not measured: the sums have 21 and 20 numbers"
    shows_batches = False
    facts = collect_training_facts(train, RECORDS, CANARY, make_claim(1.0), seed=1)
    assert facts.movement_note == "not measured: the run does not show its batches"

    def train_without_canary(_records, _seed):
        yield TrainingPlan("poisson", 21, 1, 1, 1.0, 1.0)
        yield TrainingStep(np.zeros(1), np.array([0]), np.zeros(1), 1.0)

    facts = collect_training_facts(train_without_canary, RECORDS, CANARY, make_claim(1.0), seed=1)
    assert facts.movement_note == "not measured: the canary was in no batch"


def test_the_report():
    """Text for people, and JSON."""
    facts = collect_training_facts(make_trainer(1.0, copies=3), RECORDS, CANARY, make_claim(1.0), seed=1)
    text = facts.to_report().to_text()
    assert "one record moves the sum by  3 times what is allowed" in text
    assert "where the canary counts 3 times" in text
    assert "a record counts up to 3 times in one batch" in text
    content = json.loads(facts.to_report().to_json())
    assert content["verdicts of facts"] == {"the sum of a step": "refuted", "the accounting": "undecided"}
    assert content["what the run says"]["clipping norm"] == 1.0


@pytest.mark.parametrize(("rate", "seeds"), [(0.5, 30), (1.0, 1)])
def test_coins_of_few_records_are_coins(rate, seeds):
    """Two records, drawn twice by fair coins, are both in both batches once in sixteen runs: that refutes nothing."""
    plan = TrainingPlan("poisson", 2, 2 * rate, 2, 1.0, 1.0)
    claim = ApproxDP(recompute_epsilon(plan, 0.01).upper, 0.01, "a claim", "claimed")

    def train(records, seed):
        random = np.random.default_rng(seed)
        yield plan
        for _ in range(2):
            batch = np.flatnonzero(random.random(2) < rate)
            total = np.array([sum(records[place] for place in batch)], dtype=float)
            yield TrainingStep(total + random.standard_normal(1), batch, total, 1.0)

    facts = [collect_training_facts(train, [0.0], 1.0, claim, other=0.0, seed=seed) for seed in range(seeds)]
    assert any("too little to tell" in found.shown.note for found in facts)
    assert not any(found.is_refuted for found in facts)


def collect(train, claim=None, **options):
    """Return the facts of a training of one number, with a canary of the other sign than the records."""
    return collect_training_facts(train, RECORDS, CANARY, claim or make_claim(1.0), **{"seed": 1} | options)


def test_batches_that_are_not_shown_are_not_compared():
    """With another number of records a seed draws other batches: their sums say nothing."""

    def train(records, seed):
        random = np.random.default_rng(seed)
        yield TrainingPlan("shuffled", len(records), 5, 4, 4.0, 1.0)
        for batch in np.array_split(random.permutation(len(records)), 4):
            total = np.array([np.clip(np.array(records)[batch] + batch, -1, 1).sum()])
            yield TrainingStep(total + random.standard_normal(1), None, total, 4.0)

    facts = collect(train)
    assert facts.movement is None
    assert "the sum of a step" not in facts.verdicts


def test_noise_or_parameters_that_no_seed_decides():
    """Where the canary comes after a step that differs, nothing is measured; at the first step its sum still is."""
    entropy = np.random.default_rng(5)

    def train(records, _seed, first=0, start=0.0):
        yield TrainingPlan("all", 21, 21, 2, 1.0, 1.0)
        for number in range(2):
            batch = np.arange(len(records) if number >= first else 20)
            total = np.array([np.clip(np.array(records)[batch], -1, 1).sum() + start])
            start += entropy.standard_normal()
            yield TrainingStep(total + entropy.standard_normal(1), batch, total, 1.0)

    assert collect(train).movement.ratio == pytest.approx(1.0)
    late = collect(lambda records, seed: train(records, seed, first=1))
    assert late.movement is None
    assert "let the seed decide all randomness" in late.movement_note
    unseeded = collect(lambda records, seed: train(records, seed, start=entropy.standard_normal()))
    assert unseeded.movement_note.startswith("not measured: two runs on the same data with one seed have other sums")


def test_a_canary_that_moves_nothing_is_measured_where_it_is():
    """And not at a later step, whose parameters differ because of it."""

    def train(records, seed):
        yield TrainingPlan("all", 21, 21, 2, 1.0, 1.0)
        random, weight = np.random.default_rng(seed), 0.0
        for _ in range(2):
            tiny = 1e-9 * sum(records)
            total = np.array([tiny + (7.0 if weight > 1e-10 else 0.0)])
            weight += tiny
            yield TrainingStep(total + random.standard_normal(1), np.arange(len(records)), total, 1.0)

    facts = collect(train, make_claim(1.0, steps=2))
    assert (facts.movement.step, facts.is_refuted) == (0, False)


def test_noise_and_clips_that_differ_between_steps():
    """They are not all counted as the least of them; noise of nothing is."""

    def train(records, seed, noises=(20.0, 2.0), clips=(None, None)):
        random = np.random.default_rng(seed)
        yield TrainingPlan("all", 21, 21, 2, 2.8143, 1.0)
        for noise, clip in zip(noises, clips, strict=True):
            total = np.array([np.clip(np.array(records), -(clip or 1), clip or 1).sum()])
            yield TrainingStep(total + noise * random.standard_normal(1), np.arange(len(records)), total, noise, clip)

    claim = ApproxDP(2.01, DELTA, "a claim")
    facts = collect(train, claim)
    assert (facts.seen.upper, facts.is_refuted) == (pytest.approx(2.0042, abs=1e-4), False)
    assert "up to 20" in facts.to_report().to_text()
    facts = collect(lambda records, seed: train(records, seed, (2.8143, 0.28143), (1.0, 0.1)), claim)
    assert facts.multipliers == pytest.approx([2.8143, 2.8143])
    assert not facts.is_refuted
    facts = collect(lambda records, seed: train(records, seed, (5.0, 0.0)), claim)
    assert facts.verdicts["the accounting"].status == "refuted"


def test_a_rate_that_is_not_the_one_stated():
    """The rate that batches show decides epsilon."""

    def train(records, seed):
        random = np.random.default_rng(seed)
        yield TrainingPlan("poisson", 201, 2.01, 100, 1.0, 1.0)
        for _ in range(100):
            batch = np.flatnonzero(random.random(201)[: len(records)] < 0.5)
            total = np.array([np.clip(np.array(records)[batch], -1, 1).sum()])
            yield TrainingStep(total + random.standard_normal(1), batch, total, 1.0)

    facts = collect_training_facts(train, [0.0] * 200, CANARY, ApproxDP(0.72, DELTA, "a claim"), seed=1)
    assert facts.stated.upper < 0.72
    assert 20 < facts.seen.lower < 39.97 < facts.seen.upper
    assert facts.verdicts["the accounting"].status == "refuted"
    assert facts.verdicts["the accounting"].confidence == 1 - CHANCE


def test_epochs_are_those_that_were_seen():
    """Batches of one record make one epoch of 201 steps, whatever batch size the plan states."""

    def train(records, seed):
        random = np.random.default_rng(seed)
        yield TrainingPlan("poisson", 201, 100.5, 201, 5.0, 1.0)
        for place in random.permutation(201):
            total = np.array([np.clip(records[place], -1, 1)])
            yield TrainingStep(total + random.standard_normal(1), np.array([place]), total, 5.0)

    claim = ApproxDP(3.0, DELTA, "a claim", adjacency=REPLACED_RECORD)
    facts = collect_training_facts(train, [0.0] * 200, CANARY, claim, other=-CANARY, seed=1)
    assert facts.shown.per_epoch == 201
    assert facts.seen.upper < 3.0
    assert not facts.is_refuted


def test_a_claim_for_a_replaced_record_is_accounted_for_as_that():
    """The sum moves by twice as much: Gaussian noise of 2 spends 4.38, and not 1.99."""
    claim = ApproxDP(1.9931, DELTA, "a claim", adjacency=REPLACED_RECORD)
    facts = collect(make_trainer(2.0), claim, other=-CANARY)
    assert facts.stated.lower == pytest.approx(4.3772, abs=1e-3)
    assert facts.verdicts["the accounting"].status == "refuted"


def test_training_that_changes_its_records():
    """Each run gets records of its own."""

    def train(records, seed):
        yield TrainingPlan("all", 21, 21, 1, 1.0, 1.0)
        for record in records:
            record[:] = record / 255
        total = np.array([np.clip(np.array(records), -1, 1).sum()])
        yield TrainingStep(total + np.random.default_rng(seed).standard_normal(1), np.arange(len(records)), total, 1.0)

    records = [np.array([255.0])] * 20
    facts = collect_training_facts(train, records, np.array([255.0]), make_claim(1.0), seed=1)
    assert facts.movement.ratio == pytest.approx(1.0)
    assert records[0] == 255


@pytest.mark.parametrize("count", [2_000, 10_000])
def test_correct_sums_in_float32_are_never_refuted(count):
    """Records of one class, all of them at every step, clipped one by one: rounding alone moves the sum too far."""

    def train(records, seed, clip=1.0):
        gradients = np.tile(np.float32([0.3, -0.4, 0.5, 0.1]), (len(records), 1)) * np.float32(records)[:, None]
        gradients *= np.minimum(1, np.float32(clip) / np.linalg.norm(gradients, axis=1, keepdims=True))
        total = np.cumsum(gradients, axis=0, dtype=np.float32)[-1]
        yield TrainingPlan("all", len(records), len(records), 1, 2.0, 1.0)
        noise = 2 * np.random.default_rng(seed).standard_normal(4)
        yield TrainingStep(total + noise, np.arange(len(records)), total, 2.0)

    facts = collect_training_facts(train, [7.0] * (count - 1), 7.0, make_claim(2.0), seed=1)
    verdict = facts.verdicts["the sum of a step"]
    assert (verdict.status, facts.is_refuted) == ("undecided", False)
    assert verdict.lower_bound <= verdict.claim
    assert "without rounding; add the sum up in float64" in verdict.method
    few = collect_training_facts(lambda *given: train(*given, clip=1.05), [7.0] * 50, 7.0, make_claim(2.0), seed=1)
    assert few.verdicts["the sum of a step"].status == "refuted"
