"""Tables that commands read whole: which file, which columns."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.errors import InputError

if TYPE_CHECKING:
    from deniable.text.tables.columns import Columns

PIPE = "-"


@dataclasses.dataclass(frozen=True)
class Form:
    """How a table is written, as the options say.

    Attributes:
        kind: csv, tsv, jsonl, parquet or txt; None for what the ending stands for.
        delimiter: of csv and tsv; None for the usual one.
        encoding: of everything but parquet.
    """

    kind: str | None
    delimiter: str | None
    encoding: str


def read_table(source: str, columns: Sequence[str | None], form: Form) -> "Columns":
    """Return the columns of a table that were named.

    Args:
        source: a path, or - for standard input.
        columns: the text column, then others; None where an option was not given.
        form: how it is written.

    Raises:
        InputError: the table cannot be read, lacks a column, or one column was named twice.
    """
    from deniable.text.tables import FORMATS, format_of  # noqa: PLC0415 - keeps --help fast
    from deniable.text.tables.columns import read_columns  # noqa: PLC0415
    from deniable.text.tables.layout import Layout  # noqa: PLC0415

    named = [column for column in columns if column is not None]
    for column in named[1:]:
        if column == named[0]:
            raise InputError(f"The column {column!r} cannot be texts and labels or authors at once: name another.")
    if form.kind is not None and form.kind not in FORMATS:
        raise InputError(f"Unknown format {form.kind!r}. Known: {', '.join(FORMATS)}.")
    if form.kind is None and source == PIPE:
        raise InputError("The format of a pipe must be named, for example --format csv.")
    if source != PIPE and not Path(source).is_file():
        raise InputError(f"The input {source!r} is not a file: give the path of one, or - for a pipe.")
    kind = form.kind or format_of(source)
    if kind == "txt" and named != ["text"]:
        raise InputError("A txt file has no columns, each line is a text: leave out --column, --label and --author.")
    layout = Layout(
        name="the input" if source == PIPE else source,
        columns=list(dict.fromkeys(named)),
        delimiter=delimiter_of(kind, form.delimiter),
        encoding=form.encoding,
    )
    return read_columns(source, layout, kind)


def read_public(source: str, column: str, form: Form) -> list[str | None]:
    """Return the texts of a file: of a table the column, of any other file the lines.

    Raises:
        InputError: the file cannot be read, or holds no text.
    """
    from deniable.text.tables import format_of  # noqa: PLC0415

    try:
        kind = format_of(source)
    except InputError:
        kind = "txt"
    if kind not in ("csv", "tsv"):
        form = dataclasses.replace(form, delimiter=None)
    name = "text" if kind == "txt" else column
    found = read_table(source, [name], dataclasses.replace(form, kind=kind))[name]
    if not any(text and text.strip() for text in found):
        raise InputError(f"The public file {source!r} holds no text: give one with texts, or leave out --public.")
    return found


def delimiter_of(kind: str, chosen: str | None) -> str:
    """Return the delimiter of a csv or tsv.

    Raises:
        InputError: it is no single character, or the format has none.
    """
    if chosen is None:
        return "\t" if kind == "tsv" else ","
    if kind not in ("csv", "tsv"):
        raise InputError(f"--delimiter is for csv and tsv. Got it for {kind}: leave it out.")
    delimiter = "\t" if chosen == "\\t" else chosen
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise InputError(f"The delimiter must be one character, no quote or line end. Got {chosen!r}.")
    return delimiter


def format_between(source: str, output: str, chosen: str | None) -> str:
    """Return the format of a table and of what is made of it: the one chosen, or that of the file names.

    Raises:
        InputError: an unknown format, two different ones, or none that can be told.
    """
    from deniable.text.tables import FORMATS, format_of  # noqa: PLC0415

    if chosen is not None:
        if chosen not in FORMATS:
            raise InputError(f"Unknown format {chosen!r}. Known: {', '.join(FORMATS)}.")
        return chosen
    named = [format_of(path) for path in (source, output) if path != PIPE]
    if not named:
        raise InputError("Between two pipes the format must be named, for example --format csv.")
    if len(set(named)) > 1:
        raise InputError(
            f"The output has the input's format, {named[0]}. Got {output!r}: change its ending, or name the "
            "format with --format."
        )
    return named[0]


def text_columns(kind: str, column: list[str] | None, record_id: str | None = None) -> list[str]:
    """Return the columns of text, "text" where none was named.

    Raises:
        InputError: columns of a txt file, or the ids among them.
    """
    if kind == "txt" and (column or record_id):
        raise InputError("A txt file has no columns, each line is a record: leave out --column and --id.")
    columns = list(dict.fromkeys(column or ["text"]))
    if record_id in columns:
        raise InputError(f"The id column {record_id!r} cannot be a text column too: ids are copied as they are.")
    return columns


def certificate_path(output: str, chosen: str | None) -> str:
    """Return where the certificate of an output goes.

    Raises:
        InputError: to a pipe, or beside one.
    """
    if chosen == PIPE:
        raise InputError("The certificate must be a file: name one with --certificate FILE.")
    if chosen is None and output == PIPE:
        raise InputError("With --output - the certificate needs a place: name one with --certificate FILE.")
    return chosen or f"{output}.certificate.json"
