"""What is said of training without statistics."""

import json

import numpy as np
import pytest

from deniable.auditing.training.accounting import recompute_epsilon
from deniable.auditing.training.facts import classify_batches, collect_training_facts
from deniable.auditing.training.observation import TrainingPlan, TrainingStep
from deniable.core.guarantees import REPLACED_RECORD, ApproxDP
from tests.auditing.training.trainers import CANARY, DELTA, RECORDS, make_claim, make_trainer


def test_true_training_has_true_facts():
    """Coins, sizes, noise, one record's movement and epsilon are what the plan says."""
    claim = make_claim(1.5, rate=0.3, steps=60)
    facts = collect_training_facts(make_trainer(1.5, rate=0.3, steps=60), RECORDS, CANARY, claim, seed=1)
    assert facts.scheme == facts.plan.sampling == "poisson"
    assert facts.noise_multiplier == pytest.approx(1.5)
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
    assert facts.scheme == "shuffled"
    assert facts.stated.upper < 3 < facts.seen.lower
    assert facts.movement.ratio == pytest.approx(1.0)  # 2 C for a record that is replaced
    removed = collect_training_facts(shuffle, [0.0] * 199, CANARY, make_claim(1.0), seed=1)
    assert removed.movement is None
    assert "give a record in the place of the canary" in removed.movement_note
    assert removed.verdicts["the accounting"].status == "refuted"


def test_schemes_that_batches_show():
    """Coins, epochs, subsets of one size, everything, and what is none of them."""
    random = np.random.default_rng(1)
    coins = [np.flatnonzero(random.random(500) < 0.1) for _ in range(60)]
    assert classify_batches(coins, 500)[0] == "poisson"
    assert classify_batches([random.choice(500, 50, replace=False) for _ in range(60)], 500)[0] == "fixed size"
    epochs = [part for _ in range(3) for part in np.split(random.permutation(500), 10)]
    assert classify_batches(epochs, 500)[0] == "shuffled"
    short = [part for _ in range(3) for part in np.array_split(random.permutation(500), range(45, 500, 45))]
    assert classify_batches(short, 500)[0] == "shuffled"
    dropped = [part for part in short if len(part) == 45]
    assert classify_batches(dropped, 500)[0] == "shuffled"
    assert classify_batches([np.arange(500)] * 3, 500)[0] == "all"
    scheme, note = classify_batches([np.array([1, 1, 1, 2])] * 5, 500)
    assert scheme is None
    assert "up to 3 times in one batch, in 5 of 5 steps" in note
    assert classify_batches([np.arange(size) for size in [10, 300] * 20], 500)[0] is None
    assert classify_batches([None, np.arange(3)], 500) == (None, "the run does not show its batches")
    assert classify_batches([], 500)[0] is None
    assert classify_batches([np.empty(0, dtype=int)] * 4, 500)[0] == "fixed size"


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
        yield TrainingStep(np.zeros(1), None, np.zeros(len(records)), 1.0)

    facts = collect_training_facts(train, RECORDS, CANARY, make_claim(1.0), seed=1)
    assert facts.movement_note == "not measured: the sums have 21 and 20 numbers"

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
    assert content["verdicts of facts"] == {"the sum of a step": "refuted", "the accounting": "not refuted"}
    assert content["what the run says"]["clipping norm"] == 1.0


def test_a_short_last_batch_of_an_epoch():
    """An epoch of two whole batches and a short one is a shuffled epoch, and no Poisson samples."""
    order = np.random.default_rng(3).permutation(9)
    assert classify_batches([order[:4], order[4:8], order[8:]], 9)[0] == "shuffled"
    assert classify_batches([order[:4], order[4:8], order[7:]], 9)[0] != "shuffled"


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
    assert any("too little to tell" in found.scheme_note for found in facts)
    assert not any(found.is_refuted for found in facts)
