"""Columns of a table that a command reads whole."""

from typing import TYPE_CHECKING

from deniable.errors import InputError

if TYPE_CHECKING:
    from deniable.text.tables.columns import Columns


def read_table(source: str, columns: list[str], chosen: str | None, delimiter: str | None, encoding: str) -> "Columns":
    """Return columns of a table.

    Args:
        source: path of the table.
        columns: their names.
        chosen: format, None for the one that the ending stands for.
        delimiter: of csv and tsv, None for the usual one.
        encoding: of everything but parquet.

    Raises:
        InputError: an unknown format, a table that cannot be read, or one without rows.
    """
    from deniable.text.tables import FORMATS, format_of  # noqa: PLC0415 - keeps --help fast
    from deniable.text.tables.columns import read_columns  # noqa: PLC0415
    from deniable.text.tables.layout import Layout  # noqa: PLC0415

    if chosen is not None and chosen not in FORMATS:
        raise InputError(f"Unknown format {chosen!r}. Known: {', '.join(FORMATS)}.")
    kind = chosen or format_of(source)
    names = list(dict.fromkeys(columns))
    if len(names) < len(columns):
        raise InputError(f"Each column has one part to play. Got {', '.join(map(repr, columns))}: name different ones.")
    layout = Layout(name=source, columns=names, delimiter=delimiter_of(kind, delimiter), encoding=encoding)
    found = read_columns(source, layout, kind)
    if not found[names[0]]:
        raise InputError(f"{source} has no rows: give a table with texts.")
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
