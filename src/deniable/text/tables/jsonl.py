"""JSON lines: only the literals of the text values are replaced, every other byte is kept."""

import dataclasses
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from deniable.core.errors import InputError
from deniable.core.identity import make_identity
from deniable.text.tables.copied_columns import CopiedColumns
from deniable.text.tables.decoding import DecodedSource
from deniable.text.tables.layout import (
    CellMaker,
    CopiedContent,
    Edit,
    NewCells,
    NewColumns,
    TableLayout,
    apply_edits,
    batch_records,
    find_cuts,
    format_share,
)
from deniable.text.tables.rows import ReleasedRows, RowReleaser, TextRow, TextRows, list_column

JsonMember = tuple[str, Any, int, int, int]
"""Key, value, and where in the line the value begins and ends, and the key begins."""

_BLANK = " \t\r\n"
_WHITESPACE = re.compile(r"[ \t\r\n]*")
_BLANK_LINES = re.compile(r"[ \t\r\n]*\n")
_DECODER = json.JSONDecoder()
_scan_string: Callable[[str, int, bool], tuple[str, int]] = json.decoder.scanstring  # type: ignore[attr-defined]
_MAX_LISTED_KEYS = 30
"""Keys that a message lists."""
_MAX_REMEMBERED_KEYS = 1000
"""Distinct keys that are remembered for the list of copied columns."""


@dataclasses.dataclass(frozen=True, slots=True)
class _JsonLine:
    raw: str
    row: TextRow | None
    spans: list[tuple[int, int]]
    cuts: list[Edit]


def release_jsonl_table(
    stream: BinaryIO, sink: BinaryIO, layout: TableLayout, release_rows: RowReleaser
) -> CopiedContent:
    """Copy JSON lines with their texts released anew; return what was copied, the other keys met.

    Raises:
        InputError: a line that is no object, lacks a column, or has a text that is none.
    """
    source = DecodedSource(stream, layout)
    sink.write(source.encode(source.byte_order_mark))
    key_names: dict[str, None] = {}
    parsed_lines = (_parse_line(raw, number, layout, key_names) for number, raw in read_numbered_lines(source))
    copied = CopiedColumns(layout)
    sink.writelines(
        _release_batch(batch, source, release_rows, copied)
        for batch in batch_records(parsed_lines, lambda line: len(line.raw))
    )
    layout.check_selection(key_names)
    copied.names += key_names
    return copied.describe()


def read_lines(source: DecodedSource) -> Iterator[str]:
    """Yield the lines of a source, each with its line feed."""
    buffer = ""
    while not source.is_exhausted:
        buffer += source.read_more(buffer)
        *complete, buffer = buffer.split("\n")
        for line in complete:
            yield line + "\n"
    if buffer:
        yield buffer


def read_numbered_lines(source: DecodedSource) -> Iterator[tuple[int, str]]:
    """Yield the lines of a source with their numbers from 1 on, and lines that are blank together, as one of many."""
    number, buffer = 1, ""
    while not source.is_exhausted:
        buffer += source.read_more(buffer)
        start, end = 0, buffer.rfind("\n") + 1
        while start < end:
            blank = _BLANK_LINES.match(buffer, start) if buffer[start] in _BLANK else None
            behind = buffer.index("\n", start) + 1 if blank is None else blank.end()
            yield number, buffer[start:behind]
            number += 1 if blank is None else buffer.count("\n", start, behind)
            start = behind
        buffer = buffer[end:]
    if buffer:
        yield number, buffer


def _parse_line(raw: str, number: int, layout: TableLayout, key_names: dict[str, None]) -> _JsonLine:
    if not raw.strip(_BLANK):
        return _JsonLine(raw, None, [], [])
    location = f"{layout.name} line {number}"
    members = parse_members(raw, layout, location)
    if len(key_names) < _MAX_REMEMBERED_KEYS:
        key_names.update(dict.fromkeys(key for key, *_ in members))
    elif layout.is_selection:  # whether what is to be dropped or copied is there is known to the last line
        key_names.update(dict.fromkeys(key for key, *_ in members if layout.is_selected(key)))
    row = _extract_row(members, layout, location)
    cuts = []
    if layout.is_selection:
        spans = [(key_start, end) for *_, end, key_start in members]
        cuts = find_cuts(spans, [layout.is_dropped(key) for key, *_ in members])
    return _JsonLine(raw, row, [(start, end) for key, _, start, end, _ in members if key in layout.columns], cuts)


