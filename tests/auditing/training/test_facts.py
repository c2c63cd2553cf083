"""What is said of training without statistics."""

import dataclasses
import json

import numpy as np
import pytest

import deniable as dn
from tests.auditing.training.trainers import CANARY, CLAIM, collect, make_claim, make_trainer


def claim_epsilon(epsilon):
    """Return a claim of another epsilon."""
    return dataclasses.replace(CLAIM, epsilon=epsilon)


def run_step(total, seed, batch, noise=1.0, **options):
    """Return a step that adds normal noise to a sum of clipped records."""
    random = seed if isinstance(seed, np.random.Generator) else np.random.default_rng(seed)
    total = np.array([total], dtype=float)
    return dn.TrainingStep(total + noise * random.standard_normal(1), batch, total, noise, **options)


def clip_sum(records, batch=slice(None), clip=1.0):
    """Return the sum of some records, each clipped."""
    return np.clip(np.array(records, dtype=float)[batch], -clip, clip).sum()


def plan(sampling="all", records=21, batch_size=21, steps=1, noise=1.0):
    """Return a plan with clipping norm 1."""
    return dn.TrainingPlan(sampling, records, batch_size, steps, noise, 1.0)


def test_true_training_has_true_facts():
    """Coins, sizes, noise, one record's movement and epsilon are what the plan says."""
    claim = make_claim(3.0, rate=0.3, steps=60)
    facts = collect(make_trainer(3.0, rate=0.3, steps=60), claim)
    assert facts.shown.scheme == facts.plan.sampling == "poisson"
    assert facts.multipliers == pytest.approx([3.0] * 60)
    assert facts.movement.ratio == pytest.approx(1.0)
    assert facts.seen is None
    assert facts.stated.upper == pytest.approx(claim.epsilon)
    assert not facts.is_refuted
    statuses = {name: verdict.status for name, verdict in facts.verdicts.items()}
    assert statuses == dict.fromkeys(("the sum of a step", "the accounting"), "not refuted")


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
    facts = collect(make_trainer(1.0, **options))
    assert facts.movement.ratio == pytest.approx(ratio)
    assert [other for other, verdict in facts.verdicts.items() if verdict.status == "refuted"] == [name]
    verdict = facts.verdicts[name]
    assert verdict.lower_bound > verdict.claim
    assert (verdict.samples, verdict.confidence) == (0, 1.0)
    assert facts.is_refuted
    told = json.loads(facts.to_report().to_json())
    assert told["verdicts of facts"][name] == "refuted"
    assert told["what the run says"]["clipping norm"] == 1.0


