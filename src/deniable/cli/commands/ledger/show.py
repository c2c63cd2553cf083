"""``deniable ledger show``: what was spent, by all persons or by one."""

import dataclasses
import json
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.cli.charging import open_ledger
from deniable.cli.commands.ledger.options import KeyFileOption, LedgerArgument
from deniable.cli.options import DATA_PANEL, JsonOption, make_option
from deniable.core.errors import InputError, escape_unprintable, shorten_text

if TYPE_CHECKING:
    from deniable.cli.commands.ledger.spending import AccountSpending, Spending

PersonNameOption = Annotated[
    str | None, make_option(DATA_PANEL, "--person", "Name of one person, as tables spell it.", metavar="NAME")
]

_NAMES = (("mechanism", "a release"), ("unit", "unit"))
_MAX_NAME_LENGTH = 80


def run_ledger_show(
    where: LedgerArgument,
    *,
    person: PersonNameOption = None,
    key_file: KeyFileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what was spent under a ledger, by all persons or by one.

    The figures are for the owner only: they depend on who has texts in the private tables, and how many.
    """
    from deniable.cli.commands.ledger.spending import read_spending
    from deniable.core.identity import make_identity

    if person is not None and make_identity(person) is None:
        raise InputError("--person is the name of a person. Got a blank one: give a name, or leave it out.")
    ledger = open_ledger(where, key_file)
    spending = read_spending(ledger, person)
    if as_json:
        typer.echo(json.dumps(dataclasses.asdict(spending), indent=2))
        return
    facts = ledger.facts
    typer.echo(f"{ledger.shown_location} allows {ledger.facts.describe_caps()}")
    for line in _describe_spending(spending, facts.unit, person):
        typer.echo(line)


def _describe_spending(spending: "Spending", unit: str, person: str | None) -> list[str]:
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
            "a metric account bounds a person's loss by its sum times the largest distance that a word moved; over "
            f"all distances, with the largest loss of a word, by {format_upper(spending.largest_loss)} nats"
        )
    return lines


def _show_name(name: str) -> str:
    """Return a name of a release, which may be damaged, on one line."""
    return escape_unprintable(shorten_text(name, _MAX_NAME_LENGTH))


def _describe_account(account: "AccountSpending", unit: str, *, is_one: bool) -> str:
    """Return how far an account was spent."""
    from deniable.core.numbers import format_lower, format_upper

    what = {"pure": "pure epsilon", "approximate": "epsilon at the ledger's delta"}
    name = what.get(account.name) or _show_name(account.name.replace(" ", " epsilon, ", 1))
    spent = f"{name:<30} {format_upper(account.largest)} of {format_lower(account.cap)} spent"
    if is_one:
        return spent
    return f"{spent} by the {unit} who has spent most; {account.persons:,} {unit}s have spent some"
