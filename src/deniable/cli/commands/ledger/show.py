"""``deniable ledger show``: what was spent, by all persons or by one."""

import dataclasses
import itertools
import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deniable.cli.charging import LedgerArgument, LedgerKeyOption, open_ledger
from deniable.cli.options import JsonOption
from deniable.cli.terminal import say
from deniable.core.errors import InputError, escape_unprintable, shorten_text

if TYPE_CHECKING:
    from deniable.ledger import Ledger

_NAMES = (("mechanism", "a release"), ("unit", "unit"))
_MAX_NAME_LENGTH = 80


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


def read_spending(ledger: "Ledger", person: str | None = None) -> Spending:
    """Return what was spent, by all persons or by one who is named.

    Raises:
        InputError: the ledger cannot be read.
    """
    from deniable.ledger.accounts import EPSILON_UNITS, compute_spent_epsilon, find_kind

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


def run_ledger_show(
    where: LedgerArgument,
    *,
    person: Annotated[
        str | None,
        typer.Option(
            "--person", help="Name of one person, as tables spell it.", rich_help_panel="Data", metavar="NAME"
        ),
    ] = None,
    key_file: LedgerKeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what was spent under a ledger, by everybody or by one person.

    The figures are for the owner only: they depend on who has texts in the private tables, and how many.

    Examples:
        deniable ledger show ledger.db
        deniable ledger show ledger.db --person ann --json
    """
    from deniable.core.identity import make_identity

    if person is not None and make_identity(person) is None:
        raise InputError("--person is the name of a person. Got a blank one: give a name, or leave it out.")
    ledger = open_ledger(where, key_file)
    spending = read_spending(ledger, person)
    if as_json:
        typer.echo(json.dumps(dataclasses.asdict(spending), indent=2))
        return
    facts = ledger.facts
    say(f"{ledger.shown_location} allows {ledger.facts.describe_caps()}")
    for line in _describe_spending(spending, facts.unit, person):
        say(line)


def _describe_spending(spending: Spending, unit: str, person: str | None) -> list[str]:
    """Return the lines of a report: accounts first, then what they were charged for."""
    from deniable.core.numbers import format_exact, format_upper

    if not spending.accounts:
        return [f"nothing was charged to {'anybody' if person is None else repr(person)}"]
    lines = [_describe_account(account, unit, is_one=person is not None) for account in spending.accounts]
    for row in spending.releases:
        name, what = (_show_name(row.facts.get(key, default)) for key, default in _NAMES)
        epsilon = row.facts.get("epsilon")
        at = "" if epsilon is None else f" at epsilon {format_exact(epsilon)}"
        lines.append(f"  {name}{at}: {row.cells:,} charged, {row.units:,} {what}s ({_show_name(row.account)})")
    if spending.largest_loss is not None:
        lines.append(
            "a metric account bounds a person's loss by its sum times the largest distance that a word moved; "
            f"whatever the distances were, the loss is at most {format_upper(spending.largest_loss)} nats"
        )
    return lines


def _show_name(name: str) -> str:
    """Return a name of a release, which may be damaged, on one line."""
    return escape_unprintable(shorten_text(name, _MAX_NAME_LENGTH))


def _describe_account(account: AccountSpending, unit: str, *, is_one: bool) -> str:
    """Return how far an account was spent."""
    from deniable.core.numbers import format_lower, format_upper

    what = {"pure": "pure epsilon", "approximate": "epsilon at the ledger's delta"}
    name = what.get(account.name) or _show_name(account.name.replace(" ", " epsilon, ", 1))
    spent = f"{name:<30} {format_upper(account.largest)} of {format_lower(account.cap)} spent"
    if is_one:
        return spent
    return f"{spent} by the {unit} who has spent most, of {account.persons:,} charged"
