"""``deniable ledger export``: all totals as a table, for an audit or a backup that anybody can read."""

import json
from typing import Annotated

import typer

from deniable.cli.charging import LedgerArgument, LedgerKeyOption, list_ledger_files, open_ledger
from deniable.cli.options import ForceOption
from deniable.cli.terminal import say

ExportOption = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        help='File to write, one JSON object per line; "-" for standard output.',
        rich_help_panel="Output",
        metavar="FILE",
    ),
]


def run_ledger_export(
    where: LedgerArgument, *, output: ExportOption, key_file: LedgerKeyOption = None, force: ForceOption = False
) -> None:
    """Write what each person was charged for, one JSON object for each person and kind of release.

    People appear as keyed hashes, as in the ledger.

    Examples:
        deniable ledger export ledger.db --output charges.jsonl
    """
    from deniable.core.files import PIPE, check_outputs, open_outputs

    ledger = open_ledger(where, key_file)
    check_outputs([output], list_ledger_files(where, key_file), force=force)
    with open_outputs(output, force=force, owner_only=[output]) as (stream,):
        rows = 0
        for units in ledger.list_units():
            row = {
                "person": units.person.hex(),
                "account": units.cost.account,
                "charges": units.cells,
                "units": units.units,
                "amounts": [units.units * amount for amount in units.cost.amounts],
                "release": dict(units.cost.facts),
            }
            stream.write(json.dumps(row, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n")
            rows += 1
    if output != PIPE:
        say(f"wrote {rows:,} rows to {output}", err=True)
