"""Commands that other commands print, to be run as they stand."""

import itertools
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath

import typer

from deniable.cli.commandline import list_given_options
from deniable.cli.tables import COMPRESSED_ENDINGS
from deniable.core.files import PIPE

TABLE_OPTIONS = ("--format", "--delimiter", "--encoding", "--quoting")
"""How a table is written: what was given of it, every command about the same table is given too."""


def format_command(
    words: Sequence[str], source: str, options: Mapping[str, object], output_ending: str, flags: Sequence[str] = ()
) -> str:
    """Return a command about a table that runs as it stands.

    Args:
        words: the command, and what stands before the table.
        source: the table; a pipe is to be given again, and what comes out of it is named after its format.
        options: their values; None where they are not given.
        output_ending: of the name of what is written beside the table; one without a dot goes before the table's own.
        flags: options without a value.
    """
    path = PurePath(f"input.{options['--format']}" if source == PIPE else source)
    endings = "".join(path.suffixes[-2 if path.suffix.lower() in COMPRESSED_ENDINGS else -1 :])
    own_endings = "" if "." in output_ending else endings
    output = path.with_name(f"{path.name.removesuffix(endings)}.{output_ending}{own_endings}")
    given_options = [part for option, value in options.items() if value is not None for part in (option, str(value))]
    arguments = [_mark_as_path(source), *given_options, *flags, "--output", _mark_as_path(find_free_path(str(output)))]
    return shlex.join(["deniable", *words, *arguments])


def format_command_line(context: typer.Context, name: str) -> str:
    """Return the command line with the options that were given."""
    arguments = ["deniable", name, _mark_as_path(context.params["source"])]
    for option, value in list_given_options(context).items():
        if value is not False:  # of a file of options
            arguments += [option] if value is True else [option, str(value)]
    return shlex.join(arguments)


def select_given(context: typer.Context, *names: str) -> dict[str, str]:
    """Return the values of those of some options that stand on the command line."""
    given = list_given_options(context)
    return {name: str(given[name]) for name in names if name in given}


def _mark_as_path(path: str) -> str:
    """Return a path that no command takes for an option."""
    return f"./{path}" if path.startswith("-") and path != PIPE else path


def find_free_path(path: str) -> str:
    """A path at which nothing is: the path itself, or one with a number before its endings, from 2 on."""
    if not os.path.lexists(path):
        return path
    target = Path(path)
    stem, dot, endings = target.name.partition(".") if not target.name.startswith(".") else (target.name, "", "")
    candidates = (target.with_name(f"{stem}-{number}{dot}{endings}") for number in itertools.count(2))
    return next(str(candidate) for candidate in candidates if not os.path.lexists(candidate))
