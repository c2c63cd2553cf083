"""What stands in the tables of a ledger, believed only where a ledger can have written it.

A file may be damaged in a way that its database does not see: a number in it is then another number. What is read is
checked for its form here, and caps for following from the budget; whether sums agree is seen by
``deniable ledger check``.
"""

import json
import math
from collections.abc import Sequence
from typing import Any, cast

from deniable.core.errors import InputError
from deniable.ledger.accounts import (
    ACCOUNT_NAMES,
    MAX_AMOUNT,
    AccountName,
    Amounts,
    Caps,
    Cost,
    compute_caps,
    count_components,
)
from deniable.ledger.keys import HASH_BYTES
from deniable.ledger.store import MAX_UNIT_LENGTH, LedgerFacts, Total, Units

_CAP_TOLERANCE = 1
"""By how much a cap may differ that another machine computed: its logarithms may be rounded otherwise."""
_TEXT_FACTS, _NUMBER_FACTS = ("mechanism", "unit"), ("epsilon", "delta", "largest loss")
"""Facts of a cost that are shown, and what they are."""


class DamageFound(ValueError):  # noqa: N818 - what was found
    """A ledger holds what no ledger writes."""


def parse_json(text: object, what: str) -> Any:  # noqa: ANN401 - whatever stands in it
    """Return what a JSON text says.

    Raises:
        DamageFound: it is none.
    """
    try:
        return json.loads(cast("str", text))
    except (ValueError, TypeError, RecursionError):
        raise DamageFound(f"{what} cannot be read") from None


def check_facts(unit: object, budget: object, delta: object, caps: object, key_check: object) -> LedgerFacts:
    """Return what a ledger was created with.

    Raises:
        DamageFound: a value that no ledger has, or caps that do not follow from budget and delta.
    """
    if not is_unit(unit) or not isinstance(key_check, bytes) or len(key_check) != HASH_BYTES:
        raise DamageFound("its unit, or what it knows its key by, cannot be read")
    if not isinstance(budget, float) or not isinstance(delta, float | None):
        raise DamageFound("its budget cannot be read")
    try:
        expected = compute_caps(budget, delta)
    except InputError:
        raise DamageFound("its budget is none that a ledger has") from None
    if not isinstance(caps, dict) or caps.keys() != expected.keys():
        raise DamageFound("its caps cannot be read")
    for account, amounts in expected.items():
        if not isinstance(caps[account], list) or not _are_close(caps[account], amounts):
            raise DamageFound("its caps do not follow from its budget")
    known_caps: Caps = {account: tuple(caps[account]) for account in expected}
    return LedgerFacts(cast("str", unit), budget, delta, known_caps, key_check)


def is_unit(unit: object) -> bool:
    """Return whether a value names whose spending a ledger counts."""
    return isinstance(unit, str) and unit.isprintable() and 0 < len(unit) <= MAX_UNIT_LENGTH


def _are_close(caps: list[Any], expected: Amounts) -> bool:
    return len(caps) == len(expected) and all(
        _is_integer(cap) and abs(cap - exact) <= _CAP_TOLERANCE * (len(expected) > 1)
        for cap, exact in zip(caps, expected, strict=True)
    )


def check_total(person: object, account: object, amounts: object) -> Total:
    """Return what a person has spent on an account.

    Raises:
        DamageFound: a value that no ledger has.
    """
    if account not in ACCOUNT_NAMES:
        raise DamageFound("a total belongs to no account")
    if not isinstance(amounts, list) or not _are_amounts(account, amounts):
        raise DamageFound(f"a total of the {account} account cannot be read")
    return Total(check_hash(person), account, tuple(amounts))


def check_units(person: object, cost: Cost | None, cells: object, units: object) -> Units:
    """Return what a person was charged for at one cost.

    Raises:
        DamageFound: a value that no ledger has, or no cost.
    """
    if cost is None:
        raise DamageFound("a charge has a cost that is not there")
    if not _is_integer(cells) or not _is_integer(units) or cast("int", units) < 1:
        raise DamageFound("the units of a charge cannot be read")
    return Units(check_hash(person), cost, cast("int", cells), cast("int", units))


def check_hash(value: object) -> bytes:
    """Return a person's hash, or the fingerprint of a cell, else raise `DamageFound`."""
    if not isinstance(value, bytes) or len(value) != HASH_BYTES:
        raise DamageFound("a person or a charge has no name that a ledger gives")
    return value


def parse_cost(text: object) -> Cost:
    """Return the cost that `Cost.encode` encoded.

    Raises:
        DamageFound: it is the text of no cost.
    """
    fields = parse_json(text, "a cost")
    try:
        account, amounts, facts = fields["account"], fields["amounts"], fields["facts"]
    except (KeyError, TypeError):
        raise DamageFound("a cost lacks its account, its amounts or its facts") from None
    if account not in ACCOUNT_NAMES or not isinstance(amounts, list) or not _are_amounts(account, amounts):
        raise DamageFound("a cost has an account or amounts that no ledger has")
    if not isinstance(facts, dict) or not all(_is_fact(name, value) for name, value in facts.items()):
        raise DamageFound("a cost says what no release says")
    return Cost(account, tuple(amounts), facts)


def _is_fact(name: str, value: object) -> bool:
    if name in _TEXT_FACTS:
        return isinstance(value, str)
    if name in _NUMBER_FACTS:
        return (isinstance(value, float) and not math.isnan(value)) or _is_amount(value)
    return True


def _are_amounts(account: AccountName, amounts: Sequence[object]) -> bool:
    return len(amounts) == count_components(account) and all(map(_is_amount, amounts))


def _is_amount(value: object) -> bool:
    return _is_integer(value) and 0 <= cast("int", value) <= MAX_AMOUNT


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
