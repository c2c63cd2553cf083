"""Whole columns of a table in memory, for measuring: texts, labels, authors."""

import dataclasses
import math
import os
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from deniable.errors import InputError
from deniable.text.tables import delimited, format_of, lines
from deniable.text.tables.decoding import Source
from deniable.text.tables.files import reading
from deniable.text.tables.jsonl import numbered_lines, parse_members
from deniable.text.tables.layout import Layout, Row
from deniable.text.tables.parquet import list_values

Columns = dict[str, list[str | None]]


def read_columns(path: str, layout: Layout, form: str | None = None) -> Columns:
    """Return the columns that a layout names, each with one entry per record; numbers become texts.

    An empty csv cell is the empty text; only jsonl and parquet know None. A line of jsonl that is no object, or lacks
    a column, and a value that is no text or number are None too: each is a record that holds nothing there.

    Args:
        path: the table, or ``-`` for standard input.
        layout: columns, delimiter and encoding; its id column is not read.
        form: a name from `FORMATS`; None for the one that the ending stands for.

    Raises:
        InputError: the table cannot be read, or lacks a column, or no record of it can be read.
    """
    form = form or format_of(path)
    try:
        with reading(path, lambda _: None, seekable=form == "parquet") as stream:
            if form == "parquet":
                return _parquet(stream, layout)
            return {"jsonl": _jsonl, "txt": _txt}.get(form, _delimited)(stream, layout)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # damaged parquet or zstd raises any of them
        reason = " ".join(str(error).split()).rstrip(".")
        raise InputError(f"{layout.name} cannot be read as {form}: {reason}.") from None


def _txt(stream: BinaryIO, layout: Layout) -> Columns:
    """Read lines, by rewriting them to nowhere."""
    layout.check([lines.COLUMN])
    texts: list[str | None] = []

    def collect(rows: list[Row]) -> list[list[str | None]]:
        texts.extend(text for row in rows for _, text in row.cells)
        return [[text for _, text in row.cells] for row in rows]

    with Path(os.devnull).open("wb") as nowhere:
        lines.rewrite(stream, nowhere, layout, collect)
    return {lines.COLUMN: texts}


def _delimited(stream: BinaryIO, layout: Layout) -> Columns:
    """Read a csv or tsv; a row of which it is not known where its cells stand is read as nulls."""
    columns: Columns = {column: [] for column in layout.columns}
    fault: InputError | None = None
    known = 0
    for row in delimited.read(stream, layout):
        if isinstance(row, InputError):
            fault = fault or row
            cells: dict[str, str | None] = {}
        else:
            known += 1
            cells = dict(row.cells)
        for column, held in columns.items():
            held.append(cells.get(column))
    if fault is not None and not known:
        raise fault
    return columns


def _parquet(stream: BinaryIO, layout: Layout) -> Columns:
    file = pq.ParquetFile(pa.PythonFile(stream, mode="r"))
    layout.check(file.schema_arrow.names)
    table = file.read(columns=list(layout.columns))
    return {
        column: [_plain(value, column, layout) for value in list_values(table, column, layout)]
        for column in layout.columns
    }


def _jsonl(stream: BinaryIO, layout: Layout) -> Columns:
    columns: Columns = {column: [] for column in layout.columns}
    faults: dict[str, InputError] = {}
    for number, raw in enumerate(numbered_lines(Source(stream, layout)), 1):
        if not raw.strip(" \t\r\n"):
            continue
        where = f"{layout.name} line {number}"
        for column, held in columns.items():
            try:
                members = parse_members(raw, dataclasses.replace(layout, columns=[column]), where)
                value = next(value for key, value, *_ in members if key == column)
                held.append(_plain(value, column, layout))
            except InputError as error:
                faults.setdefault(column, error)
                held.append(None)
    for column, fault in faults.items():
        if all(text is None for text in columns[column]):
            raise fault
    return columns


def _plain(value: Any, column: str, layout: Layout) -> str | None:  # noqa: ANN401 - whatever a table holds
    if isinstance(value, bytes | list | dict):
        got = repr(value)[:40]
        raise InputError(f"The column {column!r} of {layout.name} holds {got}, no text: convert it to strings.")
    if isinstance(value, float) and math.isnan(value):
        return None
    return None if value is None else str(value)
