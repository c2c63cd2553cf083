"""What a ledger says of all persons together, or of one: for its owner only."""

import dataclasses
import itertools
import math
from collections.abc import Mapping
from typing import Any

from deniable.ledger.accounts import EPSILON_UNITS, compute_spent_epsilon, find_kind
from deniable.ledger.ledger import Ledger


@dataclasses.dataclass
class AccountSpending:
    """How far an account was spent.

    Attributes:
        name: which.
        cap: epsilon that each person has.
        persons: number of persons who have spent some.
        largest: epsilon of the person who has spent most.
    """

    name: str
    cap: float
    persons: int = 0
    largest: float = 0.0


@dataclasses.dataclass
class ChargedRelease:
    """What one kind of release was charged for.

    Attributes:
        account: to which.
        facts: mechanism, epsilon and the like.
        cells: number of charges.
        units: words, texts or persons.
    """

    account: str
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

    accounts: list[AccountSpending]
    releases: list[ChargedRelease]
    largest_loss: float | None


def read_spending(ledger: Ledger, person: str | None = None) -> Spending:
    """Return what was spent, by all persons or by one who is named.

    Raises:
        InputError: the ledger cannot be read.
    """
    facts, accounts = ledger.facts, dict[str, AccountSpending]()
    for total in ledger.list_totals(person):
        account = accounts.setdefault(total.account, AccountSpending(total.account, facts.budget))
        account.persons += 1
        epsilon = total.amounts[0] / EPSILON_UNITS
        if total.account == "approximate" and facts.delta is not None:
            epsilon = compute_spent_epsilon(total.amounts, facts.delta)
        account.largest = max(account.largest, epsilon)
    releases, largest_loss = dict[str, ChargedRelease](), None
    for _, rows in itertools.groupby(ledger.list_units(person), key=lambda units: units.person):
        loss = 0.0
        for units in rows:
            release = releases.setdefault(units.cost.encode(), ChargedRelease(units.cost.account, units.cost.facts))
            release.cells += units.cells
            release.units += units.units
            if find_kind(units.cost.account) == "metric":
                loss += float(units.cost.facts.get("largest loss", math.inf)) * units.units
        largest_loss = max(loss, largest_loss or 0.0) or None
    return Spending([*accounts.values()], [*releases.values()], largest_loss)
