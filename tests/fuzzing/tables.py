"""Targets for the readers of tables: rows in are rows out, and every byte that is not text stays."""

import contextlib
import io
import json
from collections.abc import Callable
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from deniable.core.errors import InputError
from deniable.text.tables import decoding, release_table
from deniable.text.tables.layout import TableLayout
from deniable.text.tables.rows import ReleasedRows, TextRows, list_texts, make_column

TOKENS = ("NEWTEXTA", "NEWTEXTB")
"""What every text becomes: what they share is what was copied."""
ENCODINGS = ("utf-8", "utf-16", "cp1252", "latin-1", "shift_jis", "utf-8-sig")
DELIMITERS = (",", ";", "\t", "|", "é")
CHUNKS = (1, 2, 7, 64, decoding.CHUNK_BYTES)
_JSON = json.JSONDecoder()

Walker = Callable[[str, int, str], int]
"""Maps a table, where a text begins and the text to where it ends."""


class BugFound(Exception):  # noqa: N818 - what a target has found
    """A table was not released as it should be."""


def _release(kind: str, data: bytes, layout: TableLayout, token: str, chunk: int) -> tuple[bytes, list[TextRows]]:
    """Return a table in which every text is a token, and the rows that were given."""
    seen: list[TextRows] = []

    def replace(rows: TextRows) -> ReleasedRows:
        seen.append(rows)
        columns = {
            name: make_column([token if text else text for text in list_texts(column)])
            for name, column in rows.columns.items()
        }
        return ReleasedRows(columns, np.ones(len(rows), dtype=bool))

    sink = io.BytesIO()
    with mock.patch.object(decoding, "CHUNK_BYTES", chunk):
        release_table(kind, io.BytesIO(data), sink, layout, replace)
    return sink.getvalue(), seen


def _list_texts(seen: list[TextRows]) -> list[str]:
    """Return the texts that were replaced, in the order of the rows."""
    rows_of_texts = (zip(*map(list_texts, rows.columns.values()), strict=True) for rows in seen)
    return [text for texts_of_row in rows_of_texts for texts in texts_of_row for text in texts if text]


def _walk_quoted(table: str, start: int, text: str) -> int:
    for cell in ('"' + text.replace('"', '""') + '"', text):
        if table.startswith(cell, start):
            return start + len(cell)
    raise BugFound(f"a text is not where it was: {table[start : start + 40]!r}")


def _walk_literal(table: str, start: int, text: str) -> int:
    value, end = _JSON.raw_decode(table, start)
    if value != text:
        raise BugFound(f"a text is not where it was: {table[start : start + 40]!r}")
    return end


def _walk_line(table: str, start: int, text: str) -> int:
    if not table.startswith(text, start):
        raise BugFound(f"a text is not where it was: {table[start : start + 40]!r}")
    return start + len(text)


def _check_copy(source: str, released: str, texts: list[str], walk: Walker, token: str) -> None:
    """Raise `BugFound` unless the released table is the source with its texts replaced."""
    position = 0
    *pieces, last = released.split(token)
    if len(pieces) != len(texts):
        raise BugFound(f"{len(texts)} texts, {len(pieces)} new ones")
    for piece, text in zip(pieces, texts, strict=True):
        bare = piece.removesuffix('"') if walk is _walk_literal else piece
        bare = bare.removeprefix('"') if walk is _walk_literal and position else bare
        if not source.startswith(bare, position):
            raise BugFound(f"a byte changed near {source[position : position + 40]!r}: {bare[:40]!r}")
        position = walk(source, position + len(bare), text)
    last = last.removeprefix('"') if walk is _walk_literal and texts else last
    if source[position:] != last:
        raise BugFound(f"the end changed: {source[position:][:40]!r}, {last[:40]!r}")


