"""What the commands on ledgers share: where a ledger is, and its key."""

from pathlib import Path
from typing import Annotated

import typer

from deniable.cli.options import OUTPUT_PANEL, make_option

LedgerArgument = Annotated[
    str,
    typer.Argument(metavar="WHERE", help="File of the ledger, or postgresql://user@host/database.", show_default=False),
]
KeyFileOption = Annotated[
    Path | None,
    make_option(OUTPUT_PANEL, "--key-file", "Key of the ledger.", metavar="FILE", default_text="WHERE.key"),
]
