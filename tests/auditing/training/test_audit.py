"""The one function for all audits of training: its methods, what it takes, and one run or a few with many canaries."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

import deniable as dn
from tests.auditing.training.trainers import CANARY, DELTA, RECORDS, make_trainer
from tests.refusals import refuses

deep = pytest.mark.deep
CANARIES = list(range(500))
HARDNESS = 20 * np.random.default_rng(0).standard_normal(100)


def compute_shift(epsilon):
    """Return the distance of two unit Gaussians whose privacy is this epsilon at delta."""
    return 1 / dn.Gaussian(epsilon=epsilon, delta=DELTA, domain=dn.L2Ball(0.5)).scale(1)


def score_all(records, _seed):
    """Show of each canary whether it is there."""
    return np.isin(range(40), records).astype(float)


def make_scores(mu, seed, levels=None):
    """Return training that adds Gaussian noise to whether each canary is there, beside a level of its own."""
    levels = np.zeros(len(CANARIES)) if levels is None else levels

    def train(records, run_seed):
        random = np.random.default_rng([seed, run_seed])
        return levels + mu * np.isin(range(len(levels)), records) + random.standard_normal(len(levels))

    return train


def test_the_method_follows_from_the_canaries():
    """One canary, many, or many with a number of runs."""
    verdict = dn.audit_training(make_trainer(1.0), RECORDS, [CANARY], claim=5.0, delta=1e-5, seed=1)
    assert verdict.method.startswith("1,000 training runs on two data sets")
    verdict = dn.audit_training(score_all, [], range(40), claim=0.1, guesses=20, seed=1)
    assert verdict.method.startswith("one training run with 40 canaries by fair coins, 20 of them guessed")
    assert verdict.status == "refuted"
    assert (verdict.witness.guesses, verdict.witness.correct_guesses, verdict.samples) == (20, 20, 40)
    verdict = dn.audit_training(score_all, [], range(40), claim=0.1, runs=3, seed=1)
    assert verdict.method.startswith("3 training runs with 120 canaries")


def test_the_claim_names_its_neighbours():
    """A record more or less, or one in the place of the other; pure without delta."""
    for options, adjacency in (
        ({"other": 0.0}, "one record replaced by another"),
        ({"other": 0.0, "other_is_empty": True}, "one record made empty"),
        ({"delta": 1e-3}, "one record added or removed"),
    ):
        verdict = dn.audit_training(make_trainer(), RECORDS, [CANARY], claim=1.0, runs=40, **options)
        assert verdict.guarantee.adjacency.startswith(adjacency)
        assert (verdict.guarantee.delta > 0) == ("delta" in options)


def audit_scores(epsilon, claim, seed, **options):
    """Return the verdict on scores with Gaussian noise of an epsilon, under a claim."""
    train = make_scores(compute_shift(epsilon), seed, options.pop("levels", None))
    canaries = options.pop("canaries", CANARIES)
    return dn.audit_training(train, [], canaries, claim=claim, delta=DELTA, seed=seed, **options)


@pytest.mark.parametrize(
    ("options", "audits"),
    [
        ({"noise": "gaussian"}, 20),
        pytest.param({"noise": "any"}, 60, marks=deep),
        pytest.param({"noise": "gaussian"}, 60, marks=deep),
        pytest.param({"noise": "gaussian", "runs": 4, "levels": HARDNESS, "canaries": range(100)}, 60, marks=deep),
    ],
)
def test_true_claims_stand_nineteen_times_in_twenty(options, audits):
    """Gaussian noise at its claim is refuted with probability 5 % at most, by one run and by some."""
    verdicts = [audit_scores(1.0, 1.0, seed, **options) for seed in range(audits)]
    alarms = sum(verdict.status == "refuted" for verdict in verdicts)
    assert stats.binom.sf(alarms - 1, len(verdicts), 0.05) > 1e-3
    assert max(verdict.lower_bound for verdict in verdicts) > 0


@pytest.mark.parametrize(("noise", "claim"), [("any", 0.5), ("gaussian", 1.0)])
def test_training_that_leaks_four_times_its_claim_is_refuted(noise, claim):
    """Noise of epsilon 4 is refuted at a claim of 0.5 by its epsilon alone, and at 1 as Gaussian noise."""
    verdict = audit_scores(4.0, claim, 1, noise=noise)
    assert verdict.status == "refuted"
    assert claim < verdict.lower_bound < 4
    assert verdict.witness.correct_guesses > 0.7 * verdict.witness.guesses
    assert claim < verdict.detectable_epsilon < 4


def test_levels_of_canaries_hide_nothing():
    """Training that leaks five times its claim is refuted, though canaries differ by far more than its noise."""
    verdict = audit_scores(5.0, 1.0, 1, noise="gaussian", runs=16, levels=HARDNESS, canaries=range(100))
    assert verdict.status == "refuted"
    assert (verdict.samples, verdict.witness.guesses) == (1_600, 320)


def test_training_gets_the_included_canaries_in_order():
    """About half of them after the records, others with another seed and in each run, the same with the same."""
    received = []

    def train(records, seed):
        received.append((records, seed))
        return np.zeros(len(CANARIES))

    for seed in (1, 1, 2, None):
        dn.audit_training(train, ["a record"], CANARIES, claim=1.0, seed=seed)
    assert received[0] == received[1] != received[2]
    dn.audit_training(train, ["a record"], CANARIES, claim=1.0, runs=5, seed=1)
    assert len({seed for _, seed in received[4:]}) == len({tuple(records) for records, _ in received[4:]}) == 5
    for included, _ in received:
        assert included.pop(0) == "a record"
        assert 180 < len(included) < 320
        assert included == sorted(included)


def test_records_and_canaries_are_copies():
    """Training may change what it gets, and its model too."""
    records, canaries = [[1.0], [2.0]], [[float(number)] for number in range(10)]

    def train(given, _seed):
        given[0][0] = 9.0
        return lambda scored: [canary.pop() for canary in scored]

    dn.audit_training(train, records, canaries, claim=1.0)
    assert records == [[1.0], [2.0]]
    assert canaries == [[float(number)] for number in range(10)]


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ({"train": 1}, "'train'"),
        ({"method": "two-runs"}, "'method'"),
        ({"canaries": []}, "none"),
        ({"canaries": "text"}, "'canaries'"),
        ({"records": {"a": 1}}, "'records'"),
        ({"records": 5}, "'records'"),
        ({"records": [(number for number in range(3))]}, "copied"),
        ({"claim": -1.0}, "'claim'"),
        ({"claim": math.nan}, "'claim'"),
        ({"claim": "1"}, "'claim'"),
        ({"delta": 1.0}, "'delta'"),
        ({"noise": "gaussian"}, "delta"),
        ({"noise": "laplace"}, "'laplace'"),
        ({"method": "one-run", "runs": 3}, "'runs'"),
        ({"runs": 1}, "'runs'"),
        ({"canaries": [1], "runs": 39}, "'runs'"),
        ({"method": "one-run", "other": 1}, "'other'"),
        ({"method": "worst-case", "guesses": 3}, "'guesses'"),
        ({"guesses": 41}, "'guesses'"),
        ({"other_is_empty": True}, "'other'"),
        ({"canaries": list(range(5))}, 5),
        ({"confidence": 1.0}, "'confidence'"),
        ({"seed": -1}, "'seed'"),
    ],
)
def test_refusals(change, value):
    """One line that names the value, before any training."""
    arguments = {"train": score_all, "records": [], "canaries": range(40), "claim": 1.0} | change
    with refuses(value):
        dn.audit_training(arguments.pop("train"), arguments.pop("records"), arguments.pop("canaries"), **arguments)


def fail(_records, _seed):
    """Raise in training."""
    raise KeyError("secret\nline")


def leave(_records, _seed):
    """End the program."""
    raise SystemExit(3)


def yield_then_fail(_records, _seed):
    """Raise at the second step."""
    yield np.zeros(1)
    raise ZeroDivisionError("division by zero")


def make_steps(*steps):
    """Return training that yields these."""
    return lambda _records, _seed: iter(steps)


def step(*arguments, **options):
    """Return training of one step that releases a number, with something wrong beside it."""
    return make_steps(dn.TrainingStep(np.zeros(1), *arguments, **options))


def by_turns(_records, seed):
    """Return a model in some runs only."""
    yield np.zeros(1)
    return [1.0] if seed % 2 else None


@pytest.mark.parametrize(
    ("train", "value"),
    [
        (fail, "KeyError"),
        (leave, "SystemExit: 3"),
        (yield_then_fail, "ZeroDivisionError"),
        (make_steps("text"), "<U4"),
        (make_steps([math.nan]), "finite"),
        (make_steps(np.ma.masked_array([1.0, 2.0], mask=[True, False])), "masked"),
        (make_steps(np.array([1j])), "complex128"),
        (make_steps([[1.0], [1.0, 2.0]]), "finite"),
        (make_steps([1e200]), "1e100"),
        (step([-1]), "from 0"),
        (step([0.5]), "float64"),
        (step([[1]]), "(1, 1)"),
        (step([[1], [1, 2]]), "batch"),
        (step(None, [math.inf]), "clipped sum"),
        (step(None, None, -1.0), "'noise'"),
        (step(None, None, 1.0, 0.0), "'clip'"),
        (step(None, None, 1.0, 1.0, "float8"), "'arithmetic'"),
        (by_turns, "some runs"),
    ],
)
def test_what_is_refused_of_training(train, value):
    """One line each."""
    with refuses(value):
        dn.audit_training(train, [1], [2], claim=1.0, runs=40)


@pytest.mark.parametrize(
    ("result", "value"),
    [
        (None, "nothing"),
        (lambda _canaries: 1 / 0, "ZeroDivisionError"),
        ([1.0], "(1,)"),
        (np.ma.masked_array(np.ones(10), mask=[True] + [False] * 9), "masked"),
        (torch.zeros(10, requires_grad=True), "requires grad"),
        ([10**400] * 10, "object"),
        ([[0.0], [0.0, 0.0]] * 5, "inhomogeneous"),
        ([1j] * 10, "complex128"),
        (lambda _canaries: ["a"] * 10, "<U1"),
        (lambda _canaries: [math.inf] * 10, "finite"),
    ],
)
def test_what_is_refused_of_scores(result, value):
    """One line each."""
    with refuses(value):
        dn.audit_training(lambda _records, _seed: result, [], range(10), claim=1.0)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"sampling": "random"}, "sampling"),
        ({"records": 0}, "records"),
        ({"batch_size": 11}, "batch_size"),
        ({"batch_size": 0}, "batch_size"),
        ({"steps": 0}, "steps"),
        ({"noise_multiplier": 0.0}, "noise_multiplier"),
        ({"clip": math.inf}, "clip"),
    ],
)
def test_what_is_refused_of_a_plan(change, name):
    """The parameter is named."""
    names = ("sampling", "records", "batch_size", "steps", "noise_multiplier", "clip")
    numbers = dict(zip(names, ("poisson", 10, 2, 3, 1.0, 1.0), strict=True))
    assert dn.TrainingPlan(**numbers).rate == 0.2
    with refuses(f"'{name}'"):
        dn.TrainingPlan(**numbers | change)
