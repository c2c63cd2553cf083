"""``deniable key``: make a secret key."""

import os
from pathlib import Path
from typing import Annotated

import typer

from deniable.core.errors import InputError


def run_key(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write the run_key; the file must not exist.")],
) -> None:
    """Write a new secret key, 32 random bytes, that only its owner can read.

    With --key-file the output is a function of key, record id and text: a run can be repeated.
    """
    from deniable.core.randomness import generate_key  # noqa: PLC0415 - keeps --help fast

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
    typer.echo(f"Wrote {file}. Whoever has it can undo the noise: keep it secret.", err=True)
