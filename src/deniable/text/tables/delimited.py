"""csv and tsv: only the bytes of the text cells are replaced, every other byte is kept.

Cells are as in RFC 4180: a cell that begins with a quote ends with one, quotes inside are doubled,
and it may hold delimiters and line ends. A text cell is written with quotes where its new text needs them. Or quotes
are ordinary characters, see `TableLayout`: then no cell holds delimiters and line ends, and where a new text has one a
space is written. Lines end in LF, CRLF or CR. A blank line stays; in a table of one column it is a record whose cell is
empty.
"""

import dataclasses
import re
import shlex
from collections.abc import Iterator
from typing import BinaryIO

from deniable.core.errors import InputError
from deniable.core.identity import make_identity
from deniable.text.tables.copied_columns import CopiedColumns
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
from deniable.text.tables.quoting import CellWriter, DelimitedLine, QuoteCheck
from deniable.text.tables.row_parser import RowParser
from deniable.text.tables.rows import ReleasedRows, RowReleaser, TextRow, TextRows, list_column

_SEPARATOR_LINE = re.compile('"?sep=(.)"?', re.IGNORECASE)
"""With which Excel tells itself the delimiter, before the header."""


@dataclasses.dataclass(frozen=True)
class _Header:
    """What stands before the rows: blank lines and the names of all columns, and what each column is for."""

    leading_text: str
    line: DelimitedLine
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

    def is_record(self, line: DelimitedLine) -> bool:
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
    copied = CopiedColumns(layout)
    copied.names += header.names
    checked_lines = (_check_cell_count(line, len(header.names), layout) for line in parsed_lines)
    sink.writelines(
        _release_batch(batch, header, source, release_rows, copied)
        for batch in batch_records(checked_lines, lambda line: len(line.raw))
    )
    return copied.describe()


def read_delimited_rows(
    stream: BinaryIO, layout: TableLayout, copied: CopiedColumns | None = None
) -> Iterator[TextRow | InputError]:
    """Yield the rows of a csv or tsv, and for one with too few or too many cells what is wrong with it.

    Args:
        stream: the table.
        layout: where the cells stand.
        copied: takes note of what a release would copy, if that is asked for.

    Raises:
        InputError: no header, a missing column, a quote that is not closed.
    """
    source = DecodedSource(stream, layout)
    header, parsed_lines = _read_table(source, layout)
    if copied is not None:
        copied.names += header.names
    for line in parsed_lines:
        if header.is_record(line):
            try:
                yield _extract_row(_check_cell_count(line, len(header.names), layout), header, layout)
            except InputError as error:
                yield error
                continue
            if copied is not None and copied.needs_rows:
                copied.add_row(_list_cells(line, header))


def _read_table(source: DecodedSource, layout: TableLayout) -> "tuple[_Header, Iterator[DelimitedLine]]":
    """Return the header of a table, and the lines behind it."""
    parser = RowParser(source, layout)
    lines = parser.parse()
    header, check = _read_header(lines, source, layout)
    parser.joins_blank_lines = len(header.names) > 1  # in a table of one column they are records
    return header, check.watch(lines)


def _read_header(
    lines: Iterator[DelimitedLine], source: DecodedSource, layout: TableLayout
) -> tuple[_Header, QuoteCheck]:
    leading_text = source.byte_order_mark
    header_line = next(lines, None)
    if header_line is not None and (separator := _SEPARATOR_LINE.fullmatch(header_line.raw.rstrip("\r\n"))):
        if separator[1] != layout.delimiter:
            raise InputError(
                f"{layout.name} begins with {separator[0]!r}, by which Excel names the delimiter, and is read with "
                f"{layout.delimiter!r}: give --delimiter {_show_delimiter(separator[1])}."
            )
        leading_text += header_line.raw
        header_line = next(lines, None)
    while header_line is not None and header_line.is_blank:
        leading_text += header_line.raw
        header_line = next(lines, None)
    if header_line is None:
        raise InputError(f"{layout.name} has no header row.")
    names = [header_line.cell(index) for index in range(len(header_line.spans))]
    check = QuoteCheck(layout, header_line, names)
    layout.check_columns(names, _suggest_delimiter(names, layout))
    text_indices = [index for index, name in enumerate(names) if name in layout.columns]
    id_index, person_index = (
        None if column is None else names.index(column) for column in (layout.id_column, layout.person_column)
    )
    is_dropped = list(map(layout.is_dropped, names))
    return _Header(leading_text, header_line, names, text_indices, id_index, person_index, is_dropped), check


def _suggest_delimiter(names: list[str], layout: TableLayout) -> str:
    """Return a hint at another delimiter, where a header seems to be one name."""
    others = [sign for sign in ";\t|," if len(names) == 1 and sign in names[0] and sign != layout.delimiter]
    return f" Is it another delimiter, --delimiter {_show_delimiter(others[0])}?" if others else ""