def _extract_row(members: list[JsonMember], layout: TableLayout, location: str) -> TextRow:
    """Return the id and the texts of an object.

    Raises:
        InputError: an id that is none, or a text that is neither a string nor null.
    """
    cells = [(key, value) for key, value, *_ in members if key in layout.columns]
    for key, value in cells:
        if value is not None and not isinstance(value, str):
            shown = json.dumps(value)[:40]
            raise InputError(f"{location} has no text in {key!r} but {shown}: it must be a string or null.")
    record_id = _find_identity(members, layout.id_column, location)
    if layout.id_column is not None and record_id is None:
        raise InputError(f"{location} has no record id in {layout.id_column!r}: give it one.")
    return TextRow(record_id, cells, _find_identity(members, layout.person_column, location))


def parse_members(raw: str, layout: TableLayout, location: str) -> list[JsonMember]:
    """Return the members of a line's object, in their order.

    A text that stands there twice would be released twice, with one noise or for twice the budget, and an id that does
    would be another one for whoever reads the object from its other end: each column of the layout is there once.

    Args:
        raw: the line.
        layout: names the columns that the object must have.
        location: file and line, for messages.

    Raises:
        InputError: the line is no JSON object, or does not have every column of the layout once.
    """
    try:
        members = list(_scan_members(raw))
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InputError(f"{location} is not a JSON object: {reason}. Each line must be one object.") from None
    keys = [key for key, *_ in members]
    option_of_column = {layout.person_column: "--person", layout.id_column: "--id"}
    for column in layout.read_columns:
        count = keys.count(column)
        if count == 0:
            listed_keys = ", ".join(map(repr, keys[:_MAX_LISTED_KEYS]))
            option = option_of_column.get(column)
            option_hint = "" if option is None else f", which {option} names"
            raise InputError(f"{location} has no column {column!r}{option_hint}. Its keys: {listed_keys or 'none'}.")
        if count > 1:
            raise InputError(f"{location} has the key {column!r} {count} times: give every key once.")
    return members


def _find_identity(members: list[JsonMember], column: str | None, location: str) -> str | None:
    """Return the identity in a member of an object; None without a column, or where it names nobody.

    Raises:
        InputError: no cell like it names anybody.
    """
    try:
        return next((make_identity(value) for key, value, *_ in members if key == column), None)
    except InputError as error:
        raise InputError(f"{location}, {column!r}: {error}") from None


def note_copied_members(members: list[JsonMember], copied: CopiedColumns) -> None:
    """Take note of the members of an object, of a table of which not all distinct keys are remembered."""
    if len(copied.names) < _MAX_REMEMBERED_KEYS:
        known_names = set(copied.names)
        copied.names += dict.fromkeys(key for key, *_ in members if key not in known_names)
    if copied.needs_rows:
        copied.add_row((key, value) for key, value, *_ in members)


def _scan_members(raw: str) -> Iterator[JsonMember]:
    """Yield key, value and the span of the value of a JSON object's members."""
    position = _skip_whitespace(raw, 0)
    if raw[position : position + 1] != "{":
        raise ValueError("it does not begin with {")
    position = _skip_whitespace(raw, position + 1)
    if raw[position : position + 1] != "}":
        while True:
            if raw[position : position + 1] != '"':
                raise ValueError(f"a key is expected at character {position + 1}")
            key_start = position
            key, position = _scan_string(raw, position + 1, True)  # noqa: FBT003 - positional in the C version
            position = _skip_whitespace(raw, position)
            if raw[position : position + 1] != ":":
                raise ValueError(f"a colon is expected at character {position + 1}")
            start = _skip_whitespace(raw, position + 1)
            value, end = _DECODER.raw_decode(raw, start)
            yield key, value, start, end, key_start
            position = _skip_whitespace(raw, end)
            if raw[position : position + 1] == "}":
                break
            if raw[position : position + 1] != ",":
                raise ValueError(f"a comma is expected at character {position + 1}")
            position = _skip_whitespace(raw, position + 1)
    if _skip_whitespace(raw, position + 1) != len(raw):
        raise ValueError(f"text follows the object at character {position + 2}")


