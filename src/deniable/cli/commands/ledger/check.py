"""``deniable ledger check``: whether a ledger is whole, adds up, and keeps its caps."""

import typer

from deniable.cli.charging import LedgerArgument, LedgerKeyOption, open_ledger
from deniable.cli.process import EXIT_REFUTED
from deniable.cli.terminal import say

_MAX_SHOWN = 20


def run_ledger_check(where: LedgerArgument, *, key_file: LedgerKeyOption = None) -> None:
    """Check that a ledger is whole, that its charges add up, and that nobody is above a cap.

    Exits with 1 if something is wrong.

    Examples:
        deniable ledger check ledger.db
    """
    ledger = open_ledger(where, key_file)
    problems = ledger.find_problems()
    for problem in problems[:_MAX_SHOWN]:
        say(problem)
    if len(problems) > _MAX_SHOWN:
        say(f"and {len(problems) - _MAX_SHOWN:,} more")
    if problems:
        raise typer.Exit(EXIT_REFUTED)
    say("the database is whole, every total is the sum of its charges, and nobody is above a cap")
