"""Files of entities: JSON lines of labelled spans, or a list of words."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deniable.core.errors import InputError, shorten_text
from deniable.core.files import open_input
from deniable.core.identity import make_identity
from deniable.measure.entities.fit import SpanFit
from deniable.measure.entities.sources import EntitySource, ListedWords, SourceCell
from deniable.measure.entities.spans import SPAN_FIELDS, EntitySpan, build_span, check_end, find_overlap
from deniable.text.escapes import REFERENCE, Escapes, decode_reference
from deniable.text.tables import detect_table_format

_FORM = 'write {"row": 0, "start": 5, "end": 9, "kind": "PERSON"}, or {"row": 0, "entities": [[5, 9, "PERSON"]]}'

CellKey = tuple[int | str, str | None]
"""Row number or record id, and column; None for the only one."""


@dataclasses.dataclass
class _CellLabels:
    """The labels of one cell: spans, the line of each, and the text if the file repeats it."""

    first_line: int
    spans: list[EntitySpan] = dataclasses.field(default_factory=list)
    lines: list[int] = dataclasses.field(default_factory=list)
    text: str | None = None


def read_entity_file(path: str) -> EntitySource:
    """Return the entities that a file names.

    Args:
        path: JSON lines of spans (``.jsonl``, ``.ndjson``), or words, one a line (``.txt``); also ``.gz`` or ``.zst``.

    Raises:
        InputError: another ending, a file that cannot be read, or a line that is no label.
    """
    try:
        file_format = detect_table_format(path)
    except InputError:
        file_format = ""
    if file_format not in ("jsonl", "txt"):
        raise InputError(
            f"The entities {path!r} must be a .jsonl file of spans, a .txt file of words, or a detector as "
            "package.module:callable."
        )
    if not Path(path).is_file():
        raise InputError(f"The entities {path!r} are no file: give the path of one.")
    lines = _read_lines(path)
    if file_format == "jsonl":
        return LabelledSpans(path, lines)
    return ListedWords(lines, path)


def _read_lines(path: str) -> list[str]:
    with open_input(path, lambda _: None) as stream:
        content = stream.read()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InputError(f"{path} line {line} is not UTF-8: convert the file.") from None
    return [line.removesuffix("\r") for line in text.split("\n")]


class LabelledSpans(EntitySource):
    """Finds the spans of JSON lines.

    Each line is an object in one of two forms::

        {"row": 0, "start": 5, "end": 9, "kind": "PERSON"}
        {"row": 0, "entities": [[5, 9, "PERSON"], [20, 26, "CITY"]]}

    ``id`` in place of ``row`` names a record by its id. In the second form both may be missing: the first line is then
    row 0, the second row 1. A table of several text columns needs ``column``. ``text``, where given, must be the cell.
    Other keys are not read. Positions are those in the cell as it stands in the table, before entities are decoded.

    Args:
        name: of the file, for messages.
        lines: its lines.

    Raises:
        InputError: a line that is no such object, lines that name records in different ways, or no span at all.
    """

    needs_every_row = True

    def __init__(self, name: str, lines: list[str]) -> None:
        self._name = name
        self._fit = SpanFit(name)
        self._reference: str | None = None
        self._reference_line = 0
        self._labels: dict[CellKey, _CellLabels] = {}
        self._used_keys: set[CellKey] = set()
        records = 0
        for number, line in enumerate(lines, 1):
            if line.strip():
                self._add_line(number, line, records)
                records += 1
        if not any(labels.spans for labels in self._labels.values()):
            raise InputError(f"{name} labels nothing: {_FORM}.")

    def check_table(self, columns: Sequence[str], *, has_ids: bool) -> None:
        """Check that labels name text columns, and records in a way that the table knows."""
        if self._reference == "id" and not has_ids:
            raise InputError(
                f"{self._name} names records by id: name the table's column of ids, with --id on the command line."
            )
        for (_, column), labels in self._labels.items():
            known_names = ", ".join(map(repr, columns))
            if column is None and len(columns) > 1:
                raise InputError(
                    f'{self._name} line {labels.first_line} names no column: add "column", one of {known_names}.'
                )
            if column is not None and column not in columns:
                shown = shorten_text(repr(column))
                raise InputError(
                    f"{self._name} line {labels.first_line} names the column {shown}, which is no text column of this "
                    f"run: they are {known_names}."
                )

    def find_spans(self, cell: SourceCell, escapes: Escapes | None = None) -> list[EntitySpan]:
        """Return the labels of a cell, checked against its text."""
        reference = cell.record_id or "" if self._reference == "id" else cell.row
        spans: list[EntitySpan] = []
        lines: list[int] = []
        for key in ((reference, cell.column), (reference, None)):
            labels = self._labels.get(key)
            if labels is None:
                continue
            if key in self._used_keys:
                raise InputError(
                    f"{self._name} line {labels.first_line} labels the record {_show(reference)}, which the table has "
                    "twice: ids must be unique."
                )
            self._used_keys.add(key)
            if labels.text is not None and labels.text != cell.text:
                raise InputError(
                    f"{self._name} line {labels.first_line} has another text than row {cell.row} of the table, from 0: "
                    "label the table that is read here."
                )
            spans += labels.spans
            lines += labels.lines
        for span, line in zip(spans, lines, strict=True):
            check_end(f"{self._name} line {line}", span, len(cell.text), self._fit.describe_unit(cell.text, spans))
        self._fit.add(cell.row, cell.text, spans)
        self._check_overlaps(spans, lines)
        return sorted(
            EntitySpan(
                locate_decoded(cell.text, escapes, span.start, is_end=False),
                locate_decoded(cell.text, escapes, span.end, is_end=True),
                span.kind,
            )
            for span in spans
        )

    def check_complete(self) -> None:
        """Check that every label was asked for, and that labels are of words."""
        missing = [
            (labels.first_line, key)
            for key, labels in self._labels.items()
            if labels.spans and key not in self._used_keys
        ]
        if missing:
            line, (reference, _) = min(missing, key=lambda entry: entry[0])
            what, hint = ("record", "check its id") if isinstance(reference, str) else ("row", "rows count from 0")
            raise InputError(
                f"{self._name} line {line} labels the {what} {_show(reference)}, of which the table has no text: "
                f"{hint}."
            )
        self.remarks = self._fit.judge()

    def _check_overlaps(self, spans: list[EntitySpan], lines: list[int]) -> None:
        overlap = find_overlap(spans)
        if overlap is not None:
            one, other = (f"{spans[number].start} to {spans[number].end} (line {lines[number]})" for number in overlap)
            raise InputError(
                f"{self._name} has two spans of the kind {spans[overlap[0]].kind!r} that overlap, {one} and {other}: "
                "label every character once."
            )

    def _add_line(self, number: int, line: str, record: int) -> None:
        """Keep the labels of a line.

        Args:
            number: of the line, from 1 on.
            line: its text.
            record: how many objects stand before it.
        """
        location = f"{self._name} line {number}"
        fields = _parse_object(location, line)
        key = self._read_reference(location, number, fields, record), _read_column(location, fields)
        labels = self._labels.setdefault(key, _CellLabels(number))
        for start, end, kind in _read_spans(location, fields):
            labels.spans.append(build_span(location, start, end, kind))
            labels.lines.append(number)
        text = fields.get("text")
        if text is not None and not isinstance(text, str):
            raise InputError(f'{location}: "text" must be the text of the cell. Got {type(text).__name__}.')
        if None not in (text, labels.text) and text != labels.text:
            raise InputError(f'{location}: "text" differs from that of line {labels.first_line}, of the same record.')
        labels.text = labels.text if text is None else text

    def _read_reference(self, location: str, number: int, fields: dict[str, Any], record: int) -> int | str:
        """Return the row number or the id of a line; all lines must name records in one way."""
        names = [name for name in ("row", "id") if name in fields]
        if len(names) > 1:
            raise InputError(f"{location} names a record by row and by id: give one of them.")
        if not names and "entities" not in fields:
            raise InputError(f"{location} names no record: {_FORM}.")
        way = names[0] if names else "order"
        if self._reference is None:
            self._reference, self._reference_line = way, number
        if way != self._reference:
            raise InputError(
                f"{location} names its record by {way}, line {self._reference_line} by {self._reference}: do it in one "
                "way."
            )
        reference = fields[way] if names else record
        if way == "id":
            return _read_id(location, reference)
        if not isinstance(reference, int) or isinstance(reference, bool) or reference < 0:
            raise InputError(f"{location}: 'row' must be an integer from 0 on. Got {shorten_text(repr(reference))}.")
        row: int = reference
        return row


def _parse_object(location: str, line: str) -> dict[str, Any]:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{location} is not JSON ({shorten_text(str(error))}): {_FORM}.") from None
    if not isinstance(fields, dict):
        raise InputError(f"{location} is no object: {_FORM}.")
    return fields


def _read_id(location: str, reference: object) -> str:
    """Return the identity of a record, as the table's column of ids has it."""
    try:
        identity = make_identity(reference)
    except InputError as error:
        raise InputError(f"{location}: {error}") from None
    if identity is None:
        raise InputError(f"{location}: 'id' must name a record. Got {shorten_text(repr(reference))}: give its id.")
    return identity


