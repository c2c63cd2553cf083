"""Ledgers on the command line: opened before anything takes long, and what they were charged, for the owner only."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from deniable.cli.commandline import option
from deniable.cli.rows import format_row_count, format_row_numbers
from deniable.cli.terminal import say
from deniable.core.errors import InputError

if TYPE_CHECKING:
    from deniable.ledger import Ledger
    from deniable.text.row_release import ChargeCounts

LedgerArgument = Annotated[
    str, typer.Argument(metavar="WHERE", help="File of the ledger, or postgresql://user@host/database.")
]
LedgerKeyOption = Annotated[
    Path | None,
    typer.Option(
        "--key-file", help="Key of the ledger.", rich_help_panel="Output", metavar="FILE", show_default="WHERE.key"
    ),
]


@dataclasses.dataclass(frozen=True)
class LedgerChoice:
    """Privacy.

    Attributes:
        ledger: ledger to charge before the release; requires --person.
        key_file: key of the ledger.
        over_budget: what to do with rows the ledger's budget does not cover.

    Raises:
        InputError: what means nothing without a ledger.
    """

    ledger: str | None = dataclasses.field(default=None, metadata=option(metavar="WHERE"))
    key_file: Path | None = dataclasses.field(default=None, metadata=option(metavar="FILE", show_default="WHERE.key"))
    over_budget: Literal["refuse", "drop"] = "refuse"

    def __post_init__(self) -> None:
        """Refuse what means nothing without a ledger."""
        if self.ledger is None and (self.key_file is not None or self.over_budget != "refuse"):
            name = "--over-budget" if self.key_file is None else "--key-file"
            raise InputError(f"{name} is for --ledger: name the ledger too, or leave it out.")

    @property
    def drops_rows(self) -> bool:
        """Whether rows that no budget covers are left out."""
        return self.ledger is not None and self.over_budget == "drop"

    def list_files(self) -> list[str]:
        """Return the files of the ledger, which no output may be."""
        return [] if self.ledger is None else list_ledger_files(self.ledger, self.key_file)

    def open(self) -> "Ledger | None":
        """Return the ledger of persons, which can be reached and whose key fits; None for none.

        Raises:
            InputError: it cannot be reached, the key is another one, or it counts for the callers of a service.
        """
        from deniable.ledger.store import CALLER

        if self.ledger is None:
            return None
        ledger = open_ledger(self.ledger, self.key_file)
        if ledger.facts.unit == CALLER:
            raise InputError(
                f"The ledger {ledger.shown_location} counts the callers of a service, not people: make "
                "another with deniable ledger create."
            )
        return ledger

    def require_persons(self, column: str | None) -> None:
        """Raise `InputError` where there is a ledger and no column of persons."""
        if self.ledger is not None and column is None:
            raise InputError(
                "--ledger counts what people spend: name their column with --person (a txt file has none)."
            )


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
    say(f"for you only   {line}", err=True)
    nameless = set(counts.nameless_rows)
    uncovered_rows = [row for row in counts.left_out_rows if row not in nameless]
    names = "name" if len(nameless) > 1 else "names"
    for rows, reason in (
        (uncovered_rows, "the budget does not cover"),
        (counts.nameless_rows, f"{names} no person"),
    ):
        if rows:
            line = f"{format_row_count(rows)} left out, which {reason}: {format_row_numbers(rows)}"
            say(f"for you only   {line}", err=True)
