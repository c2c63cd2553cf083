"""Tables with text columns: released or extended as streams, or read whole.

Only the bytes of the text cells change, or columns are added. A format is one subclass of `Table`.
"""

import contextlib
import dataclasses
import os
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from deniable.core.errors import InputError
from deniable.core.files import open_input
from deniable.text.tables.base import Table, TextColumns
from deniable.text.tables.copied_columns import CopiedColumns
from deniable.text.tables.delimited import DelimitedTable
from deniable.text.tables.jsonl import JsonlTable
from deniable.text.tables.layout import CopiedContent, NewColumns, TableLayout
from deniable.text.tables.parquet import ParquetTable
from deniable.text.tables.plain_text import PlainTextTable
from deniable.text.tables.rows import CellMaker, ReleasedRows, RowReleaser, TextRows

TABLE_FORMATS: dict[str, type[Table[Any, Any]]] = {
    "csv": DelimitedTable,
    "tsv": DelimitedTable,
    "jsonl": JsonlTable,
    "parquet": ParquetTable,
    "txt": PlainTextTable,
}
COMPRESSED_ENDINGS = (".gz", ".zst")
_FORMAT_OF_SUFFIX = {**{f".{name}": name for name in TABLE_FORMATS}, ".ndjson": "jsonl"}


def detect_table_format(path: str) -> str:
    """Return the format that a file name stands for.

    Raises:
        InputError: no known ending.
    """
    pure_path = PurePath(path)
    if pure_path.suffix.lower() in COMPRESSED_ENDINGS:
        pure_path = pure_path.with_suffix("")
    table_format = _FORMAT_OF_SUFFIX.get(pure_path.suffix.lower())
    if table_format is None:
        endings = " ".join(_FORMAT_OF_SUFFIX)
        raise InputError(
            f"Cannot tell the format of {path!r} by its ending. Known: {endings}, each also with "
            ".gz or .zst; or name it with --format."
        )
    return table_format


def check_head(path: str, layout: TableLayout, table_format: str) -> None:
    """Raise `InputError` where the head of a file shows that a column is missing, before work that takes long.

    A pipe, which can be read once, is left alone.
    """
    if os.path.isfile(path):  # noqa: PTH113 - any name
        with (
            open_input(path, lambda _: None, seekable=table_format == "parquet") as stream,
            _translate_errors(table_format, layout),
        ):
            TABLE_FORMATS[table_format](stream, dataclasses.replace(layout, remarks=[]))


def release_table(
    table_format: str, stream: BinaryIO, sink: BinaryIO, layout: TableLayout, release_rows: RowReleaser
) -> CopiedContent:
    """Copy a table with its texts released anew; return what was copied unchanged.

    Args:
        table_format: a name from `TABLE_FORMATS`.
        stream: to read; seekable for parquet.
        sink: to write.
        layout: where the texts stand.
        release_rows: gives the new texts of rows, of about `MAX_BATCH_CHARACTERS` at a time.

    Raises:
        InputError: no table of the format, a column that cannot be used, or a malformed row.
    """
    with _translate_errors(table_format, layout):
        table = TABLE_FORMATS[table_format](stream, layout)
        table.save(
            sink, (table.render(pieces, release_parts(rows, release_rows)) for pieces, rows in table.list_windows())
        )
        return table.describe()


def release_parts(rows: TextRows, release_rows: RowReleaser) -> ReleasedRows:
    """Return what becomes of rows, of which a release gets about `MAX_BATCH_CHARACTERS` at a time."""
    parts = [release_rows(part) for part in rows.split()]
    return ReleasedRows.join(parts) if parts else ReleasedRows(rows.columns, np.zeros(0, dtype=bool))


def extend_table(
    table_format: str,
    stream: BinaryIO,
    sink: BinaryIO,
    layout: TableLayout,
    new_columns: NewColumns,
    make_cells: CellMaker,
) -> None:
    """Copy a table with columns added behind its own; everything that was there stays.

    Args:
        table_format: a name from `TABLE_FORMATS`.
        stream: to read; seekable for parquet.
        sink: to write.
        layout: where the texts stand.
        new_columns: names of the columns, and what they hold.
        make_cells: gives the new cells of rows.

    Raises:
        InputError: see `release_table`, or a column that is to be added exists, or cannot be.
    """
    with _translate_errors(table_format, layout):
        table = TABLE_FORMATS[table_format](stream, layout, new_columns)
        table.save(
            sink,
            (
                table.extend(pieces, [cells for part in rows.split() for cells in make_cells(part)])
                for pieces, rows in table.list_windows()
            ),
        )


def read_table(
    path: str, layout: TableLayout, table_format: str | None = None, copied: CopiedColumns | None = None
) -> TextColumns:
    """Return the columns that a layout names, each with one entry per record; numbers become texts, see `format_cell`.

    An empty csv cell is the empty text; only jsonl and parquet know None. A row of csv with too few or too many cells,
    a line of jsonl that is no object, or lacks a column, and a value that is no text or number are None too: each is a
    record that holds nothing there. Persons and record ids become identities, and are None where they name nobody, see
    `deniable.core.identity`.

    Args:
        path: the table, or ``-`` for standard input.
        layout: columns, those of ids and persons among them, delimiter and encoding.
        table_format: a name from `TABLE_FORMATS`; None for the one that the ending stands for.
        copied: takes note of what a release would copy, if that is asked for.

    Raises:
        InputError: the table cannot be read, or lacks a column, or no record of it can be read.
    """
    table_format = table_format or detect_table_format(path)
    with (
        open_input(path, lambda _: None, seekable=table_format == "parquet") as stream,
        _translate_errors(table_format, layout),
    ):
        table = TABLE_FORMATS[table_format](stream, layout, copied=copied)
        return table.read_columns()


@contextlib.contextmanager
def _translate_errors(table_format: str, layout: TableLayout) -> Iterator[None]:
    """Raise `InputError` in place of what a damaged parquet file raises."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        # Errors of a disk have a number; those of compressed data are told apart where the file was opened.
        if table_format != "parquet" or (isinstance(error, OSError) and error.errno is not None):
            raise
        reason = " ".join(str(error).split()).rstrip(".: ")
        raise InputError(f"{layout.name} cannot be read as {table_format}: {reason}.") from None