def _skip_whitespace(raw: str, position: int) -> int:
    match = _WHITESPACE.match(raw, position)
    return match.end() if match else position


def _release_batch(
    batch: list[_JsonLine], source: DecodedSource, release_rows: RowReleaser, copied: CopiedColumns
) -> bytes:
    records = [line.row for line in batch if line.row is not None]
    released = release_rows(TextRows.of(records)) if records else ReleasedRows({})
    remaining = {name: iter(list_column(column)) for name, column in released.columns.items()}
    is_released = iter(released.list_released(len(records)))
    parts: list[str] = []
    for line in batch:
        edits = line.cuts
        if line.row is not None:
            if not next(is_released):
                continue
            if copied.needs_rows:
                copied.add_row((key, value) for key, value, *_ in _scan_members(line.raw))
            for (name, value), (start, end) in zip(line.row.cells, line.spans, strict=True):
                text = next(remaining[name])
                if value or (copied.layout.replace_empty and value is not None):
                    # Escaped by the encoding alone: the escapes of the original would show what stood there.
                    edits.append((start, end, json.dumps(text, ensure_ascii=not source.encoding.startswith("utf"))))
        parts.append(apply_edits(line.raw, edits))
    return source.encode("".join(parts))


@dataclasses.dataclass(frozen=True, slots=True)
class _ExtensibleLine:
    """A line, its row if it is an object, and where the last value of the object ends."""

    raw: str
    row: TextRow | None
    end: int


def extend_jsonl_table(
    stream: BinaryIO, sink: BinaryIO, layout: TableLayout, new_columns: NewColumns, make_cells: CellMaker
) -> None:
    """Copy JSON lines with members added behind those of every object; every byte that was there stays.

    Raises:
        InputError: a line that is no object, lacks a column, has a text that is none, or a key that is to be added.
    """
    source = DecodedSource(stream, layout)
    keys = [json.dumps(name) for name in new_columns]

    def append_members(line: _ExtensibleLine, cells: NewCells) -> str:
        members = "".join(f", {key}: {_format_new_value(cell, source)}" for key, cell in zip(keys, cells, strict=True))
        return line.raw[: line.end] + members + line.raw[line.end :]

    sink.write(source.encode(source.byte_order_mark))
    parsed_lines = (
        _parse_extensible_line(raw, number, layout, new_columns) for number, raw in read_numbered_lines(source)
    )
    for batch in batch_records(parsed_lines, lambda line: len(line.raw)):
        new_cells = iter(make_cells([line.row for line in batch if line.row is not None]))
        lines = [line.raw if line.row is None else append_members(line, next(new_cells)) for line in batch]
        sink.write(source.encode("".join(lines)))


def _parse_extensible_line(raw: str, number: int, layout: TableLayout, new_columns: NewColumns) -> _ExtensibleLine:
    if not raw.strip(_BLANK):
        return _ExtensibleLine(raw, None, 0)
    location = f"{layout.name} line {number}"
    members = parse_members(raw, layout, location)
    dataclasses.replace(layout, name=location).check_new_columns([key for key, *_ in members], new_columns)
    *_, last_end, _ = members[-1]
    return _ExtensibleLine(raw, _extract_row(members, layout, location), last_end)


def _format_new_value(cell: str | float | None, source: DecodedSource) -> str:
    """Return a new value as JSON."""
    if isinstance(cell, float):
        return format_share(cell)
    is_encodable = cell is None or source.is_encodable(cell)
    return json.dumps(cell, ensure_ascii=not is_encodable)
