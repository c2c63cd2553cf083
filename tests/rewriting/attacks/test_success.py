"""The largest success that a claim permits: a theorem, held against the mechanisms that attain it and random ones."""

import itertools
import math

import numpy as np
import pytest

from deniable.core.errors import InputError
from deniable.rewriting.attacks.success import (
    REFUTATION_CONFIDENCE,
    bound_epsilon_by_ranking,
    compute_max_success,
    evaluate_success,
)

CASES = [(2, 1), (5, 1), (5, 2), (6, 4), (7, 6)]


def subsets(candidates, first):
    return list(itertools.combinations(range(candidates), first))


def selection(candidates, first, epsilon, shown=0.0):
    """Return the law (K, outputs) of subset selection, and of sets marked as true with chance ``shown``."""
    named = subsets(candidates, first)
    holds = np.array([[i in some for some in named] for i in range(candidates)], dtype=float)
    odds = np.where(holds, math.exp(epsilon), 1.0)
    drawn = odds / odds.sum(axis=1, keepdims=True)
    marked = holds / holds.sum(axis=1, keepdims=True)
    return np.hstack([(1 - shown) * drawn, shown * marked])


def best(law, first):
    """Return the success of the best attacker who names ``first`` texts."""
    return np.sort(law, axis=0)[-first:].sum() / len(law)


def delta_of(law, epsilon):
    """Return the largest delta of any two rows."""
    excess = law[:, None] - math.exp(epsilon) * law[None]
    return np.maximum(excess, 0).sum(axis=2).max()


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
@pytest.mark.parametrize(("candidates", "first"), CASES)
def test_subset_selection_attains_it(candidates, first, epsilon):
    """No less will do: subset selection keeps the pure claim, and its best attacker is right as often as permitted."""
    law = selection(candidates, first, epsilon)
    assert delta_of(law, epsilon) <= 1e-12
    assert best(law, first) == pytest.approx(compute_max_success(candidates, epsilon, first=first), rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.0, 1.0])
@pytest.mark.parametrize(("candidates", "first"), CASES)
def test_it_is_attained_with_delta(candidates, first, epsilon):
    """With delta too: sets that hold the truth for sure, now and then, have that delta and reach the bound."""
    shown = 0.05
    delta = shown * (candidates - first) / (candidates - 1)
    law = selection(candidates, first, epsilon, shown)
    assert delta_of(law, epsilon) == pytest.approx(delta, rel=1e-9)
    assert best(law, first) == pytest.approx(
        compute_max_success(candidates, epsilon, delta=delta, first=first), rel=1e-12
    )


@pytest.mark.parametrize("seed", range(20))
def test_no_law_exceeds_it(seed):
    """Whatever the law: at every epsilon, with the delta that it has there, no attacker is right more often."""
    random = np.random.default_rng(seed)
    candidates, outputs = int(random.integers(2, 7)), int(random.integers(2, 12))
    law = random.dirichlet(np.full(outputs, random.choice([0.1, 1.0, 10.0])), candidates)
    for first in range(1, candidates):
        for epsilon in (0.0, 0.3, 1.0, 4.0):
            delta = min(delta_of(law, epsilon), 1 - 1e-12)
            assert best(law, first) <= compute_max_success(candidates, epsilon, delta=delta, first=first) + 1e-9


def test_known_values():
    """Two texts give the sigmoid; no claim leaves chance; a large one everything, without overflow."""
    assert compute_max_success(2, 1.0) == pytest.approx(1 / (1 + math.exp(-1)))
    assert compute_max_success(5_000, 0.0, first=10) == pytest.approx(10 / 5_000)
    assert compute_max_success(5_473, math.log(5_472)) == pytest.approx(0.5)
    assert compute_max_success(5_473, 1_000.0) == compute_max_success(5_473, math.inf) == 1.0
    assert compute_max_success(3, 0.1, delta=0.9) < 1.0
    assert compute_max_success(3, 0.1, delta=0.9, first=2) == 1.0


@pytest.mark.parametrize("delta", [0.0, 1e-4])
@pytest.mark.parametrize("first", [1, 10])
def test_turned_round(first, delta):
    """The least epsilon that permits a success is the one whose claim permits just that."""
    for epsilon in (0.0, 0.7, 5.0):
        chance = compute_max_success(800, epsilon, delta=delta, first=first)
        assert bound_epsilon_by_ranking(chance, 800, delta=delta, first=first) == pytest.approx(epsilon, abs=1e-9)
    assert bound_epsilon_by_ranking(0.0, 800, delta=delta, first=first) == 0.0
    assert bound_epsilon_by_ranking(1.0, 800, delta=delta, first=first) == math.inf


def test_judging():
    """Finds as frequent as permitted refute nothing, three times as many do, and the bound on epsilon agrees."""
    permitted = compute_max_success(100, 1.0)
    fair = evaluate_success(round(10_000 * permitted), 10_000, 100, epsilon=1.0)
    assert not fair.is_refuted
    assert fair.success_rate.low < fair.max_success_rate == permitted < fair.success_rate.high
    many = evaluate_success(round(30_000 * permitted), 10_000, 100, epsilon=1.0)
    assert many.is_refuted
    assert 1.0 < many.epsilon_lower_bound < math.log(3 * math.e * 1.1)
    assert not evaluate_success(0, 50, 100, epsilon=1.0).is_refuted


def test_a_true_claim_is_seldom_refuted():
    """At the permitted chance itself, refutations are as rare as stated: all thresholds are checked exactly."""
    from scipy import stats

    trials, candidates = 100, 20
    permitted = compute_max_success(candidates, 1.0)
    wrong = [hits for hits in range(trials + 1) if evaluate_success(hits, trials, candidates, epsilon=1.0).is_refuted]
    assert wrong == list(range(wrong[0], trials + 1))
    assert stats.binom.sf(wrong[0] - 1, trials, permitted) <= 1 - REFUTATION_CONFIDENCE


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((1, 1.0), {}, "'candidates'"),
        ((5, 1.0), {"first": 5}, "from 1 to 4"),
        ((5, 1.0), {"first": 0}, "'first'"),
        ((5, -1.0), {}, "'epsilon'"),
        ((5, math.nan), {}, "'epsilon'"),
        ((5, 1.0), {"delta": 1.0}, "'delta'"),
    ],
)
def test_bad_parameters(arguments, options, message):
    """What is no choice or no claim is refused."""
    with pytest.raises(InputError, match=message):
        compute_max_success(*arguments, **options)


def test_bad_chance():
    """A chance beyond 1 is refused."""
    with pytest.raises(InputError, match="'chance'"):
        bound_epsilon_by_ranking(1.1, 5)
