"""Ledgers on the command line: opened before anything takes long, and what they were charged, for the owner only."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from deniable.cli.usable_rows import format_row_count, format_row_numbers

if TYPE_CHECKING:
    from deniable.ledger import Ledger
    from deniable.text.table_release import ChargeCounts


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
    from deniable.ledger.ledger import find_key_path, is_database_address

    files = [] if is_database_address(location) else [location]
    return [*files, find_key_path(location, key_file)]


def report_charges(counts: "ChargeCounts") -> None:
    """Say what a ledger was charged for, and which rows were left out."""
    line = f"ledger: {counts.charged:,} texts charged, {counts.known:,} charged before, which cost nothing again"
    typer.echo(f"for you only   {line}", err=True)
    if counts.left_out_rows:
        rows = counts.left_out_rows
        typer.echo(
            f"for you only   {format_row_count(rows)} left out, which the budget does not cover: "
            f"{format_row_numbers(rows)}",
            err=True,
        )