def _check_text_table(kind: str, data: bytes, layout: TableLayout, chunk: int, walk: Walker) -> None:
    """Release a table twice, in pieces and at once, and compare with its source."""
    if any(token.encode(layout.encoding.replace("utf-16", "utf-16-le")) in data for token in TOKENS):
        return
    try:
        first, seen = _release(kind, data, layout, TOKENS[0], chunk)
    except InputError as error:
        if "\n" in str(error):
            raise BugFound("an error of several lines") from error
        first, seen = b"", []
    try:
        second, again = _release(kind, data, layout, TOKENS[1], decoding.CHUNK_BYTES)
    except InputError:
        second, again = b"", []
    if bool(first) != bool(second) or (first and _list_texts(seen) != _list_texts(again)):
        raise BugFound("what is read depends on how much is read at a time")
    if not first:
        return
    codec = decoding._resolve_encoding(layout.encoding, data)  # told apart by the mark
    encoded = [token.encode(codec) for token in TOKENS]
    if first.replace(encoded[0], encoded[1]) != second:
        raise BugFound("what is copied depends on the new texts")
    _check_copy(data.decode(codec), first.decode(codec), _list_texts(seen), walk, TOKENS[0])


def fuzz_csv(data: bytes) -> None:
    """Read a csv: three bytes choose encoding, delimiter and size of reads."""
    if len(data) < 3:
        return
    layout = TableLayout(
        "the table",
        ("text", "more") if data[0] & 0x80 else ("text",),
        delimiter=DELIMITERS[data[1] % len(DELIMITERS)],
        encoding=ENCODINGS[data[0] % len(ENCODINGS)],
    )
    _check_text_table("csv", data[3:], layout, CHUNKS[data[2] % len(CHUNKS)], _walk_quoted)


def fuzz_jsonl(data: bytes) -> None:
    """Read JSON lines: two bytes choose encoding and size of reads."""
    if len(data) < 2:
        return
    layout = TableLayout(
        "the table",
        ("text",),
        id_column="id" if data[0] & 0x80 else None,
        encoding=ENCODINGS[data[0] % len(ENCODINGS)],
    )
    _check_text_table("jsonl", data[2:], layout, CHUNKS[data[1] % len(CHUNKS)], _walk_literal)


def fuzz_txt(data: bytes) -> None:
    """Read lines of plain text: two bytes choose encoding and size of reads."""
    if len(data) < 2:
        return
    layout = TableLayout("the table", encoding=ENCODINGS[data[0] % len(ENCODINGS)])
    _check_text_table("txt", data[2:], layout, CHUNKS[data[1] % len(CHUNKS)], _walk_line)


def fuzz_parquet(data: bytes) -> None:
    """Read a parquet file; rows and the other columns come out as they were."""
    layout = TableLayout("the table", ("text",))
    with contextlib.suppress(InputError):
        released, seen = _release("parquet", data, layout, TOKENS[0], decoding.CHUNK_BYTES)
        _compare_parquet(data, released, [text for rows in seen for text in list_texts(rows.columns["text"])])


def _compare_parquet(data: bytes, released: bytes, texts: list[str | None]) -> None:
    before, after = pq.read_table(pa.BufferReader(data)), pq.read_table(pa.BufferReader(released))
    if len(before) != len(after) or len(texts) != len(before):
        raise BugFound(f"{len(before)} rows in, {len(after)} out")
    expected = [TOKENS[0] if text else text for text in texts]
    if after["text"].to_pylist() != expected:
        raise BugFound("a text passed")
    for name in before.column_names:
        is_alone = before.column_names.count(name) == 1
        if name != "text" and is_alone and repr(_list(before[name])) != repr(_list(after[name])):  # NaN is never equal
            raise BugFound(f"the column {name!r} changed")


def _list(column: pa.ChunkedArray) -> list[object] | pa.ChunkedArray:
    """Return the values of a column, or the column where Python has no such values."""
    try:
        return column.to_pylist()
    except (ValueError, OverflowError, KeyError):
        return column
