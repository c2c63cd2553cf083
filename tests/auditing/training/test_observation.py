"""What is taken from a training, and what is refused of it."""

import math

import numpy as np
import pytest
import torch

import deniable as dn
from deniable.auditing.training.observation import TrainingPlan, TrainingStep, observe_training


def test_a_model_or_scores():
    """A function from records to scores, or the scores themselves; of one canary also a number."""
    run = observe_training(lambda records, seed: lambda canaries: [len(records) + seed] * len(canaries), "ab", 5)
    assert run.score(["x", "y"]).tolist() == [7.0, 7.0]
    assert observe_training(lambda _records, _seed: [1, 2], [], 0).score("xy").tolist() == [1.0, 2.0]
    assert observe_training(lambda _records, _seed: np.float32(3), [], 0).score("x").tolist() == [3.0]
    assert run.steps == ()


def test_steps_and_a_model_at_the_end():
    """Arrays and steps in order, the plan apart; lists become arrays."""
    plan = TrainingPlan("all", 2, 2, 2, 1.0, 1.0)

    def train(_records, _seed):
        yield plan
        yield [1, 2]
        yield TrainingStep(np.zeros((2, 2), dtype=np.float32), [1, 0, 1], [[3.0], [4.0]], 2)
        return lambda canaries: [0.5 for _ in canaries]

    run = observe_training(train, [1, 2], 0)
    assert run.plan == plan
    assert run.steps[0].released.tolist() == [1.0, 2.0]
    assert run.steps[1].batch.tolist() == [1, 0, 1]
    assert run.steps[1].clipped_sum.tolist() == [3.0, 4.0]
    assert run.score([1]).tolist() == [0.5]


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


async def train_later(_records, _seed):
    """Return something to wait for."""


async def yield_later(_records, _seed):
    """Yield something to wait for."""
    yield np.zeros(1)


def make_steps(*steps):
    """Return training that yields these."""

    def train(_records, _seed):
        yield from steps

    return train


@pytest.mark.parametrize(
    ("train", "message"),
    [
        (fail, r"train\(records, seed\) raised .*KeyError: .*secret.*: run it alone to mend it"),
        (leave, r"raised .*SystemExit: 3"),
        (yield_then_fail, r"train\(records, seed\) raised .*ZeroDivisionError: division by zero"),
        (
            make_steps("text"),
            r"What a step releases must be an array of finite numbers below 1e100\. Got <U4 of shape \(\)",
        ),
        (make_steps([math.nan]), "array of finite numbers"),
        (
            make_steps(np.ma.masked_array([1.0, 2.0], mask=[True, False])),
            "array of finite numbers .* Got masked float64",
        ),
        (make_steps(np.array([1j])), "array of finite numbers .* Got complex128"),
        (make_steps([[1.0], [1.0, 2.0]]), "array of finite numbers"),
        (make_steps(TrainingStep(np.zeros(1), [-1])), r"numbers \(b,\) of its records, from 0"),
        (make_steps(TrainingStep(np.zeros(1), [0.5])), r"numbers \(b,\) of its records, from 0. Got float64"),
        (make_steps(TrainingStep(np.zeros(1), [[1]])), r"shape \(1, 1\)"),
        (make_steps(TrainingStep(np.zeros(1), None, [math.inf])), "The clipped sum must be an array"),
        (make_steps(TrainingStep(np.zeros(1), None, None, -1.0)), "'noise'"),
        (make_steps(TrainingStep(np.zeros(1), None, None, 1.0, 0.0)), "'clip'"),
        (make_steps(TrainingStep(np.zeros(1), [[1], [1, 2]])), r"numbers \(b,\) of its records"),
        (make_steps([1e200]), "finite numbers below 1e100"),
        (train_later, "is asynchronous"),
        (yield_later, "is asynchronous"),
    ],
)
def test_what_is_refused_of_training(train, message):
    """One line each."""
    with pytest.raises(dn.InputError, match=message) as raised:
        observe_training(train, [1], 0)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (None, "returned nothing to score canaries by"),
        (lambda _canaries: 1 / 0, "The model that train returned raised .*ZeroDivisionError"),
        ([1.0], "2 finite numbers"),
        (np.ma.masked_array([1.0, 2.0], mask=[True, False]), "of which some are masked"),
        (torch.zeros(2, requires_grad=True), "requires grad"),
        ([10**400, 1], "2 finite numbers"),
        (lambda _canaries: ["a", "b"], "2 finite numbers"),
        (lambda _canaries: [0.0, math.inf], "NaN or infinity"),
    ],
)
def test_what_is_refused_of_scores(result, message):
    """One line each."""
    run = observe_training(lambda _records, _seed: result, [], 0)
    with pytest.raises(dn.InputError, match=message):
        run.score(["x", "y"])


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
    numbers = {
        "sampling": "poisson",
        "records": 10,
        "batch_size": 2,
        "steps": 3,
        "noise_multiplier": 1.0,
        "clip": 1.0,
    }
    assert TrainingPlan(**numbers).rate == 0.2
    with pytest.raises(dn.InputError, match=f"'{name}'"):
        TrainingPlan(**numbers | change)


def test_records_and_canaries_are_copies():
    """Training may change what it gets; an iterator or a list of steps is as good as a generator."""
    records = [[1.0], [2.0]]

    def train(given, _seed):
        given[0][0] = 9.0
        return iter([TrainingStep(np.zeros(1)), TrainingStep(np.ones(1))])

    assert len(observe_training(train, records, 0).steps) == 2
    assert records == [[1.0], [2.0]]
    run = observe_training(lambda _records, _seed: lambda canaries: [canary.pop() for canary in canaries], [], 0)
    assert run.score(records).tolist() == [1.0, 2.0]
    assert records == [[1.0], [2.0]]
    assert len(observe_training(lambda _records, _seed: [TrainingStep(np.zeros(1))], [], 0).steps) == 1
    with pytest.raises(dn.InputError, match="values that can be copied"):
        observe_training(train, [(number for number in range(3))], 0)
