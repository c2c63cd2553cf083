"""Whole columns of a table in memory, for measuring: texts, labels, authors, persons."""

import dataclasses
import os
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from deniable.core.errors import InputError
from deniable.core.files import open_input
from deniable.core.identity import DOUBLE_BITS, count_float_bits, is_null, make_identity
from deniable.text.columns import format_cell
from deniable.text.tables import delimited, detect_table_format, plain_text
from deniable.text.tables.arrow import list_values, note_copied_rows
from deniable.text.tables.copied_columns import MAX_JUDGED_ROWS, CopiedColumns
from deniable.text.tables.decoding import DecodedSource
from deniable.text.tables.jsonl import note_copied_members, parse_members, read_numbered_lines
from deniable.text.tables.layout import TableLayout
from deniable.text.tables.physical_types import open_parquet
from deniable.text.tables.rows import ReleasedRows, TextRows, list_column

TextColumns = dict[str, list[str | None]]


def read_columns(
    path: str, layout: TableLayout, table_format: str | None = None, copied: CopiedColumns | None = None
) -> TextColumns:
    """Return the columns that a layout names, each with one entry per record; numbers become texts, see `format_cell`.

    An empty csv cell is the empty text; only jsonl and parquet know None. A line of jsonl that is no object, or lacks
    a column, and a value that is no text or number are None too: each is a record that holds nothing there. Persons and
    record ids become identities, and are None where they name nobody, see `deniable.core.identity`.

    Args:
        path: the table, or ``-`` for standard input.
        layout: columns, those of ids and persons among them, delimiter and encoding.
        table_format: a name from `TABLE_FORMATS`; None for the one that the ending stands for.
        copied: takes note of what a release would copy, if that is asked for.

    Raises:
        InputError: the table cannot be read, or lacks a column, or no record of it can be read.
    """
    table_format = table_format or detect_table_format(path)
    try:
        with open_input(path, lambda _: None, seekable=table_format == "parquet") as stream:
            if table_format == "txt":
                return _read_plain_text(stream, layout)
            readers = {"jsonl": _read_jsonl, "parquet": _read_parquet}
            return readers.get(table_format, _read_delimited)(stream, layout, copied)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # damaged parquet or zstd raises any of them
        reason = " ".join(str(error).split()).rstrip(".")
        raise InputError(f"{layout.name} cannot be read as {table_format}: {reason}.") from None


def _read_plain_text(stream: BinaryIO, layout: TableLayout) -> TextColumns:
    """Read lines, by rewriting them to nowhere."""
    layout.check_columns([plain_text.LINE_COLUMN])
    texts: list[str | None] = []

    def collect(rows: TextRows) -> ReleasedRows:
        texts.extend(list_column(rows.columns[plain_text.LINE_COLUMN]))
        return ReleasedRows(rows.columns)

    with Path(os.devnull).open("wb") as null_sink:
        plain_text.release_plain_text(stream, null_sink, layout, collect)
    return {plain_text.LINE_COLUMN: texts}


def _read_delimited(stream: BinaryIO, layout: TableLayout, copied: CopiedColumns | None) -> TextColumns:
    """Read a csv or tsv; a row of which it is not known where its cells stand is read as nulls."""
    columns: TextColumns = {column: [] for column in layout.read_columns}
    first_error: InputError | None = None
    usable_rows = 0
    # Each column is read as it stands: a row without an id has its texts all the same.
    plain_layout = dataclasses.replace(layout, columns=layout.read_columns, id_column=None, person_column=None)
    for row in delimited.read_delimited_rows(stream, plain_layout, copied):
        if isinstance(row, InputError):
            first_error = first_error or row
            cells: dict[str, str | None] = {}
        else:
            usable_rows += 1
            cells = dict(row.cells)
        for column, values in columns.items():
            values.append(_convert_to_text(cells.get(column), column, layout))
    if first_error is not None and not usable_rows:
        raise first_error
    return columns


def _read_parquet(stream: BinaryIO, layout: TableLayout, copied: CopiedColumns | None) -> TextColumns:
    file = open_parquet(stream, layout)
    layout.check_columns(file.schema_arrow.names)
    try:
        table = file.read(columns=layout.read_columns)
        if copied is not None:
            copied.names += file.schema_arrow.names
            for batch in file.iter_batches(MAX_JUDGED_ROWS):
                note_copied_rows(pa.Table.from_batches([batch]), copied)
                break
    except RuntimeError as error:  # Arrow has no class for it
        raise pa.ArrowInvalid(str(error)) from None
    texts: TextColumns = {}
    for column in layout.read_columns:
        bits = count_float_bits(table.schema.field(column).type)
        texts[column] = [_convert_to_text(value, column, layout, bits) for value in list_values(table, column, layout)]
    return texts


def _read_jsonl(stream: BinaryIO, layout: TableLayout, copied: CopiedColumns | None) -> TextColumns:
    columns: TextColumns = {column: [] for column in layout.read_columns}
    first_errors: dict[str, InputError] = {}
    for number, raw in read_numbered_lines(DecodedSource(stream, layout)):
        if not raw.strip(" \t\r\n"):
            continue
        location = f"{layout.name} line {number}"
        for column, values in columns.items():
            try:
                members = parse_members(raw, TableLayout(layout.name, [column]), location)
                value = next(value for key, value, *_ in members if key == column)
                values.append(_convert_to_text(value, column, layout))
                if copied is not None and column == layout.columns[0]:
                    note_copied_members(members, copied)
            except InputError as error:
                first_errors.setdefault(column, error)
                values.append(None)
    for column, error_of_column in first_errors.items():
        if all(text is None for text in columns[column]):
            raise error_of_column
    return columns


def _convert_to_text(
    value: Any,  # noqa: ANN401 - whatever a table holds
    column: str,
    layout: TableLayout,
    float_bits: int = DOUBLE_BITS,
) -> str | None:
    if column in (layout.id_column, layout.person_column):
        try:
            return make_identity(value, float_bits)
        except InputError:
            return None
    if isinstance(value, bytes | list | dict):
        shown = repr(value)[:40]
        raise InputError(f"The column {column!r} of {layout.name} holds {shown}, no text: convert it to strings.")
    return None if is_null(value) else format_cell(value)
