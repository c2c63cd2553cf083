"""Ledgers on the command line: opened before anything takes long, and what they were charged, for the owner only."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from deniable.cli.choices import OverBudgetHandling
from deniable.cli.owner_remarks import warn_owner
from deniable.cli.private_tables import PrivateTable
from deniable.cli.usable_rows import describe_rows, format_row_count, format_row_numbers
from deniable.core.errors import InputError

if TYPE_CHECKING:
    from deniable.ledger import Ledger
    from deniable.persons.budget import Budget
    from deniable.text.row_release import ChargeCounts


@dataclasses.dataclass(frozen=True)
class LedgerChoice:
    """The ledger of a run, as the options say.

    Attributes:
        location: path or address; None for no ledger.
        key_file: of its key; None for the one beside it.
        over_budget: what becomes of rows that its budget does not cover.
    """

    location: str | None = None
    key_file: Path | None = None
    over_budget: OverBudgetHandling = OverBudgetHandling.REFUSE

    def __post_init__(self) -> None:
        """Raise `InputError` for options that mean nothing without a ledger."""
        if self.location is None and (self.key_file is not None or self.over_budget is not OverBudgetHandling.REFUSE):
            option = "--over-budget" if self.key_file is None else "--key-file"
            raise InputError(f"{option} is for --ledger: name the ledger too, or leave it out.")

    @property
    def drops_rows(self) -> bool:
        """Whether rows that no budget covers are left out."""
        return self.location is not None and self.over_budget is OverBudgetHandling.DROP

    def list_files(self) -> list[str]:
        """Return the files of the ledger, which no output may be."""
        return [] if self.location is None else list_ledger_files(self.location, self.key_file)

    def open(self) -> "Ledger | None":
        """Return the ledger of persons, which can be reached and whose key fits; None for none.

        Raises:
            InputError: it cannot be reached, the key is another one, or it counts for the callers of a service.
        """
        from deniable.ledger.store import CALLER

        if self.location is None:
            return None
        ledger = open_ledger(self.location, self.key_file)
        if ledger.facts.unit == CALLER:
            raise InputError(
                f"The ledger {ledger.shown_location} counts for the callers of a service, and not for persons: make "
                "another with deniable ledger create."
            )
        return ledger

    def require_persons(self, column: str | None, format_name: str | None = None) -> None:
        """Raise `InputError` where there is a ledger and no column of persons, or none that a format could have."""
        if self.location is not None and format_name == "txt":
            raise InputError(
                "--ledger needs a column of persons, and a txt file has none: leave it out, or give a csv, tsv, jsonl "
                "or parquet."
            )
        if self.location is not None and column is None:
            raise InputError("--ledger counts what persons spend: name their column with --person.")


def charge_table(
    table: PrivateTable, choice: LedgerChoice, budget: "Budget", mechanism: str
) -> tuple[PrivateTable, list[str]]:
    """Charge the persons of a table; return the rows that are covered, and what a certificate says of that.

    Raises:
        InputError: the ledger cannot be used, or covers no row.
        BudgetExceeded: it does not cover the persons of some rows, and these are not to be left out.
    """
    from deniable.persons.charging import charge_persons
    from deniable.text.release_certificate import list_ledger_steps

    ledger = choice.open()
    if ledger is None or table.persons is None:
        return table, []
    left_out = charge_persons(ledger, budget, mechanism, table.persons, drops=choice.drops_rows)
    rows = [row for row, person in enumerate(table.persons) if person not in left_out]
    others = [table.rows[row] for row, person in enumerate(table.persons) if person in left_out]
    warn_owner(describe_rows("the private table", others, "left out, which the ledger's budget does not cover"))
    if not rows:
        raise InputError(f"The ledger's budget covers no row of the table: it allows {ledger.facts.describe_caps()}.")
    return table.take(rows), list_ledger_steps(ledger.facts.describe_caps(), drops_rows=choice.drops_rows)


def open_ledger(location: str, key_file: Path | None) -> "Ledger":
    """Return a ledger that can be reached and whose key fits.

    Raises:
        InputError: it cannot be reached, or the key is another one.
    """
    from deniable.ledger import Ledger

    ledger = Ledger(location, None if key_file is None else f"file:{key_file}")
    _ = ledger.facts
    return ledger


def list_ledger_files(location: str, key_file: Path | None) -> list[str]:
    """Return the files of a ledger, which no output may be."""
    from deniable.ledger.store import check_location, find_key_path, is_database_address

    endings = () if is_database_address(check_location(location)) else ("", "-wal", "-shm")
    return [*(f"{location}{ending}" for ending in endings), find_key_path(location, key_file)]


def report_charges(counts: "ChargeCounts") -> None:
    """Say what a ledger was charged for, and which rows were left out."""
    line = f"ledger: {counts.charged:,} texts charged, {counts.known:,} charged before, which cost nothing again"
    typer.echo(f"for you only   {line}", err=True)
    nameless = set(counts.nameless_rows)
    uncovered_rows = [row for row in counts.left_out_rows if row not in nameless]
    _report_left_out(uncovered_rows, "the budget does not cover")
    names = "name" if len(counts.nameless_rows) > 1 else "names"
    _report_left_out(counts.nameless_rows, f"{names} no person")


def _report_left_out(rows: list[int], reason: str) -> None:
    """Say which rows were left out, and why; nothing for no rows."""
    if rows:
        line = f"{format_row_count(rows)} left out, which {reason}: {format_row_numbers(rows)}"
        typer.echo(f"for you only   {line}", err=True)
