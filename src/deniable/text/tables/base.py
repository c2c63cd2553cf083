"""What a table is, whatever its format: pieces in, and what stands in their place out."""

import abc
import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO, Generic, TypeVar

from deniable.core.errors import InputError
from deniable.core.identity import DOUBLE_BITS, is_null, make_identity
from deniable.text.columns import format_cell
from deniable.text.tables.copied_columns import CopiedColumns
from deniable.text.tables.decoding import DecodedSource
from deniable.text.tables.layout import (
    CopiedContent,
    Edit,
    NewCells,
    NewColumns,
    TableLayout,
    apply_edits,
    batch_records,
    find_cuts,
)
from deniable.text.tables.rows import ReleasedRows, TextRows, list_texts, make_column

Span = tuple[int, int]
"""Where in a line something begins and ends."""
PieceT = TypeVar("PieceT")
OutputT = TypeVar("OutputT")
TextColumns = dict[str, list[str | None]]
"""Whole columns in memory, with one entry per record."""


class Table(abc.ABC, Generic[PieceT, OutputT]):
    """A table that is read once, piece by piece: lines or row groups. Each format is one subclass.

    Attributes:
        layout: where the texts stand.
        new_columns: what is added behind its own columns.
        copied: takes note of what a release copies, of the rows that are rendered or read.

    Args:
        stream: of the file; seekable for parquet.

    Raises:
        InputError: no table of the format, or it lacks a column of the layout, or has one that would be added.
    """

    def __init__(
        self,
        stream: BinaryIO,
        layout: TableLayout,
        new_columns: NewColumns | None = None,
        copied: CopiedColumns | None = None,
    ) -> None:
        self.layout, self.new_columns, self.copied = layout, new_columns or {}, copied or CopiedColumns(layout)
        self.open(stream)

    @abc.abstractmethod
    def open(self, stream: BinaryIO) -> None:
        """Read what stands before the rows."""

    @abc.abstractmethod
    def list_windows(self) -> Iterator[tuple[list[PieceT], TextRows]]:
        """Yield the pieces that are released together, and their records; `InputError` where one is malformed."""

    @abc.abstractmethod
    def render(self, pieces: list[PieceT], released: ReleasedRows) -> OutputT:
        """Return pieces with their texts released; everything else is as it was, but for columns that are dropped."""

    @abc.abstractmethod
    def extend(self, pieces: list[PieceT], new_cells: Sequence[NewCells]) -> OutputT:
        """Return pieces with new cells behind their records; everything else is as it was."""

    @abc.abstractmethod
    def save(self, sink: BinaryIO, outputs: Iterable[OutputT]) -> None:
        """Write a whole table, whose pieces have been rendered or extended."""

    @abc.abstractmethod
    def read_columns(self) -> TextColumns:
        """Return the columns of the layout, as `deniable.text.tables.read_table` has them."""

    def describe(self) -> CopiedContent:
        """Return what was copied, when the table has been saved."""
        return self.copied.describe()

    def convert_cell(self, value: object, column: str, float_bits: int = DOUBLE_BITS) -> str | None:
        """Return what a cell holds as a text, or an identity; None for null, and where it names nobody.

        Raises:
            InputError: it is no text or number.
        """
        if column in (self.layout.id_column, self.layout.person_column):
            try:
                return make_identity(value, float_bits)
            except InputError:
                return None
        if isinstance(value, bytes | list | dict):
            shown = repr(value)[:40]
            raise InputError(
                f"The column {column!r} of {self.layout.name} holds {shown}, no text: convert it to strings."
            )
        return None if is_null(value) else format_cell(value)


@dataclasses.dataclass(frozen=True, slots=True)
class Line:
    """A line as it stands in the file, its end included, and its number.

    Subclasses know where its cells stand.
    """

    raw: str
    number: int


LineT = TypeVar("LineT", bound=Line)


