"""Ranked candidates, and the largest success that a claim permits: against laws that attain it, and random ones."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.rewriting.ranking import get_norm_order
from tests.refusals import refuses

CASES = [(2, 1), (5, 2), (7, 6), *(pytest.param(*case, marks=pytest.mark.deep) for case in ((5, 1), (6, 4)))]


def selection(candidates, first, epsilon, shown=0.0):
    """Return the law (K, outputs) of subset selection, and of sets marked as true with chance ``shown``."""
    named = [*itertools.combinations(range(candidates), first)]
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
    return np.maximum(law[:, None] - math.exp(epsilon) * law[None], 0).sum(axis=2).max()


@pytest.mark.parametrize("shown", [0.0, 0.05])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
@pytest.mark.parametrize(("candidates", "first"), CASES)
def test_subset_selection_attains_it(candidates, first, epsilon, shown):
    """No less will do: subset selection keeps the claim, and its best attacker is right as often as permitted.

    With delta too: sets that hold the truth for sure, now and then, have that delta and reach the bound.
    """
    law, delta = selection(candidates, first, epsilon, shown), shown * (candidates - first) / (candidates - 1)
    assert delta_of(law, epsilon) == pytest.approx(delta, rel=1e-9, abs=1e-12)
    permitted = dn.rewriting.compute_max_success(candidates, epsilon, delta=delta, first=first)
    assert best(law, first) == pytest.approx(permitted, rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_no_law_exceeds_it(seed):
    """Whatever the law: at every epsilon, with the delta that it has there, no attacker is right more often."""
    random = np.random.default_rng(seed)
    candidates, outputs = int(random.integers(2, 7)), int(random.integers(2, 12))
    law = random.dirichlet(np.full(outputs, random.choice([0.1, 1.0, 10.0])), candidates)
    for first in range(1, candidates):
        for epsilon in (0.0, 0.3, 1.0, 4.0):
            delta = min(delta_of(law, epsilon), 1 - 1e-12)
            permitted = dn.rewriting.compute_max_success(candidates, epsilon, delta=delta, first=first)
            assert best(law, first) <= permitted + 1e-9


def test_known_values():
    """Two texts give the sigmoid; no claim leaves chance; a large one everything, without overflow."""
    compute = dn.rewriting.compute_max_success
    assert compute(2, 1.0) == pytest.approx(1 / (1 + math.exp(-1)))
    assert compute(5_000, 0.0, first=10) == pytest.approx(10 / 5_000)
    assert compute(5_473, math.log(5_472)) == pytest.approx(0.5)
    assert compute(5_473, 1_000.0) == compute(5_473, math.inf) == 1.0
    assert compute(3, 0.1, delta=0.9) < compute(3, 0.1, delta=0.9, first=2) == 1.0


def test_judging():
    """Finds as frequent as permitted refute nothing, three times as many do, and the bound on epsilon agrees."""
    permitted = dn.rewriting.compute_max_success(100, 1.0)
    fair = dn.rewriting.evaluate_success(round(10_000 * permitted), 10_000, 100, epsilon=1.0)
    assert not fair.is_refuted
    assert fair.success_rate.low < fair.max_success_rate == permitted < fair.success_rate.high
    many = dn.rewriting.evaluate_success(round(30_000 * permitted), 10_000, 100, epsilon=1.0)
    assert many.is_refuted
    assert 1.0 < many.epsilon_lower_bound < math.log(3 * math.e * 1.1)
    assert not dn.rewriting.evaluate_success(0, 50, 100, epsilon=1.0).is_refuted


@pytest.mark.parametrize(("delta", "first"), [(0.0, 1), (1e-4, 10)])
def test_the_bound_on_epsilon_turns_the_theorem_round(delta, first):
    """The claim of the bound permits just the success that is certain; no finds bound nothing."""
    judge, options = dn.rewriting.evaluate_success, {"epsilon": 0.5, "delta": delta, "first": first}
    for hits in (300, 900):
        found = judge(hits, 1_000, 800, **options)
        permitted = dn.rewriting.compute_max_success(800, found.epsilon_lower_bound, delta=delta, first=first)
        assert stats.binom.sf(hits - 1, 1_000, permitted) == pytest.approx(0.001, rel=1e-6)
    assert judge(0, 1_000, 800, **options).epsilon_lower_bound == 0.0


def test_a_true_claim_is_seldom_refuted():
    """At the permitted chance itself, refutations are rare: all thresholds are checked exactly."""
    trials, candidates = 100, 20
    permitted = dn.rewriting.compute_max_success(candidates, 1.0)
    judged = (dn.rewriting.evaluate_success(hits, trials, candidates, epsilon=1.0) for hits in range(trials + 1))
    wrong = [hits for hits, found in enumerate(judged) if found.is_refuted]
    assert wrong == list(range(wrong[0], trials + 1))
    assert stats.binom.sf(wrong[0] - 1, trials, permitted) <= 0.001


@pytest.mark.parametrize(
    ("arguments", "options", "value"),
    [
        ((1, 1.0), {}, 1),
        ((5, 1.0), {"first": 5}, 5),
        ((5, 1.0), {"first": 0}, 0),
        ((5, -1.0), {}, -1.0),
        ((5, math.nan), {}, "nan"),
        ((5, 1.0), {"delta": 1.0}, 1.0),
    ],
)
def test_bad_parameters(arguments, options, value):
    """What is no choice or no claim is refused."""
    with refuses(value):
        dn.rewriting.compute_max_success(*arguments, **options)


def test_places():
    """The nearest comes first, ties stand before the truth, and places are those of a direct count, in any block."""
    line = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 2.0], [1.0, 0.0]])
    released = np.array([[0.1, 0.1], [0.9, 0.0], [5.0, 5.0]])
    assert dn.rewriting.rank_true_candidates(released, np.array([0, 1, 0]), line, 1).tolist() == [1, 2, 4]
    random = np.random.default_rng(0)
    candidates, released = random.normal(size=(30, 3)), random.normal(size=(600, 3))
    truths = random.integers(30, size=600)
    for order in (1, 2):
        apart = np.linalg.norm(released[:, None] - candidates[None], ord=order, axis=2)
        places = dn.rewriting.rank_true_candidates(released, truths, candidates, order)
        assert places.tolist() == (apart <= apart[np.arange(600), truths][:, None]).sum(axis=1).tolist()
    for shape, count in (((2, 3), 2), ((2, 2), 1)):
        with refuses("together"):
            dn.rewriting.rank_true_candidates(np.zeros(shape), np.zeros(count, np.int64), line, 1)


@pytest.mark.parametrize("is_published", [True, False])
def test_success_against_the_bound(is_published):
    """Corners of the cube in the ball: published noise is found out beyond its claim, noise enough is not."""
    ball = dn.L2Ball(1.0)
    mechanism = dn.ADePT(epsilon=3.0, seed=0) if is_published else dn.Laplace(epsilon=3.0, domain=ball, seed=0)
    assert get_norm_order(mechanism) == 1
    assert get_norm_order(dn.Gaussian(epsilon=1.0, delta=1e-5, domain=ball)) == 2
    assert get_norm_order(dn.KNorm(epsilon=1.0, domain=ball)) == 2
    assert get_norm_order(dn.KNorm(epsilon=1.0, domain=dn.Box(0.0, 1.0))) == math.inf
    random = np.random.default_rng(1)
    corners = np.where(random.random((400, 64)) < 0.5, -1.0, 1.0) / 8
    truths = random.integers(400, size=6_000)
    places = dn.rewriting.rank_true_candidates(mechanism.sample(corners[truths]), truths, corners, 1)
    found = [
        dn.rewriting.evaluate_success(int((places <= first).sum()), len(places), 400, epsilon=3.0, first=first)
        for first in (1, 10)
    ]
    assert [one.max_success_rate for one in found] == [
        dn.rewriting.compute_max_success(400, 3.0),
        dn.rewriting.compute_max_success(400, 3.0, first=10),
    ]
    assert found[0].is_refuted == is_published
    assert found[0].success_rate.value < found[1].success_rate.value < found[1].max_success_rate
