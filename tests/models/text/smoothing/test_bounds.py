"""How far a chance can fall: against linear programs, enumeration and the formulas' own definitions."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import optimize

from deniable.models.text.smoothing.bounds import (
    RENYI_ORDERS,
    _bound_by_neyman_pearson,
    _compose_losses,
    bound_by_renyi,
    compute_max_loss,
    count_changes_by_randomized_response,
    count_changes_by_renyi,
)

deep = pytest.mark.deep


def bound_by_loss(probability, loss):
    """Return the least Q(A) for laws with |ln P - ln Q| <= loss everywhere: max(e^-t p, 1 - e^t (1 - p))."""
    return max(math.exp(-loss) * probability, 1 - math.exp(min(loss, 700.0)) * (1 - probability))


def divergences_of(losses):
    """Return the divergences (n, orders) of randomized responses of some losses, in the order that is larger."""
    truth = 1 / (1 + np.exp(-np.asarray(losses)[:, None]))
    orders = np.array(RENYI_ORDERS)
    sums = truth**orders * (1 - truth) ** (1 - orders) + (1 - truth) ** orders * truth ** (1 - orders)
    return np.log(sums) / (orders - 1)


CHANCE = st.integers(0, 10**6).map(lambda millionths: millionths / 10**6)
PAIRS = st.tuples(CHANCE, CHANCE).map(lambda pair: (max(pair), min(pair[1], pair[0], 1 - max(pair))))


def least_lead(own, rival, loss):
    """Return the least Q(A) - Q(B) over all laws on {A, B, rest} within e^loss of P, by a linear program."""
    law = np.array([own, rival, 1 - own - rival])
    bounds = [(math.exp(-loss) * p, min(math.exp(loss) * p, 1.0)) for p in law]
    return optimize.linprog([1, -1, 0], A_eq=np.ones((1, 3)), b_eq=[1.0], bounds=bounds).fun


@pytest.mark.parametrize("loss", [0.0, 0.01, 0.3, 1.0, 3.0])
@pytest.mark.parametrize(("own", "rival"), [(0.9, 0.1), (0.9, 0.02), (0.6, 0.4), (0.5, 0.1), (0.34, 0.33), (1.0, 0.0)])
def test_pure_bounds_are_jointly_sharp(own, rival, loss):
    """No joint bound on the two chances is sharper than the two bounds together: a linear program attains both."""
    lead = bound_by_loss(own, loss) - (1 - bound_by_loss(1 - rival, loss))
    assert lead == pytest.approx(least_lead(own, rival, loss), abs=1e-9)


@settings(max_examples=30)
@given(PAIRS)
def test_most_loss_is_where_the_bounds_meet(pair):
    """The closed form is the largest loss under which the class leads, for all chances."""
    own, rival = pair
    most = compute_max_loss(own, rival)
    if own <= rival:
        assert most == 0
    elif math.isfinite(most):
        for loss, leads in ((most * (1 - 1e-6), True), (most * (1 + 1e-6) + 1e-12, False)):
            assert (bound_by_loss(own, loss) + bound_by_loss(1 - rival, loss) > 1) is leads
    else:
        assert bound_by_loss(own, 10.0) > 1 - bound_by_loss(1 - rival, 10.0)


def test_most_loss_of_two_classes():
    """With two classes the class stands while e^t (1 - p) < 1 / 2, and with p_B = 0 for ever."""
    assert compute_max_loss(0.99, 0.01) == pytest.approx(math.log(0.5 / 0.01))
    assert compute_max_loss(0.5, 0.5) == 0
    assert compute_max_loss(0.6, 0.0) == math.inf
    assert compute_max_loss(1.0, 0.0) == math.inf


@pytest.mark.parametrize("chance", [0.0, 1e-6, 0.3, 0.5, 0.9, 1 - 1e-6, 1.0])
@pytest.mark.parametrize("loss", [1e-4, 0.1, 1.0, 8.0])
def test_one_response_is_the_pure_bound(chance, loss):
    """For one word randomized response attains the pure bound, and its divergences allow no more."""
    single = list(itertools.islice(_compose_losses(np.array([loss])), 2))[1]
    exact = bound_by_loss(chance, loss)
    assert _bound_by_neyman_pearson(chance, single) == pytest.approx(exact, abs=1e-6)
    assert _bound_by_neyman_pearson(chance, single) <= exact + 1e-15
    assert 0 <= bound_by_renyi(chance, divergences_of([loss])[0]) <= chance


def least_chance(chance, losses):
    """Return the least Q(A) with P(A) >= p for independent responses, from all their outcomes in order."""
    signs = np.array(list(itertools.product((1, -1), repeat=len(losses))))
    truth = 1 / (1 + np.exp(-np.asarray(losses)))
    p = np.prod(np.where(signs > 0, truth, 1 - truth), axis=1)
    q = np.prod(np.where(signs < 0, truth, 1 - truth), axis=1)
    order = np.argsort(q / p)
    taken = np.minimum(p[order], np.maximum(chance - np.cumsum(p[order]) + p[order], 0.0))
    return float((taken * (q / p)[order]).sum())


@pytest.mark.parametrize("chance", [0.05, 0.5, 0.9, 0.9999])
@pytest.mark.parametrize("losses", [[0.4] * 6, [2.0, 1.0, 0.5, 0.25], [3.0, 0.1, 0.1], [1.0, 0.7, 0.3]])
def test_responses_are_composed_exactly(chance, losses):
    """The bound for several responses is that of all their outcomes: not above it, and near it."""
    composed = list(_compose_losses(np.array(losses)))
    assert len(composed) == len(losses) + 1
    for count, masses in enumerate(composed):
        assert masses.sum() == pytest.approx(1)
        exact = least_chance(chance, losses[:count])
        assert _bound_by_neyman_pearson(chance, masses) <= exact + 1e-12
        # Losses are rounded up to a 64th of the largest.
        assert _bound_by_neyman_pearson(chance, masses) == pytest.approx(exact, abs=0.03)


def test_renyi_bound_holds_for_laws():
    """Every event of two laws keeps at least what their divergences leave it, and some event keeps little more."""
    coins = np.random.default_rng(0)
    gaps = []
    for _ in range(5):
        p, q = coins.dirichlet(np.ones(6), size=2)
        p, q = (0.8 * one + 0.2 / 6 for one in (p, q))
        both = [
            np.log(np.array([(a**alpha * b ** (1 - alpha)).sum() for alpha in RENYI_ORDERS]))
            for a, b in ((p, q), (q, p))
        ]
        divergences = np.max(both, axis=0) / (np.array(RENYI_ORDERS) - 1)
        for members in itertools.product((0.0, 1.0), repeat=6):
            event = np.array(members)
            bound = bound_by_renyi(float(p @ event), divergences)
            assert bound <= q @ event + 1e-9
            gaps.append(float(q @ event) - bound)
    assert min(gaps) < 0.02


@settings(max_examples=8)
@given(PAIRS, st.lists(st.floats(0.01, 3.0), min_size=1, max_size=12))
@example((0.99, 0.01), [0.5, 3.0, 3.0, 1.0])
def test_changes_shrink_with_the_losses(pair, losses):
    """More loss, less lead or further words that lose less never certify more changes; none exceed the length."""
    own, rival = pair
    held = np.array(losses)

    for found in (
        count_changes_by_randomized_response,
        lambda p, r, values: count_changes_by_renyi(p, r, divergences_of(values)),
    ):
        changes = found(own, rival, held)
        assert 0 <= changes <= len(losses)
        assert found(own, rival, 1.5 * held) <= changes
        assert changes == len(losses) or found(own, rival, np.append(held, [1e-3] * 5)) == changes
        assert found(max(own - 0.05, 0), min(rival + 0.02, 1.0), held) <= changes


def test_changes_of_many_small_losses_go_beyond_their_sum():
    """Composition certifies several times more words than losses added up do."""
    losses = np.full(2000, 0.05)
    linear = int(compute_max_loss(0.99, 0.01) / 0.05)
    divergences = divergences_of(losses)
    assert linear == 78
    assert 5 * linear < count_changes_by_renyi(0.99, 0.01, divergences) < 2000
    # For responses themselves the lemma of Neyman and Pearson is sharper than their divergences.
    assert count_changes_by_randomized_response(0.99, 0.01, losses) > count_changes_by_renyi(0.99, 0.01, divergences)
