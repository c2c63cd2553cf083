"""What is charged, and whether it fits: amounts and caps, against dp-accounting and plain arithmetic."""

import dataclasses
import decimal
import math
from fractions import Fraction

import dp_accounting
import pytest
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from deniable.ledger import Charges, get_charged_guarantee, make_gaussian_cost, make_metric_cost, make_pure_cost
from deniable.ledger.accounts import (
    EPSILON_UNITS,
    MAX_AMOUNT,
    RENYI_ORDERS,
    Cost,
    add_amounts,
    compute_caps,
    compute_spent_epsilon,
    is_within,
)
from deniable.ledger.charges import decide_charges
from tests.refusals import refuses

# Amounts and caps.


def test_amounts_are_decimals_rounded_up():
    """An epsilon counts as the decimal that certificates print, and what lies beyond nine digits is rounded up."""
    assert make_metric_cost(0.1, "steps", {}).amounts == (100_000_000,)
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


@settings(max_examples=30)
@given(st.floats(1e-3, 1e3), st.integers(1, 50))
def test_no_sum_is_below_the_true_one(epsilon, count):
    """Rounding up makes a sum of amounts at least the sum of epsilons."""
    amounts = make_pure_cost(epsilon, {}).amounts
    assert Fraction(add_amounts((0,), amounts, count)[0], EPSILON_UNITS) >= count * Fraction(repr(epsilon))


@pytest.mark.parametrize(("multipliers", "delta"), [([5.0], 1e-9), ([0.8, 2.0], 1e-5), ([10.0] * 40, 1e-5)])
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


@pytest.mark.parametrize(("budget", "delta"), [(1.0, 1e-6), (0.3, 0.1), (2.7, 1e-12), (1e3, 1e-5)])
def test_caps_are_rounded_down(budget, delta):
    """Each order's cap is at most what 50 digits give for it, and less by no more than rounding."""
    caps = compute_caps(budget, delta)["approximate"]
    assert Fraction(caps[0]) <= Fraction(repr(delta)) / 2 * 10**18 < caps[0] + 1
    with decimal.localcontext(prec=50):
        for order, cap in zip(map(decimal.Decimal, RENYI_ORDERS), caps[1:], strict=True):
            exact = decimal.Decimal(budget) - (1 - 1 / order).ln()
            exact += (decimal.Decimal(delta / 2).ln() + order.ln()) / (order - 1)
            excess = cap - exact * EPSILON_UNITS
            assert (cap == -1 and exact < 0) or -1_000 < excess <= 0


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


@pytest.mark.parametrize(
    ("budget", "delta", "value"),
    [
        *((budget, None, "'budget'") for budget in (0, -1, math.nan, math.inf, 1e7, "20")),
        *((1.0, delta, "'delta'") for delta in (0, 1, 2.0, math.nan)),
        (1e-3, 1e-30, "no release"),  # not even a sum of 0 would be within any cap
    ],
)
def test_caps_that_cannot_be(budget, delta, value):
    """A budget is a positive number, a delta a probability, and some release fits."""
    with refuses(value):
        compute_caps(budget, delta)


# The decision.

COST = make_metric_cost(1.0, "steps", {})
CAPS = (10 * EPSILON_UNITS,)
CELLS = st.lists(st.tuples(st.integers(0, 9), st.integers(1, 6)), min_size=1, max_size=3)
ROWS = st.lists(st.tuples(st.sampled_from("abc"), CELLS), max_size=12)


def make_charges(rows):
    """Return charges of rows of (person, cells), each cell a name and its units."""
    flat = [(row, person, name, units) for row, (person, cells) in enumerate(rows) for name, units in cells]
    return Charges(
        [f"{person}{name}".encode() for _, person, name, _ in flat],
        [person.encode() for _, person, _, _ in flat],
        [units for *_, units in flat],
        [row for row, *_ in flat],
    )


@settings(max_examples=40)
@given(rows=ROWS, known=st.sets(st.tuples(st.sampled_from("abc"), st.integers(0, 9))), spent=st.integers(0, 10))
def test_a_plain_reading(rows, known, spent):
    """Rows are taken in order; the cells of each that are new are charged together if they fit, else it is refused."""
    totals = {b"a": (spent * EPSILON_UNITS,)}
    charged_before = {f"{person}{name}".encode() for person, name in known}
    decision = decide_charges(COST, make_charges(rows), charged_before, totals, CAPS)
    seen, sums, refused, new = set(charged_before), {"a": spent, "b": 0, "c": 0}, [], 0
    for row, (person, cells_of_row) in enumerate(rows):
        units = 0
        fresh = []
        for name, count in cells_of_row:
            if f"{person}{name}".encode() not in seen:
                seen.add(f"{person}{name}".encode())
                fresh.append(name)
                units += count
        if fresh and sums[person] + units > 10:
            refused.append(row)
        elif fresh:
            sums[person] += units
            new += len(fresh)
    assert decision.refused_rows == refused
    assert len(decision.new_cells) == new
    assert {person.decode(): total[0] // EPSILON_UNITS for person, total in decision.totals.items()} == {
        person: total for person, total in sums.items() if total != (spent if person == "a" else 0)
    }


# The guarantee that a verdict supports.

CLAIM = dn.Guarantee(3.0, "a theorem")


def judge(guarantee, status="proved", epsilon=None):
    """Return a verdict of a status, by default with an upper bound that is what was claimed."""
    return dn.Verdict(guarantee, status, "", guarantee.epsilon if epsilon is None else epsilon)


@pytest.mark.parametrize("status", ["proved", "proved for ideal arithmetic"])
def test_what_is_proved_is_charged(status):
    """A proved guarantee is charged as claimed, also where less was verified, and has the status of its verdict."""
    for verified in (3.0, 1.25):
        charged = get_charged_guarantee("own", judge(CLAIM, status, verified), "record")
        assert charged == dataclasses.replace(CLAIM, status=status)


@pytest.mark.parametrize(
    ("verdict", "value"),
    [
        *((judge(CLAIM, status), status) for status in ("claimed", "not refuted", "undecided", "refuted")),
        *((judge(dataclasses.replace(CLAIM, status=status)), status) for status in ("claimed", "refuted")),
        *((judge(CLAIM, epsilon=verified), "verified") for verified in (3.1, math.inf, math.nan)),
        *((judge(dataclasses.replace(CLAIM, unit=unit)), unit) for unit in ("word", "person")),
        *(
            (judge(guarantee), "guarantee.epsilon")
            for guarantee in (dn.Guarantee(math.inf, ""), dn.Guarantee(-1.0, ""))
        ),
        (judge(dn.Guarantee(1.0, "", delta=1.0)), "guarantee.delta"),
    ],
)
def test_what_is_no_cost_is_refused(verdict, value):
    """What is not proved, less than verified, of another unit, or nothing that can be counted, is not charged."""
    with refuses(value):
        get_charged_guarantee("own", verdict, "record")


# What a ledger believes of what stands in it.


def test_a_cost_is_read_back():
    """A cost has one text, whatever the order of its facts, from which it is read."""
    cost = make_metric_cost(2.0, "steps", {"mechanism": "tem", "epsilon": 2.0, "largest loss": math.inf})
    assert Cost.decode(cost.encode()) == cost
    assert dataclasses.replace(cost, facts=dict(reversed(cost.facts.items()))).encode() == cost.encode()
