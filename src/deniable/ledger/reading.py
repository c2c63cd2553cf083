"""What a ledger says of all persons together, or of one: for its owner only."""

import dataclasses
import itertools
import json
import math
from collections.abc import Mapping
from typing import Any

from deniable.ledger.accounts import EPSILON_UNITS, AccountName, Amounts, compute_spent_epsilon
from deniable.ledger.ledger import Ledger
from deniable.ledger.store import LedgerFacts, Units


@dataclasses.dataclass
class Account:
    """How far an account was spent.

    Attributes:
        name: which.
        cap: epsilon that each person has.
        persons: number of persons who have spent some.
        largest: epsilon of the person who has spent most.
    """

    name: AccountName
    cap: float
    persons: int = 0
    largest: float = 0.0


@dataclasses.dataclass
class Release:
    """What one kind of release was charged for.

    Attributes:
        account: to which.
        facts: mechanism, epsilon and the like.
        cells: number of charges.
        units: words, texts or persons.
    """

    account: AccountName
    facts: Mapping[str, Any]
    cells: int = 0
    units: int = 0


@dataclasses.dataclass(frozen=True)
class Spending:
    """What was spent under a ledger.

    Attributes:
        accounts: those that were charged.
        releases: what they were charged for.
        largest_loss: bound on the privacy loss of the person for whom it is largest, by words alone, in nats: units
            times the largest loss of a word; None where no word was charged.
    """

    accounts: list[Account]
    releases: list[Release]
    largest_loss: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        return dataclasses.asdict(self)


def read_spending(ledger: Ledger, person: str | None = None) -> Spending:
    """Return what was spent, by all persons or by one who is named.

    Raises:
        InputError: the ledger cannot be read.
    """
    facts, accounts = ledger.facts, dict[str, Account]()
    for total in ledger.list_totals(person):
        if not any(total.amounts):
            continue
        account = accounts.setdefault(total.account, Account(total.account, facts.budget))
        account.persons += 1
        account.largest = max(account.largest, compute_epsilon(facts, total.account, total.amounts))
    releases, largest_loss = dict[str, Release](), None
    for _, rows in itertools.groupby(ledger.list_units(person), key=lambda units: units.person):
        loss = 0.0
        for units in rows:
            release = releases.setdefault(units.cost.encode(), Release(units.cost.account, units.cost.facts))
            release.cells += units.cells
            release.units += units.units
            if units.cost.account == "metric":
                loss += float(units.cost.facts.get("largest loss", math.inf)) * units.units
        largest_loss = max(loss, largest_loss or 0.0) or None
    return Spending([*accounts.values()], [*releases.values()], largest_loss)


def compute_epsilon(facts: LedgerFacts, account: AccountName, amounts: Amounts) -> float:
    """Return what amounts on an account are as an epsilon."""
    if account == "approximate" and facts.delta is not None:
        return compute_spent_epsilon(amounts, facts.delta)
    return amounts[0] / EPSILON_UNITS


def encode_units(units: Units) -> bytes:
    """Return a row of an export, a JSON object on a line."""
    row = {
        "person": units.person.hex(),
        "account": units.cost.account,
        "charges": units.cells,
        "units": units.units,
        "amounts": [units.units * amount for amount in units.cost.amounts],
        "release": dict(units.cost.facts),
    }
    return json.dumps(row, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
