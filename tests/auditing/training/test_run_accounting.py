"""Verdicts on the accounting of trainers that do what they state, and of others."""

import functools
import math

import numpy as np
import pytest

import deniable as dn

DELTA = 1e-5
EMPTIED = {"delta": DELTA, "other": 0.0, "other_is_empty": True}
deep = pytest.mark.deep


@functools.cache
def recompute(records, size, steps, sigma):
    """Return the epsilon of Poisson batches, which `test_accounting` holds against other accountants."""
    plan = dn.TrainingPlan("poisson", records, size, steps, sigma, 1.0)
    return dn.collect_training_facts(lambda *_: iter([plan, np.zeros(1)]), [0.0], 1.0, claim=1.0, **EMPTIED).stated


def judge(draw, *, records=20, size=1.0, steps=12, sigma=4.0, seed=0, noises=None, hidden=()):
    """Return the verdict on the accounting of Poisson batches that ``draw`` makes, at the epsilon of the plan."""
    plan = dn.TrainingPlan("poisson", records, size, steps, sigma, 1.0)

    def train(data, run_seed):
        random = np.random.default_rng(run_seed)
        yield plan
        values = np.clip(np.array(data), -1, 1)
        for number, batch in enumerate(draw(random, len(data), plan)):
            noise, total = noises[number] if noises else sigma, np.array([values[batch].sum()])
            shown = None if number in hidden else batch
            yield dn.TrainingStep(total + noise * random.standard_normal(1), shown, total, noise)

    epsilon = recompute(records, size, steps, sigma).upper
    facts = dn.collect_training_facts(train, [0.0] * (records - 1), 1.0, claim=epsilon, **EMPTIED, seed=seed)
    return facts.verdicts["the accounting"]


def draw_coins(random, count, plan, rate=1.0):
    """Return batches as the plan says."""
    return [np.flatnonzero(random.random(count) < rate * plan.rate) for _ in range(plan.steps)]


def draw_again(random, count, plan):
    """Return batches of which empty ones are drawn again."""
    batches = []
    while len(batches) < plan.steps:
        batch = np.flatnonzero(random.random(count) < plan.rate)
        batches += [batch] if len(batch) else []
    return batches


def leave_out(random, count, plan):
    """Return batches but for empty ones."""
    return [batch for batch in draw_coins(random, count, plan) if len(batch)]


def cap(random, count, plan):
    """Return batches of at most the expected size and one."""
    return [batch[: int(plan.batch_size) + 1] for batch in draw_coins(random, count, plan)]


def deal(random, count, plan):
    """Return batches whose sizes are those of coins, and whose records come off a shuffled pile."""
    pile, batches = np.empty(0, dtype=int), []
    for size in random.binomial(count, plan.rate, plan.steps):
        pile = random.permutation(count) if len(pile) < size else pile
        batches.append(pile[:size])
        pile = pile[size:]
    return batches


def begin_with_somebody(random, count, plan):
    """Return batches of coins of which the first is drawn until it is not empty."""
    batches = draw_coins(random, count, plan)
    return batches if len(batches[0]) else begin_with_somebody(random, count, plan)


def take_subsets(random, count, plan):
    """Return batches of the expected size."""
    return [random.choice(count, int(plan.batch_size), replace=False) for _ in range(plan.steps)]


def shuffle(random, count, plan):
    """Return whole epochs in a random order."""
    size = int(plan.batch_size)
    epochs = range(math.ceil(plan.steps * size / count))
    orders = np.concatenate([random.permutation(count) for _ in epochs])
    return np.split(orders[: plan.steps * size], plan.steps)


@pytest.mark.parametrize(
    ("size", "seed"), [(1.0, 0), *(pytest.param(size, seed, marks=deep) for size in (0.5, 1.0, 2.0) for seed in (1, 2))]
)
@pytest.mark.parametrize(
    "draw",
    [
        draw_again,
        pytest.param(leave_out, marks=deep),
        pytest.param(cap, marks=deep),
        lambda random, count, plan: draw_coins(random, count, plan, 1.7),
        lambda *given: draw_coins(*given)[:-1],
        pytest.param(lambda *given: [*draw_coins(*given), np.arange(1)], marks=deep),
    ],
)
def test_batches_that_contradict_the_plan_are_never_passed(draw, size, seed):
    """The accounting is refuted or undecided, whatever there is to see in one run."""
    verdict = judge(draw, size=size, seed=seed)
    assert verdict.status in {"refuted", "undecided"}
    assert (verdict.witness is None) == (verdict.status == "undecided")
    assert verdict.lower_bound > verdict.claim or verdict.status == "undecided"


@pytest.mark.parametrize("draw", [draw_again, cap, take_subsets, shuffle])
def test_a_hidden_step_hides_no_others(draw):
    """Steps that do show their batches are looked at."""
    assert judge(draw, hidden=(5,)).status in {"refuted", "undecided"}


def test_a_run_that_shows_no_batch_says_nothing_against_its_plan():
    """Sizes that are not seen contradict nothing."""
    assert judge(draw_coins, hidden=range(12)).status == "not refuted"


@pytest.mark.parametrize("draw", [deal, begin_with_somebody])
def test_each_run_and_each_step_is_compared_with_coins(draw):
    """Records that come once in a run, and a first step that is never empty, are even over all runs and steps."""
    assert judge(draw).status == "undecided"


@pytest.mark.parametrize("size", [1.0, pytest.param(0.5, marks=deep), pytest.param(2.0, marks=deep)])
def test_true_coins_pass(size):
    """Empty batches are frequent here; one run in a hundred may be doubted."""
    statuses = [judge(draw_coins, size=size, steps=steps, seed=seed).status for steps in (3, 30) for seed in range(4)]
    assert statuses.count("undecided") <= 1
    assert "refuted" not in statuses


def test_the_epsilon_of_batches_that_are_drawn_again_is_bounded_from_below():
    """A refutation says no more than what the rate of non-empty batches spends."""
    verdict = judge(draw_again, size=1.0, steps=100)
    truth = recompute(20, 1 / (1 - 0.95**20), 100, 4.0)
    assert verdict.status == "undecided" or verdict.claim < verdict.lower_bound <= truth.upper


def test_a_step_too_many_is_a_proof():
    """The epsilon of the steps that were seen is the lower bound, and its witness says how many there were."""
    verdict = judge(lambda *given: [*draw_coins(*given), *draw_coins(*given)], size=4.0, steps=6)
    truth = recompute(20, 4.0, 12, 4.0)
    assert (verdict.status, verdict.lower_bound) == ("refuted", truth.lower)
    assert "12 steps" in verdict.witness.output


def test_noise_that_differs_between_steps():
    """Of all records it is accounted for together."""
    all_records = {"size": 20, "steps": 2, "sigma": 2.0}
    assert judge(draw_coins, **all_records, noises=[1.5, 4.0]).status == "refuted"  # 1.99 together
    assert judge(draw_coins, **all_records, noises=[1.6, 4.0]).status == "not refuted"


@deep
def test_noise_that_differs_between_sampled_steps():
    """Between bounds for the most and the least noise the accounting is undecided."""
    sampled = {"size": 4, "steps": 4, "sigma": 2.0}
    assert judge(draw_coins, **sampled, noises=[1.0, 3.0, 3.0, 3.0]).status == "undecided"
    assert judge(draw_coins, **sampled, noises=[3.0, 2.5, 3.0, 3.0]).status == "not refuted"
    assert judge(draw_coins, **sampled, noises=[1.0, 1.5, 1.5, 1.5]).status == "refuted"