def _read_column(location: str, fields: dict[str, Any]) -> str | None:
    column = fields.get("column")
    if column is not None and not isinstance(column, str):
        raise InputError(f'{location}: "column" must be a name. Got {type(column).__name__}.')
    return column


def _read_spans(location: str, fields: dict[str, Any]) -> list[tuple[object, object, object]]:
    """Return start, end and kind of each span of a line, in either form."""
    if "entities" not in fields:
        missing = [name for name in ("start", "end", "kind") if name not in fields]
        if missing:
            raise InputError(f"{location} has no {missing[0]!r}: {_FORM}.")
        return [(fields["start"], fields["end"], fields["kind"])]
    if "start" in fields:
        raise InputError(f'{location} has "start" and "entities": give one of them.')
    entries = fields["entities"]
    if not isinstance(entries, list) or not all(
        isinstance(entry, list) and len(entry) == SPAN_FIELDS for entry in entries
    ):
        raise InputError(f'{location}: "entities" must be a list of [start, end, kind]: {_FORM}.')
    return [(entry[0], entry[1], entry[2]) for entry in entries]


def _show(reference: int | str) -> str:
    return shorten_text(repr(reference)) if isinstance(reference, str) else f"{reference}"


def locate_decoded(text: str, escapes: Escapes | None, position: int, *, is_end: bool) -> int:
    """Return where a position of a text stands in the text that `decode_escapes` returns.

    Args:
        text: as it is before entities are decoded.
        escapes: see `decode_escapes`.
        position: of a character, or behind the last one.
        is_end: within an entity, whether its end is meant, not its start.
    """
    if escapes is None:
        return position
    place = position
    for match in REFERENCE.finditer(text):
        if match.start() >= position:
            break
        decoded_length = len(decode_reference(match))
        if match.end() <= position:
            place += decoded_length - len(match[0])
        else:
            place += match.start() - position + (decoded_length if is_end else 0)
    return place
