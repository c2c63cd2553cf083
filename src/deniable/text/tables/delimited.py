"""csv and tsv: only the bytes of the text cells are replaced, every other byte is kept.

Cells are as in RFC 4180: a cell that begins with a quote ends with one, quotes inside are doubled,
and it may hold delimiters and line ends. Lines end in LF, CRLF or CR. A blank line stays; in a table of one
column it is a record whose cell is empty. A text cell is written with quotes where its new text needs them.
"""

import dataclasses
import re
from collections.abc import Iterator
from typing import BinaryIO

from deniable.core.errors import InputError
from deniable.core.identity import make_identity
from deniable.text.tables.decoding import DecodedSource
from deniable.text.tables.layout import (
    CellMaker,
    CopiedContent,
    NewCells,
    NewColumns,
    TableLayout,
    apply_edits,
    batch_records,
    find_cuts,
    format_share,
)
from deniable.text.tables.rows import ReleasedRows, RowReleaser, TextRow, TextRows, list_column

_QUOTED = r'"[^"]*+(?:""[^"]*+)*+"'
_QUOTED_CELL = re.compile(_QUOTED)
_BLANK_LINES = re.compile(r"\n++|(?:\r\n)++")

CellSpans = list[tuple[int, int]]


@dataclasses.dataclass(frozen=True, slots=True)
class _DelimitedLine:
    """One row as it stands in the file, its line end included, with the spans of its cells; or blank lines together."""

    raw: str
    spans: CellSpans
    number: int

    @property
    def is_blank(self) -> bool:
        return self.spans == [(0, 0)]

    def cell(self, index: int) -> str:
        start, end = self.spans[index]
        raw = self.raw[start:end]
        return raw[1:-1].replace('""', '"') if raw.startswith('"') else raw


@dataclasses.dataclass(frozen=True)
class _Header:
    """What stands before the rows: blank lines and the names of all columns, and what each column is for."""

    leading_text: str
    line: _DelimitedLine
    names: list[str]
    text_indices: list[int]
    id_index: int | None
    person_index: int | None
    is_dropped: list[bool]

    @property
    def released_columns(self) -> int:
        """Number of columns of the released table."""
        return self.is_dropped.count(False)

    @property
    def released_text(self) -> str:
        """What stands before the rows of the released table."""
        cuts = find_cuts(self.line.spans, self.is_dropped) if any(self.is_dropped) else []
        return self.leading_text + apply_edits(self.line.raw, cuts)

    def is_record(self, line: _DelimitedLine) -> bool:
        """Return whether a line is a record: a blank line is one only in a table of one column."""
        return len(self.names) == 1 or not line.is_blank


def release_delimited_table(
    stream: BinaryIO, sink: BinaryIO, layout: TableLayout, release_rows: RowReleaser
) -> CopiedContent:
    """Copy a csv or tsv with its texts released anew; return what was copied unchanged.

    Raises:
        InputError: no header, a missing column, a malformed row (its line is named).
    """
    source = DecodedSource(stream, layout)
    header, parsed_lines = _read_table(source, layout)
    sink.write(source.encode(header.released_text))
    checked_lines = (_check_cell_count(line, len(header.names), layout) for line in parsed_lines)
    sink.writelines(
        _release_batch(batch, header, source, layout, release_rows)
        for batch in batch_records(checked_lines, lambda line: len(line.raw))
    )
    return CopiedContent(layout.list_other_columns(header.names), is_selection=layout.is_selection)


def read_delimited_rows(stream: BinaryIO, layout: TableLayout) -> Iterator[TextRow | InputError]:
    """Yield the rows of a csv or tsv, and for one with too few or too many cells what is wrong with it.

    Raises:
        InputError: no header, a missing column, a quote that is not closed.
    """
    source = DecodedSource(stream, layout)
    header, parsed_lines = _read_table(source, layout)
    for line in parsed_lines:
        if header.is_record(line):
            try:
                yield _extract_row(_check_cell_count(line, len(header.names), layout), header, layout)
            except InputError as error:
                yield error


def _read_table(source: DecodedSource, layout: TableLayout) -> "tuple[_Header, Iterator[_DelimitedLine]]":
    """Return the header of a table, and the lines behind it."""
    parser = _RowParser(source, layout)
    lines = parser.parse()
    header = _read_header(lines, source, layout)
    parser.joins_blank_lines = len(header.names) > 1  # in a table of one column they are records
    return header, lines


