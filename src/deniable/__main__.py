"""``python -m deniable``: the ``deniable`` command, which an interruption ends in one line also while it starts."""

import sys
from typing import NoReturn

from deniable.core.errors import is_interruption

_COULD_NOT_RUN = 2


def run() -> NoReturn:
    """Import the command line, which takes a moment, and run it."""
    try:
        from deniable.cli.main import run as run_command  # noqa: PLC0415 - an interruption of the import is one line
    except BaseException as error:
        if not is_interruption(error):
            raise
        print("deniable: interrupted: nothing was written.", file=sys.stderr)  # noqa: T201 - the command's own output
        sys.exit(_COULD_NOT_RUN)
    run_command()


if __name__ == "__main__":
    run()
