"""``deniable key``: write a new secret key."""

import os
from pathlib import Path
from typing import Annotated

import typer

from deniable.cli.outcome import note_written
from deniable.core.errors import InputError


def run_key(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File to write; it must not exist.")],
) -> None:
    """Write a new secret key, 32 random bytes, readable only by its owner.

    With privatize --key-file, the output depends only on the key, the record id and the text, so a run can be repeated.
    """
    from deniable.core.randomness import generate_key

    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise InputError(
            f"The key file {str(file)!r} exists: keys are never overwritten. Choose another name."
        ) from None
    except OSError as error:
        raise InputError(f"The key file {str(file)!r} cannot be written: {error.strerror}.") from None
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(generate_key())
    except OSError:
        file.unlink(missing_ok=True)
        raise
    note_written(file)
    typer.echo(f"Wrote {file}. Whoever has it can undo the noise: keep it secret.", err=True)
