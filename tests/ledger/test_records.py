"""What stands in the tables of a ledger is believed only where a ledger can have written it."""

import json

import pytest

from deniable.ledger.accounts import MAX_AMOUNT, compute_caps, make_metric_cost
from deniable.ledger.records import (
    DamageFound,
    check_facts,
    check_hash,
    check_total,
    check_units,
    parse_cost,
    parse_json,
)

HASH = bytes(16)
COST = make_metric_cost(2.0, {"mechanism": "tem", "epsilon": 2.0, "largest loss": float("inf")})


def list_caps(budget, delta):
    """Return caps as a database gives them."""
    return {account: list(amounts) for account, amounts in compute_caps(budget, delta).items()}


@pytest.mark.parametrize("delta", [None, 1e-6])
def test_facts_of_a_ledger(delta):
    """What a ledger was created with is read back; a cap of divergences may be rounded otherwise on another machine."""
    caps = list_caps(5.0, delta)
    facts = check_facts("person", 5.0, delta, caps, HASH)
    assert facts.caps == compute_caps(5.0, delta)
    if delta is not None:
        caps["approximate"][-1] -= 1
        assert check_facts("person", 5.0, delta, caps, HASH).caps["approximate"][-1] == caps["approximate"][-1]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("unit", value) for value in ("", "a\nb", "x" * 41, None, 1)),
        *(("budget", value) for value in (-1.0, 0.0, float("nan"), float("inf"), 1e9, "5.0", 5, None, 6.0)),
        *(("delta", value) for value in (0.0, 1.0, -1.0, float("nan"), "1e-6", True, [], {}, 1e-5)),
        *(("key_check", value) for value in (b"", b"x" * 15, "0" * 16, None)),
        *(("caps", value) for value in (None, [], {}, {"metric": [5 * 10**9]}, "x")),
    ],
)
def test_facts_of_no_ledger(name, value):
    """A value that no ledger has is damage, and so is a budget or a delta from which the caps do not follow."""
    facts = {"unit": "person", "budget": 5.0, "delta": 1e-6, "caps": list_caps(5.0, 1e-6), "key_check": HASH}
    with pytest.raises(DamageFound):
        check_facts(**{**facts, name: value})


@pytest.mark.parametrize("account", ["metric", "pure", "approximate"])
@pytest.mark.parametrize("amount", [2, 1000, -3, 0.5, "1", None, True, []])
def test_caps_that_do_not_follow(account, amount):
    """A cap that is higher, lower or no number is damage, on each account."""
    caps = list_caps(5.0, 1e-6)
    caps[account][0] = caps[account][0] + amount if isinstance(amount, int) and amount is not True else amount
    with pytest.raises(DamageFound):
        check_facts("person", 5.0, 1e-6, caps, HASH)


def test_totals():
    """A total has the amounts of its account, in the range of a database."""
    assert check_total(HASH, "metric", [3]).amounts == (3,)
    for amounts in ([], [-1], [1, 2], [MAX_AMOUNT + 1], [1.0], ["1"], [True], None, {}, "3", (3,)):
        with pytest.raises(DamageFound):
            check_total(HASH, "metric", amounts)
    for person, account in ((b"short", "metric"), ("x" * 16, "metric"), (HASH, "other"), (HASH, None), (HASH, [])):
        with pytest.raises(DamageFound):
            check_total(person, account, [3])


def test_units():
    """Cells and units are counts, at a cost that is there."""
    assert check_units(HASH, COST, 1, 2).units == 2
    for arguments in ((HASH, None, 1, 2), (HASH, COST, 1, 0), (HASH, COST, 1, 2.0), (HASH, COST, None, 2)):
        with pytest.raises(DamageFound):
            check_units(*arguments)
    with pytest.raises(DamageFound):
        check_hash("x" * 16)


def test_a_cost_is_read_back():
    """Also where a word can lose any amount."""
    assert parse_cost(COST.encode()) == COST


@pytest.mark.parametrize(
    "fields",
    [
        {"account": "other"},
        {"account": ["pure"]},
        {"account": "approximate"},
        {"amounts": []},
        {"amounts": [-1]},
        {"amounts": "1"},
        {"amounts": [2.0]},
        {"amounts": [float("inf")]},
        {"facts": None},
        {"facts": [["mechanism", "tem"]]},
        {"facts": {"mechanism": 1}},
        {"facts": {"epsilon": "2"}},
        {"facts": {"epsilon": float("nan")}},
        {"facts": {"largest loss": 10**400}},
    ],
)
def test_costs_that_are_none(fields):
    """A field that no cost has is damage."""
    with pytest.raises(DamageFound):
        parse_cost(json.dumps({"account": "metric", "amounts": [2], "facts": {}, **fields}))


@pytest.mark.parametrize("text", [None, 1, b"\xff", "", "{", "[" * 100_000, "9" * 5_000, "[]", "{}", "1"])
def test_texts_that_say_nothing(text):
    """What is no JSON, or JSON of another form, is damage, however it fails."""
    with pytest.raises(DamageFound):
        parse_cost(text)


def test_json():
    """JSON is read as it is, and what is none is named."""
    assert parse_json("[1]", "a total") == [1]
    with pytest.raises(DamageFound, match="a total cannot be read"):
        parse_json("[1", "a total")
