"""JSON lines: only the literals of the text values are replaced, every other byte is kept."""

import dataclasses
import json
import re
from collections.abc import Iterator
from typing import Any

from deniable.core.errors import InputError
from deniable.text.tables.base import Line, Span, TextTable
from deniable.text.tables.layout import CopiedContent, check_new_columns, format_column_names, format_share

JsonMember = tuple[str, Any, int, int, int]
"""Key, value, and where in the line the value begins and ends, and the key begins."""

_BLANK = " \t\r\n"
_OPENING = re.compile(rf"[{_BLANK}]*+\{{[{_BLANK}]*+")
_EMPTY = re.compile(rf"\}}[{_BLANK}]*+\Z")
_KEY = re.compile(rf'("(?:[^"\\]|\\.)*+")[{_BLANK}]*+:[{_BLANK}]*+', re.DOTALL)
_SEPARATOR = re.compile(rf"[{_BLANK}]*+(,|\}}(?=[{_BLANK}]*+\Z))[{_BLANK}]*+")
_DECODER = json.JSONDecoder()
_MAX_REMEMBERED_KEYS = 1000
"""Distinct keys that are remembered for the list of copied columns."""


@dataclasses.dataclass(frozen=True, slots=True)
class JsonLine(Line):
    """A line with the members of its object; a blank line has none, and one that is no object says what is wrong."""

    members: list[JsonMember]
    problem: str = ""


class JsonlTable(TextTable[JsonLine]):
    """Lines of objects.

    A text that stands in an object twice would be released twice, with one noise or for twice the budget, and an id
    that does would be another one for whoever reads the object from its other end: each column is there once.

    Raises:
        InputError: a line that is no object, lacks a column, or has a text that is none.
    """

    def read_lines(self) -> Iterator[JsonLine]:
        """Yield all lines, and remember their keys."""
        for number, raw in enumerate(self.source.read_lines(), 1):
            line = _parse_line(raw, number)
            if self.new_columns:
                check_new_columns(self.locate(line), [key for key, *_ in line.members], self.new_columns)
            self._remember_keys(line)
            yield line

    def _remember_keys(self, line: JsonLine) -> None:
        """Note which keys there are: many of them, and all that are to be copied."""
        names, selection = self.copied.names, self.layout.copied or ()
        for key, *_ in line.members:
            if key not in names and (len(names) < _MAX_REMEMBERED_KEYS or key in selection):
                names.append(key)

    def describe(self) -> CopiedContent:
        """Return what was copied; refuse a selection of keys that no line has."""
        self.layout.check_selection(self.copied.names)
        return super().describe()

    def is_record(self, line: JsonLine) -> bool:
        """Return whether a line is not blank."""
        return bool(line.members or line.raw.strip(_BLANK))

    def find_cell(self, line: JsonLine, column: str) -> tuple[Any, Span]:
        """Return the one value of a key, and where its literal is."""
        if line.problem:
            raise InputError(f"{self.locate(line)} is not a JSON object: {line.problem}. Each line must be one object.")
        members = [member for member in line.members if member[0] == column]
        if not members:
            keys = format_column_names([key for key, *_ in line.members]) or "none"
            raise InputError(f"{self.locate(line)} has no column {column!r}. Its keys: {keys}.")
        if len(members) > 1:
            raise InputError(f"{self.locate(line)} has the key {column!r} {len(members)} times: give every key once.")
        _, value, start, end, _ = members[0]
        return value, (start, end)

    def list_cells(self, line: JsonLine) -> list[tuple[str, object, Span]]:
        """Return the keys and values of an object, and where each member begins and ends."""
        return [(key, value, (key_start, end)) for key, value, _, end, key_start in line.members]

    def write_text(self, text: str) -> str:
        """Return a text as a literal, escaped by the encoding alone."""
        return json.dumps(text, ensure_ascii=not self.source.encoding.startswith("utf"))

    def format_new_cell(self, name: str, cell: str | float | None) -> str:
        """Return a new member and the comma before it."""
        if isinstance(cell, float):
            return f", {json.dumps(name)}: {format_share(cell)}"
        is_encodable = cell is None or self.source.replace_unencodable(cell) == cell
        return f", {json.dumps(name)}: {json.dumps(cell, ensure_ascii=not is_encodable)}"


def _parse_line(raw: str, number: int) -> JsonLine:
    if not raw.strip(_BLANK):
        return JsonLine(raw, number, [])
    try:
        return JsonLine(raw, number, list(_scan_members(raw)))
    except (ValueError, RecursionError) as error:
        return JsonLine(raw, number, [], str(error))


def _scan_members(raw: str) -> Iterator[JsonMember]:
    """Yield the members of the JSON object in a line; a `ValueError` says where it is none."""
    position = _match(_OPENING, raw, 0, "a brace").end()
    sign = "}" if _EMPTY.match(raw, position) else ","
    while sign == ",":
        key = _match(_KEY, raw, position, "a key and a colon")
        value, end = _DECODER.raw_decode(raw, key.end())
        yield json.loads(key[1]), value, key.end(), end, key.start(1)
        separator = _match(_SEPARATOR, raw, end, "a comma or the end")
        sign, position = separator[1], separator.end()


def _match(pattern: re.Pattern[str], raw: str, position: int, expected: str) -> re.Match[str]:
    match = pattern.match(raw, position)
    if match is None:
        raise ValueError(f"{expected} is expected at character {position + 1}")
    return match
