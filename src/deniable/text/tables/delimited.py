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
from deniable.text.tables.decoding import DecodedSource
from deniable.text.tables.layout import (
    CopiedContent,
    RowReleaser,
    TableLayout,
    TextRow,
    apply_edits,
    batch_records,
    find_cuts,
)

_QUOTED = r'"[^"]*+(?:""[^"]*+)*+"'
_QUOTED_CELL = re.compile(_QUOTED)

CellSpans = list[tuple[int, int]]


@dataclasses.dataclass(frozen=True, slots=True)
class _DelimitedLine:
    """One row as it stands in the file, its line end included, with the spans of its cells."""

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
    """What stands before the rows, as it is released; the names of all columns, and which are texts, ids or dropped."""

    raw: str
    names: list[str]
    text_indices: list[int]
    id_index: int | None
    is_dropped: list[bool]

    @property
    def released_columns(self) -> int:
        """Number of columns of the released table."""
        return self.is_dropped.count(False)


def release_delimited_table(
    stream: BinaryIO, sink: BinaryIO, layout: TableLayout, release_rows: RowReleaser
) -> CopiedContent:
    """Copy a csv or tsv with its texts released anew; return what was copied unchanged.

    Raises:
        InputError: no header, a missing column, a malformed row (its line is named).
    """
    source = DecodedSource(stream, layout)
    parsed_lines = _RowParser(source, layout).parse()
    header = _read_header(parsed_lines, source, layout)
    sink.write(source.encode(header.raw))
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
    parsed_lines = _RowParser(source, layout).parse()
    header = _read_header(parsed_lines, source, layout)
    for line in parsed_lines:
        if not (len(header.names) > 1 and line.is_blank):
            try:
                yield _extract_row(_check_cell_count(line, len(header.names), layout), header)
            except InputError as error:
                yield error


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
    id_index = names.index(layout.id_column) if layout.id_column is not None else None
    is_dropped = list(map(layout.is_dropped, names))
    released_line = header_line.raw
    if any(is_dropped):
        released_line = apply_edits(released_line, find_cuts(header_line.spans, is_dropped))
    return _Header(leading_text + released_line, names, text_indices, id_index, is_dropped)


def _extract_row(line: _DelimitedLine, header: _Header) -> TextRow:
    record_id = None if header.id_index is None else line.cell(header.id_index)
    return TextRow(record_id, [(header.names[c], line.cell(c)) for c in header.text_indices])


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
    has_several_columns = len(header.names) > 1
    rows = [_extract_row(line, header) for line in batch if not (has_several_columns and line.is_blank)]
    new_texts = iter(release_rows(rows))
    special = re.compile(rf'["\r\n{re.escape(layout.delimiter)}]')
    has_dropped, is_alone = any(header.is_dropped), header.released_columns == 1
    parts: list[str] = []
    for line in batch:
        if has_several_columns and line.is_blank:
            if not is_alone:  # where one column is left, a blank line would be read as a record
                parts.append(line.raw)
            continue
        edits = find_cuts(line.spans, header.is_dropped) if has_dropped else []
        stays_blank = line.is_blank and not layout.replace_empty
        for column, text in zip(header.text_indices, next(new_texts), strict=True):
            start, end = line.spans[column]
            new_cell = line.raw[start:end]
            if layout.replace_empty or line.cell(column):
                new_cell = source.replace_unencodable(text or "")
                # Quoted by what is released alone: the quotes of "1,000" would show what stood there.
                if special.search(new_cell):
                    new_cell = '"' + new_cell.replace('"', '""') + '"'
            if not new_cell and is_alone and not stays_blank:  # it would make the row a blank line
                new_cell = '""'
            edits.append((start, end, new_cell))
        parts.append(apply_edits(line.raw, edits))
    return source.encode("".join(parts))


class _RowParser:
    """Cuts the text of a source into rows."""

    def __init__(self, source: DecodedSource, layout: TableLayout) -> None:
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
                parsed_row = self._parse_unquoted_row(buffer, position) or self._parse_row(buffer, position)
                if parsed_row is None:
                    break
                spans, end = parsed_row
                yield _DelimitedLine(buffer[position:end], spans, self._line_number)
                self._line_number += buffer.count("\n", position, end) or 1
                position = end
            buffer = buffer[position:]
        if buffer:
            raise self._make_row_error("a quote is opened and never closed")

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
