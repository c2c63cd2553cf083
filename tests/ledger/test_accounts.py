"""Amounts and caps, against dp-accounting and against plain arithmetic."""

import math
from fractions import Fraction

import dp_accounting
import pytest
from dp_accounting.rdp import RdpAccountant
from hypothesis import given
from hypothesis import strategies as st

from deniable.core.errors import InputError
from deniable.ledger.accounts import (
    EPSILON_UNITS,
    MAX_AMOUNT,
    RENYI_ORDERS,
    add_amounts,
    compute_caps,
    compute_spent_epsilon,
    is_within,
    make_gaussian_cost,
    make_metric_cost,
    make_pure_cost,
)
from deniable.ledger.records import parse_cost


def test_amounts_are_decimals_rounded_up():
    """An epsilon counts as the decimal that certificates print, and what lies beyond nine digits is rounded up."""
    assert make_metric_cost(0.1, {}).amounts == (100_000_000,)
    assert make_pure_cost(2.3, {}).amounts == (2_300_000_000,)
    assert make_pure_cost(1e-12, {}).amounts == (1,)
    assert make_pure_cost(1 / 3, {}).amounts == (333_333_334,)


def test_ten_tenths_are_one():
    """Ten releases at 0.1 fit into a budget of 1, which floats that are summed would not say."""
    caps, totals = compute_caps(1.0, None), (0,)
    for _ in range(10):
        totals = add_amounts(totals, make_pure_cost(0.1, {}).amounts, 1)
        assert is_within("pure", totals, caps["pure"])
    assert not is_within("pure", add_amounts(totals, (1,), 1), caps["pure"])


@given(st.floats(1e-3, 1e3), st.integers(1, 50))
def test_no_sum_is_below_the_true_one(epsilon, count):
    """Rounding up makes a sum of amounts at least the sum of epsilons."""
    amounts = make_pure_cost(epsilon, {}).amounts
    assert Fraction(add_amounts((0,), amounts, count)[0], EPSILON_UNITS) >= count * Fraction(repr(epsilon))


@pytest.mark.parametrize("delta", [1e-5, 1e-9])
@pytest.mark.parametrize("multipliers", [[5.0], [0.8, 2.0], [10.0] * 40])
def test_the_approximate_account_is_that_of_dp_accounting(multipliers, delta):
    """Gaussian releases compose to the epsilon that dp-accounting finds at the same orders and half of delta."""
    accountant = RdpAccountant(RENYI_ORDERS)
    totals = (0,) * (1 + len(RENYI_ORDERS))
    for multiplier in multipliers:
        accountant.compose(dp_accounting.GaussianDpEvent(multiplier))
        totals = add_amounts(totals, make_gaussian_cost(1 / Fraction(multiplier) ** 2, {}).amounts, 1)
    expected = accountant.get_epsilon(delta / 2)
    assert compute_spent_epsilon(totals, delta) == pytest.approx(expected, rel=1e-7)
    assert not is_within("approximate", totals, compute_caps(expected * (1 - 1e-6), delta)["approximate"])
    assert is_within("approximate", totals, compute_caps(expected * (1 + 1e-6), delta)["approximate"])


def test_half_of_delta_is_for_direct_deltas():
    """Deltas add up to at most half of the ledger's, whatever epsilon is left."""
    caps = compute_caps(10.0, 1e-6)["approximate"]
    some = make_gaussian_cost(Fraction(1, 10**9), {}, delta=2.5e-7)
    assert is_within("approximate", add_amounts((0,) * 25, some.amounts, 2), caps)
    assert not is_within("approximate", add_amounts((0,) * 25, some.amounts, 3), caps)


def test_sums_stop_where_64_bits_end():
    """An order that is far beyond its cap stays beyond it, and its sum still fits into a database."""
    large = make_gaussian_cost(Fraction(10**12), {})
    assert max(large.amounts) == MAX_AMOUNT
    assert max(add_amounts(large.amounts, large.amounts, 1000)) == MAX_AMOUNT
    assert compute_spent_epsilon((0, *[MAX_AMOUNT] * 24), 1e-6) == math.inf
    assert compute_spent_epsilon((0,) * 25, 1e-6) == 0


def test_costs_are_known_by_their_text():
    """A cost has one text, whatever the order of its facts, and is read back from it."""
    cost = make_metric_cost(2.0, {"mechanism": "tem", "epsilon": 2.0})
    assert cost.encode() == make_metric_cost(2.0, {"epsilon": 2.0, "mechanism": "tem"}).encode()
    assert parse_cost(cost.encode()) == cost


@pytest.mark.parametrize("budget", [0, -1, math.nan, math.inf, 1e7, "20"])
def test_a_budget_is_a_positive_number(budget):
    """What is none is refused in one line."""
    with pytest.raises(InputError, match="'budget' parameter"):
        compute_caps(budget, None)


@pytest.mark.parametrize("delta", [0, 1, 2.0, math.nan])
def test_a_delta_is_a_probability(delta):
    """What is none is refused in one line."""
    with pytest.raises(InputError, match="'delta' parameter"):
        compute_caps(1.0, delta)


def test_a_budget_that_admits_nothing_is_refused():
    """At so small an epsilon and delta not even a sum of 0 would be within any cap."""
    with pytest.raises(InputError, match="admits no release"):
        compute_caps(1e-3, 1e-30)
