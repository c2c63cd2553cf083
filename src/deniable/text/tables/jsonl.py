"""JSON lines: only the literals of the text values are replaced, every other byte is kept."""

import dataclasses
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from deniable.errors import InputError
from deniable.text.tables.decoding import Source
from deniable.text.tables.layout import Copied, Layout, ReleaseRows, Row, windows

Member = tuple[str, Any, int, int]
"""Key, value, and where in the line the value begins and ends."""

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
_scan_string: Callable[[str, int, bool], tuple[str, int]] = json.decoder.scanstring  # type: ignore[attr-defined]
_LISTED = 30
"""Keys that a message lists."""
_NAMED = 1000
"""Distinct keys that are remembered for the list of copied columns."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Line:
    raw: str
    row: Row | None
    spans: list[tuple[int, int]]


def rewrite(stream: BinaryIO, sink: BinaryIO, layout: Layout, release: ReleaseRows) -> Copied:
    """Copy JSON lines with their texts released anew; return what was copied, the other keys met.

    Raises:
        InputError: a line that is no object, lacks a column, or has a text that is none.
    """
    source = Source(stream, layout)
    sink.write(source.encode(source.mark))
    names: dict[str, None] = {}
    lines = (_parse(raw, number, layout, names) for number, raw in enumerate(numbered_lines(source), 1))
    sink.writelines(_released(window, source, layout, release) for window in windows(lines, lambda line: len(line.raw)))
    return Copied(layout.others(names))


def numbered_lines(source: Source) -> Iterator[str]:
    """Yield the lines of a source, each with its line feed."""
    buffer = ""
    while not source.ended:
        buffer += source.take(buffer)
        *complete, buffer = buffer.split("\n")
        for line in complete:
            yield line + "\n"
    if buffer:
        yield buffer


def _parse(raw: str, number: int, layout: Layout, names: dict[str, None]) -> _Line:
    if not raw.strip(" \t\r\n"):
        return _Line(raw, None, [])
    where = f"{layout.name} line {number}"
    members = parse_members(raw, layout, where)
    if len(names) < _NAMED:
        names.update(dict.fromkeys(key for key, *_ in members))
    texts = [(key, value, (start, end)) for key, value, start, end in members if key in layout.columns]
    for key, value, _ in texts:
        if value is not None and not isinstance(value, str):
            got = json.dumps(value)[:40]
            raise InputError(f"{where} has no text in {key!r} but {got}: it must be a string or null.")
    row = Row(_record_id(members, layout, where), [(key, value) for key, value, _ in texts])
    return _Line(raw, row, [span for *_, span in texts])


def parse_members(raw: str, layout: Layout, where: str) -> list[Member]:
    """Return the members of a line's object, in their order.

    A text that stands there twice would be released twice, with one noise or for twice the budget, and an id that does
    would be another one for whoever reads the object from its other end: each column of the layout is there once.

    Args:
        raw: the line.
        layout: names the columns that the object must have.
        where: file and line, for messages.

    Raises:
        InputError: the line is no JSON object, or does not have every column of the layout once.
    """
    try:
        members = list(_members(raw))
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InputError(f"{where} is not a JSON object: {reason}. Each line must be one object.") from None
    keys = [key for key, *_ in members]
    for column in [*layout.columns, *([] if layout.id_column is None else [layout.id_column])]:
        count = keys.count(column)
        if count == 0:
            listed = ", ".join(map(repr, keys[:_LISTED]))
            named = ", which --id names" if column == layout.id_column else ""
            raise InputError(f"{where} has no column {column!r}{named}. Its keys: {listed or 'none'}.")
        if count > 1:
            raise InputError(f"{where} has the key {column!r} {count} times: give every key once.")
    return members


def _record_id(members: list[Member], layout: Layout, where: str) -> str | None:
    if layout.id_column is None:
        return None
    (record_id,) = [value for key, value, *_ in members if key == layout.id_column]
    if isinstance(record_id, bool) or not isinstance(record_id, str | int | float):
        raise InputError(f"{where} has the record id {record_id!r}: it must be a string or a number.")
    return str(record_id)


def _members(raw: str) -> Iterator[Member]:
    """Yield key, value and the span of the value of a JSON object's members."""
    at = _skip(raw, 0)
    if raw[at : at + 1] != "{":
        raise ValueError("it does not begin with {")
    at = _skip(raw, at + 1)
    if raw[at : at + 1] != "}":
        while True:
            if raw[at : at + 1] != '"':
                raise ValueError(f"a key is expected at character {at + 1}")
            key, at = _scan_string(raw, at + 1, True)  # noqa: FBT003 - positional in the C version
            at = _skip(raw, at)
            if raw[at : at + 1] != ":":
                raise ValueError(f"a colon is expected at character {at + 1}")
            start = _skip(raw, at + 1)
            value, end = _DECODER.raw_decode(raw, start)
            yield key, value, start, end
            at = _skip(raw, end)
            if raw[at : at + 1] == "}":
                break
            if raw[at : at + 1] != ",":
                raise ValueError(f"a comma is expected at character {at + 1}")
            at = _skip(raw, at + 1)
    if _skip(raw, at + 1) != len(raw):
        raise ValueError(f"text follows the object at character {at + 2}")


def _skip(raw: str, at: int) -> int:
    match = _SPACE.match(raw, at)
    return match.end() if match else at


def _released(window: list[_Line], source: Source, layout: Layout, release: ReleaseRows) -> bytes:
    texts = iter(release([line.row for line in window if line.row is not None]))
    parts: list[str] = []
    for line in window:
        at = 0
        if line.row is not None:
            for (_, value), (start, end), text in zip(line.row.cells, line.spans, next(texts), strict=True):
                literal = line.raw[start:end]
                if value or (layout.empty and value is not None):
                    # Escaped by the encoding alone: the escapes of the original would show what stood there.
                    literal = json.dumps(text, ensure_ascii=not source.encoding.startswith("utf"))
                parts += (line.raw[at:start], literal)
                at = end
        parts.append(line.raw[at:])
    return source.encode("".join(parts))