def _read_header(lines: "Iterator[_DelimitedLine]", source: DecodedSource, layout: TableLayout) -> _Header:
    leading_text = source.byte_order_mark
    header_line = next(lines, None)
    while header_line is not None and header_line.is_blank:
        leading_text += header_line.raw
        header_line = next(lines, None)
    if header_line is None:
        raise InputError(f"{layout.name} has no header row.")
    names = [header_line.cell(index) for index in range(len(header_line.spans))]
    layout.check_columns(names)
    text_indices = [index for index, name in enumerate(names) if name in layout.columns]
    id_index, person_index = (
        None if column is None else names.index(column) for column in (layout.id_column, layout.person_column)
    )
    is_dropped = list(map(layout.is_dropped, names))
    return _Header(leading_text, header_line, names, text_indices, id_index, person_index, is_dropped)


def _extract_row(line: _DelimitedLine, header: _Header, layout: TableLayout) -> TextRow:
    record_id, person = (
        None if index is None else make_identity(line.cell(index)) for index in (header.id_index, header.person_index)
    )
    if header.id_index is not None and record_id is None:
        raise InputError(f"{layout.name} line {line.number} has no record id in {layout.id_column!r}: give it one.")
    return TextRow(record_id, [(header.names[c], line.cell(c)) for c in header.text_indices], person)


def _check_cell_count(line: _DelimitedLine, width: int, layout: TableLayout) -> _DelimitedLine:
    if not line.is_blank and len(line.spans) != width:
        raise InputError(
            f"{layout.name} line {line.number} has {len(line.spans)} cells, the header has {width}: "
            "is a quote or delimiter missing, or the --delimiter another?"
        )
    return line


def _release_batch(
    batch: list[_DelimitedLine], header: _Header, source: DecodedSource, layout: TableLayout, release_rows: RowReleaser
) -> bytes:
    """Return the rows of a window with new texts."""
    records = [_extract_row(line, header, layout) for line in batch if header.is_record(line)]
    released = release_rows(TextRows.of(records)) if records else ReleasedRows({})
    columns = [list_column(released.columns[header.names[index]]) for index in header.text_indices] if records else []
    new_texts, is_released = zip(*columns, strict=True), iter(released.list_released(len(records)))
    special = _compile_special_characters(layout)
    has_dropped, is_alone = any(header.is_dropped), header.released_columns == 1
    parts: list[str] = []
    for line in batch:
        if not header.is_record(line):
            if not is_alone:  # where one column is left, a blank line would be read as a record
                parts.append(line.raw)
            continue
        if not next(is_released):
            continue
        edits = find_cuts(line.spans, header.is_dropped) if has_dropped else []
        stays_blank = line.is_blank and not layout.replace_empty
        for column, text in zip(header.text_indices, next(new_texts), strict=True):
            start, end = line.spans[column]
            new_cell = line.raw[start:end]
            if layout.replace_empty or line.cell(column):
                # Quoted by what is released alone: the quotes of "1,000" would show what stood there.
                new_cell = _quote_cell(source.replace_unencodable(text or ""), special)
            if not new_cell and is_alone and not stays_blank:  # it would make the row a blank line
                new_cell = '""'
            edits.append((start, end, new_cell))
        parts.append(apply_edits(line.raw, edits))
    return source.encode("".join(parts))


def extend_delimited_table(
    stream: BinaryIO, sink: BinaryIO, layout: TableLayout, new_columns: NewColumns, make_cells: CellMaker
) -> None:
    """Copy a csv or tsv with columns added behind its own; every byte that was there stays.

    Raises:
        InputError: no header, a missing column, one that is to be added and exists, a malformed row (its line is
            named), or a new cell that the encoding of the table cannot hold.
    """
    source = DecodedSource(stream, layout)
    header, parsed_lines = _read_table(source, layout)
    layout.check_new_columns(header.names, new_columns)
    special = _compile_special_characters(layout)

    def append_cells(line: _DelimitedLine, cells: NewCells) -> str:
        end = line.spans[-1][1]
        added = "".join(layout.delimiter + _format_new_cell(cell, source, layout, special) for cell in cells)
        return line.raw[:end] + added + line.raw[end:]

    sink.write(source.encode(header.leading_text + append_cells(header.line, tuple(new_columns))))
    checked_lines = (_check_cell_count(line, len(header.names), layout) for line in parsed_lines)
    for batch in batch_records(checked_lines, lambda line: len(line.raw)):
        new_cells = iter(make_cells([_extract_row(line, header, layout) for line in batch if header.is_record(line)]))
        lines = [append_cells(line, next(new_cells)) if header.is_record(line) else line.raw for line in batch]
        sink.write(source.encode("".join(lines)))