def _show_delimiter(delimiter: str) -> str:
    """Return a delimiter as a shell takes it."""
    return "'\\t'" if delimiter == "\t" else shlex.quote(delimiter)


def _extract_row(line: DelimitedLine, header: _Header, layout: TableLayout) -> TextRow:
    record_id, person = (
        None if index is None else make_identity(line.cell(index)) for index in (header.id_index, header.person_index)
    )
    if header.id_index is not None and record_id is None:
        raise InputError(f"{layout.name} line {line.number} has no record id in {layout.id_column!r}: give it one.")
    return TextRow(record_id, [(header.names[c], line.cell(c)) for c in header.text_indices], person)


def _list_cells(line: DelimitedLine, header: _Header) -> Iterator[tuple[str, str]]:
    """Yield name and cell of each column of a record; a blank line has empty ones."""
    return ((name, line.cell(index)) for index, name in enumerate(header.names[: len(line.spans)]))


def _check_cell_count(line: DelimitedLine, width: int, layout: TableLayout) -> DelimitedLine:
    if not line.is_blank and len(line.spans) != width:
        quotes = "" if layout.quoting == "none" else ", or are quotes ordinary characters there (--quoting none)"
        raise InputError(
            f"{layout.name} line {line.number} has {len(line.spans)} cells, the header has {width}: is a quote or "
            f"delimiter missing, is the delimiter another than {layout.delimiter!r} (--delimiter){quotes}?"
        )
    return line


def _release_batch(
    batch: list[DelimitedLine],
    header: _Header,
    source: DecodedSource,
    release_rows: RowReleaser,
    copied: CopiedColumns,
) -> bytes:
    """Return the rows of a window with new texts."""
    layout = copied.layout
    records = [_extract_row(line, header, layout) for line in batch if header.is_record(line)]
    released = release_rows(TextRows.of(records)) if records else ReleasedRows({})
    columns = [list_column(released.columns[header.names[index]]) for index in header.text_indices] if records else []
    new_texts, is_released = zip(*columns, strict=True), iter(released.list_released(len(records)))
    writer = CellWriter(layout)
    has_dropped, is_alone = any(header.is_dropped), header.released_columns == 1
    parts: list[str] = []
    for line in batch:
        if not header.is_record(line):
            if not is_alone:  # where one column is left, a blank line would be read as a record
                parts.append(line.raw)
            continue
        if not next(is_released):
            continue
        if copied.needs_rows:
            copied.add_row(_list_cells(line, header))
        edits = find_cuts(line.spans, header.is_dropped) if has_dropped else []
        stays_blank = line.is_blank and not layout.replace_empty
        for column, text in zip(header.text_indices, next(new_texts), strict=True):
            start, end = line.spans[column]
            new_cell = line.raw[start:end]
            if layout.replace_empty or line.cell(column):
                # Quoted by what is released alone: the quotes of "1,000" would show what stood there.
                new_cell = writer.write(source.replace_unencodable(text or ""))
            if not new_cell and is_alone and not stays_blank and layout.quoting != "none":  # a blank line is no row
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
    writer = CellWriter(layout)

    def append_cells(line: DelimitedLine, cells: NewCells) -> str:
        end = line.spans[-1][1]
        added = "".join(layout.delimiter + _format_new_cell(cell, source, layout, writer) for cell in cells)
        return line.raw[:end] + added + line.raw[end:]

    sink.write(source.encode(header.leading_text + append_cells(header.line, tuple(new_columns))))
    checked_lines = (_check_cell_count(line, len(header.names), layout) for line in parsed_lines)
    for batch in batch_records(checked_lines, lambda line: len(line.raw)):
        new_cells = iter(make_cells([_extract_row(line, header, layout) for line in batch if header.is_record(line)]))
        lines = [append_cells(line, next(new_cells)) if header.is_record(line) else line.raw for line in batch]
        sink.write(source.encode("".join(lines)))


def _format_new_cell(cell: str | float | None, source: DecodedSource, layout: TableLayout, writer: CellWriter) -> str:
    """Return a new cell as it stands in the table."""
    text = format_share(cell) if isinstance(cell, float) else cell or ""
    if not source.is_encodable(text):  # in place of another character two classes might look the same
        raise InputError(
            f"{text!r} cannot be written to {layout.name}, whose encoding {source.encoding} lacks a character of it: "
            "convert the table to UTF-8."
        )
    if not writer.is_writable(text):
        raise InputError(
            f"{text!r} cannot be written to {layout.name} with --quoting none, since it holds the delimiter or a line "
            "end: give another --delimiter, or --quoting standard."
        )
    return writer.write(text)