class TextTable(Table[LineT, str], Generic[LineT]):
    """A table of lines, of which only the characters of the text cells are replaced.

    Subclasses set `head`, what stands before the rows, when they are opened.
    """

    def open(self, stream: BinaryIO) -> None:
        """Decode the file, and read what stands before the rows."""
        self.source = DecodedSource(stream, self.layout)
        self.head = self.source.byte_order_mark

    @abc.abstractmethod
    def read_lines(self) -> Iterator[LineT]:
        """Yield the lines behind the head, each once."""

    @abc.abstractmethod
    def is_record(self, line: LineT) -> bool:
        """Return whether a line is a record, and not blank."""

    @abc.abstractmethod
    def find_cell(self, line: LineT, column: str) -> tuple[Any, Span]:
        """Return what a record holds in a column, and where; `InputError` where that is not known."""

    @abc.abstractmethod
    def list_cells(self, line: LineT) -> list[tuple[str, object, Span]]:
        """Return name, value and place of all cells of a record, in their order; a member of JSON with its key."""

    @abc.abstractmethod
    def write_text(self, text: str) -> str:
        """Return a new text as it stands in the file."""

    def format_new_cell(self, name: str, cell: str | float | None) -> str:  # noqa: ARG002 - nothing is written
        """Return a cell of a new column as it stands behind the others, or raise `InputError` where none can."""
        raise InputError(
            f"{self.layout.name} has no columns, and {name!r} cannot be added: give a csv, tsv, jsonl or parquet."
        )

    def list_windows(self) -> Iterator[tuple[list[LineT], TextRows]]:
        """Yield lines that are released together, and their records."""
        for lines in batch_records(self.read_lines(), lambda line: len(line.raw)):
            yield lines, self._extract(lines)

    def locate(self, line: Line) -> str:
        """Return the file and the line, for messages."""
        return f"{self.layout.name} line {line.number}"

    def _extract(self, lines: list[LineT]) -> TextRows:
        """Return the records of lines.

        Raises:
            InputError: a malformed record, a text that is neither a text nor null, or an id that names none.
        """
        records = list(filter(self.is_record, lines))
        columns = {
            name: make_column([self._require_text(line, name) for line in records]) for name in self.layout.columns
        }
        record_ids, persons = (
            None if column is None else [self._identify(line, column) for line in records]
            for column in (self.layout.id_column, self.layout.person_column)
        )
        return TextRows(columns, record_ids, persons)

    def _require_text(self, line: LineT, column: str) -> str | None:
        text, _ = self.find_cell(line, column)
        if text is not None and not isinstance(text, str):
            shown = repr(text)[:40]
            raise InputError(f"{self.locate(line)} has {shown} in {column!r}: it must be a string or null.")
        return text

    def _identify(self, line: LineT, column: str) -> str | None:
        cell, _ = self.find_cell(line, column)
        try:
            identity = make_identity(cell)
        except InputError as error:
            raise InputError(f"{self.locate(line)}, {column!r}: {error}") from None
        if identity is None and column == self.layout.id_column:
            raise InputError(f"{self.locate(line)} has no record id in {column!r}: give it one.")
        return identity

    def render(self, pieces: list[LineT], released: ReleasedRows) -> str:
        """Return lines with new texts in their records; a record that is not released goes with its line."""
        columns = list(released.columns)
        new_texts = zip(*map(list_texts, released.columns.values()), strict=True)
        is_released = iter(released.is_released.tolist())
        parts: list[str] = []
        for line in pieces:
            if not self.is_record(line):
                parts.append(self.finish_line(line, []))
            elif next(is_released):
                if self.copied.needs_rows:
                    self.copied.add_row((name, value) for name, value, _ in self.list_cells(line))
                edits = self._cut_columns(line) if self.layout.is_selection else []
                for column, new_text in zip(columns, next(new_texts), strict=True):
                    text, span = self.find_cell(line, column)
                    if text or (self.layout.replace_empty and text is not None):
                        # Written by what is released alone: quotes and escapes would show what stood there.
                        edits.append((*span, self.write_text(new_text or "")))
                parts.append(self.finish_line(line, edits))
        return "".join(parts)

    def _cut_columns(self, line: LineT) -> list[Edit]:
        cells = self.list_cells(line)
        return find_cuts([span for *_, span in cells], [self.layout.is_dropped(name) for name, *_ in cells])

    def finish_line(self, line: LineT, edits: list[Edit]) -> str:
        """Return a line that was edited as it is written."""
        return apply_edits(line.raw, edits) if edits else line.raw

    def extend(self, pieces: list[LineT], new_cells: Sequence[NewCells]) -> str:
        """Return lines with new cells behind their records."""
        cells = iter(new_cells)
        return "".join(self.append_cells(line, next(cells)) if self.is_record(line) else line.raw for line in pieces)

    def append_cells(self, line: LineT, cells: NewCells) -> str:
        """Return a record with new cells behind its own."""
        *_, (_, _, (_, end)) = self.list_cells(line)
        return line.raw[:end] + "".join(map(self.format_new_cell, self.new_columns, cells)) + line.raw[end:]

    def save(self, sink: BinaryIO, outputs: Iterable[str]) -> None:
        """Write the head of the table and all its lines."""
        sink.write(self.source.encode(self.head))
        sink.writelines(map(self.source.encode, outputs))

    def read_columns(self) -> TextColumns:
        """Return columns; a record of which a cell is not known has nothing there, if others of the column are."""
        columns: TextColumns = {column: [] for column in self.layout.read_columns}
        first_errors: dict[str, InputError] = {}
        for line in filter(self.is_record, self.read_lines()):
            error = None
            for column, values in columns.items():
                try:
                    values.append(self.convert_cell(self.find_cell(line, column)[0], column))
                except InputError as one_error:
                    error = first_errors.setdefault(column, one_error)
                    values.append(None)
            if error is None and self.copied.needs_rows:
                self.copied.add_row((name, value) for name, value, _ in self.list_cells(line))
        for column, error in first_errors.items():
            if all(value is None for value in columns[column]):
                raise error
        return columns