def _compile_special_characters(layout: TableLayout) -> re.Pattern[str]:
    """Return what finds a character for which a cell must be quoted."""
    return re.compile(rf'["\r\n{re.escape(layout.delimiter)}]')


def _quote_cell(text: str, special: re.Pattern[str]) -> str:
    """Return a text as it stands in a cell, with quotes where it needs them."""
    return '"' + text.replace('"', '""') + '"' if special.search(text) else text


def _format_new_cell(
    cell: str | float | None, source: DecodedSource, layout: TableLayout, special: re.Pattern[str]
) -> str:
    """Return a new cell as it stands in the table."""
    text = format_share(cell) if isinstance(cell, float) else cell or ""
    if not source.is_encodable(text):  # in place of another character two classes might look the same
        raise InputError(
            f"{text!r} cannot be written to {layout.name}, whose encoding {source.encoding} lacks a character of it: "
            "convert the table to UTF-8."
        )
    return _quote_cell(text, special)


class _RowParser:
    """Cuts the text of a source into rows.

    Attributes:
        joins_blank_lines: whether blank lines that stand together are one row, so that millions of them cost little.
    """

    def __init__(self, source: DecodedSource, layout: TableLayout) -> None:
        self.joins_blank_lines = True
        delimiter = re.escape(layout.delimiter)
        self._source = source
        self._layout = layout
        self._cell_pattern = re.compile(
            rf'(?:{_QUOTED}|[^"{delimiter}\r\n][^{delimiter}\r\n]*+|)(?=[{delimiter}\r\n]|\Z)'
        )
        self._line_number = 1

    def parse(self) -> Iterator[_DelimitedLine]:
        """Yield every row, the last with or without a line end."""
        source, buffer = self._source, ""
        while not source.is_exhausted:
            buffer += source.read_more(buffer)
            position = 0
            while position < len(buffer):
                parsed_row = (
                    self._parse_blank_lines(buffer, position)
                    or self._parse_unquoted_row(buffer, position)
                    or self._parse_row(buffer, position)
                )
                if parsed_row is None:
                    break
                spans, end = parsed_row
                yield _DelimitedLine(buffer[position:end], spans, self._line_number)
                self._line_number += buffer.count("\n", position, end) or 1
                position = end
            buffer = buffer[position:]
        if buffer:
            raise self._make_row_error("a quote is opened and never closed")

    def _parse_blank_lines(self, buffer: str, position: int) -> tuple[CellSpans, int] | None:
        """Return the span of the empty cell and the end of blank lines, if there are some."""
        match = _BLANK_LINES.match(buffer, position) if self.joins_blank_lines else None
        return None if match is None else ([(0, 0)], match.end())

    def _parse_unquoted_row(self, buffer: str, position: int) -> tuple[CellSpans, int] | None:
        """Return spans (from the row's start) and end of a row without quotes, if it is one."""
        newline = buffer.find("\n", position)
        if newline < 0 or buffer.find('"', position, newline) >= 0:
            return None
        end = newline - 1 if buffer.startswith("\r", newline - 1) and newline > position else newline
        if buffer.find("\r", position, end) >= 0:
            return None
        spans, start = [], 0
        for cell in buffer[position:end].split(self._layout.delimiter):
            spans.append((start, start + len(cell)))
            start += len(cell) + 1
        return spans, newline + 1

    def _parse_row(self, buffer: str, position: int) -> tuple[CellSpans, int] | None:
        """Return spans and end of any row, or None where the buffer ends before it does."""
        spans: CellSpans = []
        final = self._source.is_exhausted
        start = position
        while True:
            match = self._cell_pattern.match(buffer, start)
            if match is None:
                closed = _QUOTED_CELL.match(buffer, start)
                if closed is not None and closed.end() < len(buffer):
                    raise self._make_row_error(
                        f"text follows a closing quote: {buffer[closed.end() : closed.end() + 20]!r}"
                    )
                return None
            end = match.end()
            if end + 1 >= len(buffer) and not final:
                return None
            spans.append((start - position, end - position))
            separator = buffer[end : end + 1]
            if separator == self._layout.delimiter:
                start = end + 1
                continue
            return spans, end + (2 if buffer.startswith("\r\n", end) else len(separator))

    def _make_row_error(self, problem: str) -> InputError:
        return InputError(
            f"{self._layout.name} is malformed in the row that starts in line {self._line_number}: {problem}. "
            "Quotes inside a quoted cell must be doubled."
        )