def shuffle(records, seed, *, size=2, epochs=3):
    """Train on shuffled batches, and say that each record has a coin of its own."""
    random = np.random.default_rng(seed)
    yield plan("poisson", len(records), size, epochs * len(records) // size)
    for _ in range(epochs):
        order = random.permutation(len(records))
        for start in range(0, len(records), size):
            batch = order[start : start + size]
            yield run_step(clip_sum(records, batch), random, batch)


def test_shuffled_batches_are_recomputed_as_what_they_are():
    """The scheme that is seen, not the one stated, decides epsilon; neighbours must have one size."""
    facts = collect(shuffle, claim_epsilon(8.0), [0.0] * 199, other=-CANARY)
    assert facts.shown.scheme == "shuffled"
    assert facts.stated.upper < 3 < facts.seen.lower
    assert facts.movement.ratio == pytest.approx(1.0)  # 2 C for a record that is replaced
    removed = collect(shuffle, make_claim(1.0), [0.0] * 199)
    assert removed.movement is None
    assert removed.verdicts["the accounting"].status == "refuted"


def test_what_is_not_shown_is_not_judged():
    """A run that yields plain arrays has no facts but the number of its steps; one without sums has no movement."""
    facts = collect(lambda _records, _seed: iter([np.zeros(1)]))
    assert (facts.verdicts, facts.movement, facts.plan, facts.steps) == ({}, None, None, 1)
    assert "plan" in facts.to_report().to_text()
    facts = collect(lambda _records, _seed: iter([plan(), dn.TrainingStep(np.zeros(1))]))
    assert facts.movement is None
    assert list(facts.verdicts) == ["the accounting"]


@pytest.mark.parametrize(("rate", "seeds"), [(0.5, 6), (1.0, 1)])
def test_coins_of_few_records_are_coins(rate, seeds):
    """Two records, drawn twice by fair coins, are both in both batches once in sixteen runs: that refutes nothing."""

    def train(records, seed):
        random = np.random.default_rng(seed)
        yield plan("poisson", 2, 2 * rate, 2, 4.0)
        for _ in range(2):
            batch = np.flatnonzero(random.random(2) < rate)
            yield run_step(sum(records[place] for place in batch), random, batch, 4.0)

    def look(claim, seed):
        return collect(train, claim, [0.0], 1.0, other=0.0, other_is_empty=True, seed=seed)

    claim = dn.Guarantee(look(dn.Guarantee(1.0, "", delta=0.01), 0).stated.upper, "a claim", "claimed", delta=0.01)
    facts = [look(claim, seed) for seed in range(seeds)]
    assert any(found.shown.scheme is None for found in facts)
    assert not any(found.is_refuted for found in facts)


def test_batches_that_are_not_shown_are_not_compared():
    """With another number of records a seed draws other batches: their sums say nothing."""

    def train(records, seed):
        random = np.random.default_rng(seed)
        yield plan("shuffled", len(records), 5, 4, 4.0)
        for batch in np.array_split(random.permutation(len(records)), 4):
            yield run_step(np.clip(np.array(records)[batch] + batch, -1, 1).sum(), random, None, 4.0)

    facts = collect(train)
    assert facts.movement is None
    assert "the sum of a step" not in facts.verdicts


def test_noise_or_parameters_that_no_seed_decides():
    """Where the canary comes after a step that differs, nothing is measured; at the first step its sum still is."""
    entropy = np.random.default_rng(5)

    def train(records, _seed, first=0, start=0.0):
        yield plan(steps=2, noise=4.0)
        for number in range(2):
            batch = np.arange(len(records) if number >= first else 20)
            total = clip_sum(records, batch) + start
            start += entropy.standard_normal()
            yield run_step(total, entropy, batch, 4.0)

    assert collect(train).movement.ratio == pytest.approx(1.0)
    assert collect(lambda records, seed: train(records, seed, first=1)).movement is None
    assert collect(lambda records, seed: train(records, seed, start=entropy.standard_normal())).movement is None


def test_a_canary_that_moves_nothing_is_measured_where_it_is():
    """And not at a later step, whose parameters differ because of it."""

    def train(records, seed):
        yield plan(steps=2)
        random, weight = np.random.default_rng(seed), 0.0
        for _ in range(2):
            tiny = 1e-9 * sum(records)
            weight, total = weight + tiny, tiny + (7.0 if weight > 1e-10 else 0.0)
            yield run_step(total, random, np.arange(len(records)))

    facts = collect(train, make_claim(1.0, steps=2))
    assert (facts.movement.step, facts.is_refuted) == (0, False)


def test_noise_and_clips_that_differ_between_steps():
    """They are not all counted as the least of them; noise of nothing is."""

    def make(noises=(20.0, 2.0), clips=(None, None)):
        def train(records, seed):
            random = np.random.default_rng(seed)
            yield plan(steps=2, noise=2.8143)
            for noise, clip in zip(noises, clips, strict=True):
                yield run_step(clip_sum(records, clip=clip or 1), random, np.arange(len(records)), noise, clip=clip)

        return train

    claim = claim_epsilon(2.01)
    facts = collect(make(), claim)
    assert (facts.seen.upper, facts.is_refuted) == (pytest.approx(2.0042, abs=1e-4), False)
    facts = collect(make((2.8143, 0.28143), (1.0, 0.1)), claim)
    assert facts.multipliers == pytest.approx([2.8143, 2.8143])
    assert not facts.is_refuted
    assert collect(make((5.0, 0.0)), claim).verdicts["the accounting"].status == "refuted"


def test_a_rate_that_is_not_the_one_stated():
    """The rate that batches show decides epsilon."""

    def train(records, seed):
        random = np.random.default_rng(seed)
        yield plan("poisson", 201, 2.01, 100, 4.0)
        for _ in range(100):
            batch = np.flatnonzero(random.random(201)[: len(records)] < 0.5)
            yield run_step(clip_sum(records, batch), random, batch, 4.0)

    facts = collect(train, claim_epsilon(0.72), [0.0] * 200)
    assert facts.stated.upper < 0.1
    assert 4 < facts.seen.lower < 5.866 < facts.seen.upper
    assert facts.verdicts["the accounting"].status == "refuted"
    assert 0.99 < facts.verdicts["the accounting"].confidence < 1  # statistics of coins, and no proof


def test_epochs_are_those_that_were_seen():
    """Batches of one record make one epoch of 201 steps, whatever batch size the plan states."""

    def train(records, seed):
        random = np.random.default_rng(seed)
        yield plan("poisson", 201, 100.5, 201, 5.0)
        for place in random.permutation(201):
            yield run_step(clip_sum(records, [place]), random, np.array([place]), 5.0)

    facts = collect(train, claim_epsilon(3.0), [0.0] * 200, other=-CANARY)
    assert facts.shown.per_epoch == 201
    assert facts.seen.upper < 3.0
    assert not facts.is_refuted


def test_a_claim_for_a_replaced_record_is_accounted_for_as_that():
    """The sum moves by twice as much: Gaussian noise of 2 spends 4.38, and not 1.99."""
    facts = collect(make_trainer(2.0), claim_epsilon(1.9931), other=-CANARY)
    assert facts.stated.lower == pytest.approx(4.3772, abs=1e-3)
    assert facts.verdicts["the accounting"].status == "refuted"


@pytest.mark.parametrize("count", [2_000, pytest.param(10_000, marks=pytest.mark.deep)])
def test_correct_sums_in_float32_are_never_refuted(count):
    """Records of one class, all of them at every step, clipped one by one: rounding alone moves the sum too far."""

    def train(records, seed, clip=1.0):
        gradients = np.tile(np.float32([0.3, -0.4, 0.5, 0.1]), (len(records), 1)) * np.float32(records)[:, None]
        gradients *= np.minimum(1, np.float32(clip) / np.linalg.norm(gradients, axis=1, keepdims=True))
        total = np.cumsum(gradients, axis=0, dtype=np.float32)[-1]
        yield plan("all", len(records), len(records), 1, 2.0)
        noise = 2 * np.random.default_rng(seed).standard_normal(4)
        yield dn.TrainingStep(total + noise, np.arange(len(records)), total, 2.0)

    facts = collect(train, make_claim(2.0), [7.0] * (count - 1), 7.0)
    verdict = facts.verdicts["the sum of a step"]
    assert (verdict.status, facts.is_refuted) == ("undecided", False)
    assert verdict.lower_bound <= verdict.claim
    few = collect(lambda *given: train(*given, clip=1.05), make_claim(2.0), [7.0] * 50, 7.0)
    assert few.verdicts["the sum of a step"].status == "refuted"
