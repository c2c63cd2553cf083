"""csv and tsv: only the bytes of the text cells are replaced, every other byte is kept.

Cells are as in RFC 4180: a cell that begins with a quote ends with one, quotes inside are doubled,
and it may hold delimiters and line ends. A text cell is written with quotes where its new text needs them. Or quotes
are ordinary characters, see `TableLayout`: then no cell holds delimiters and line ends, and where a new text has one a
space is written. Lines end in LF, CRLF or CR. A blank line stays; in a table of one column it is a record whose cell is
empty.

Quotes of csv and tsv: which quoted cells no writer can have meant.

A table whose writer knows no quotes may have a cell that begins with one, and a later row's cell that ends with one.
Read with quotes, the rows between are one cell: records are lost, and where the column is copied their private texts
leave in clear inside it.

Cuts the text of a csv or tsv into rows.
"""

import dataclasses
import re
from collections.abc import Iterator
from typing import BinaryIO

from deniable.core.errors import InputError, shorten_text
from deniable.text.tables.base import Line, Span, TextTable
from deniable.text.tables.decoding import DecodedSource
from deniable.text.tables.layout import Edit, TableLayout, apply_edits, check_new_columns, format_share

CellSpans = list[tuple[int, int]]
_QUOTED = r'"[^"]*+(?:""[^"]*+)*+"'
_QUOTED_CELL = re.compile(_QUOTED)


@dataclasses.dataclass(frozen=True, slots=True)
class DelimitedLine(Line):
    """One row as it stands in the file, its line end included, with the spans of its cells."""

    spans: CellSpans
    has_quotes: bool

    @property
    def is_blank(self) -> bool:
        """Whether there is nothing in it."""
        return self.spans == [(0, 0)]

    def cell(self, index: int) -> str:
        """Return what a cell holds."""
        start, end = self.spans[index]
        raw = self.raw[start:end]
        return raw[1:-1].replace('""', '"') if self.has_quotes and raw.startswith('"') else raw


class RowParser:
    """Cuts the text of a source into rows."""

    def __init__(self, source: DecodedSource, layout: TableLayout) -> None:
        self._source, self._layout, self._line_number = source, layout, 1
        self._has_quotes = layout.quoting != "none"
        delimiter = re.escape(layout.delimiter)
        content = (
            rf'{_QUOTED}|[^"{delimiter}\r\n][^{delimiter}\r\n]*+|' if self._has_quotes else rf"[^{delimiter}\r\n]*+"
        )
        self._cell_pattern = re.compile(rf"(?:{content})(?=[{delimiter}\r\n]|\Z)")

    def parse(self) -> Iterator[DelimitedLine]:
        """Yield every row, the last with or without a line end."""
        source, buffer = self._source, ""
        while not source.is_exhausted:
            buffer += source.read_more(buffer)
            position = 0
            while position < len(buffer) and (parsed_row := self._parse_row(buffer, position)):
                spans, end = parsed_row
                raw = buffer[position:end]
                yield DelimitedLine(raw, self._line_number, spans, self._has_quotes and '"' in raw)
                self._line_number += raw.count("\n") or 1
                position = end
            buffer = buffer[position:]
        if buffer:
            raise self._make_row_error("a quote is opened and never closed")

    def _parse_row(self, buffer: str, position: int) -> tuple[CellSpans, int] | None:
        """Return spans (from the row's start) and end of a row, or None where the buffer ends before it does."""
        spans: CellSpans = []
        start = position
        while True:
            match = self._cell_pattern.match(buffer, start)
            if match is None:
                closed = _QUOTED_CELL.match(buffer, start)
                if closed is not None and closed.end() < len(buffer):
                    behind = buffer[closed.end() : closed.end() + 20]
                    raise self._make_row_error(f"text follows a closing quote: {behind!r}")
                return None
            end = match.end()
            if end + 1 >= len(buffer) and not self._source.is_exhausted:
                return None
            spans.append((start - position, end - position))
            separator = buffer[end : end + 1]
            if separator != self._layout.delimiter:
                return spans, end + (2 if buffer.startswith("\r\n", end) else len(separator))
            start = end + 1

    def _make_row_error(self, problem: str) -> InputError:
        return InputError(
            f"{self._layout.name} is malformed in the row that starts in line {self._line_number}: {problem}. "
            "Quotes inside a quoted cell must be doubled; if they are ordinary characters there, give --quoting none."
        )


_LINE = re.compile(r"[^\r\n]+")


class QuoteCheck:
    """Refuses a table with quoted cells that span lines which would themselves be rows.

    In a column that is not released one such line is enough, since its texts would pass unseen. Cells of text columns
    are released as a whole, so that records are lost at worst: there the table as a whole is judged, since a writer of
    quotes shows by other cells that it means them.

    Args:
        layout: of the table; nothing is checked where it says what quotes mean.
        header: its first row.
        names: of its columns.

    Raises:
        InputError: rows are a part of the header, whose names are copied.
    """

    def __init__(self, layout: TableLayout, header: DelimitedLine, names: list[str]) -> None:
        self._layout, self._names = layout, names
        # Of text columns: lines of cells that span what looks like rows; how many others need their quotes; and
        # whether an unquoted cell holds a quote, as no writer of quotes leaves it.
        self._suspects, self._needed, self._has_bare = list[int](), 0, False
        for name, span in zip(names, header.spans, strict=True):
            self._check_copied_cell(header, name, span)

    def watch(self, lines: Iterator[DelimitedLine]) -> Iterator[DelimitedLine]:
        """Yield rows as they are, each after it was looked at.

        Raises:
            InputError: rows are lost in a cell.
        """
        for line in lines:
            if line.has_quotes and self._layout.quoting is None:
                self._inspect(line)
            yield line
        self._judge()

    def _inspect(self, line: DelimitedLine) -> None:
        """Take note of a row with quotes, and refuse it where texts would pass in it."""
        looks_like_rows = self._looks_like_rows(line)
        if len(line.spans) != len(self._names):
            if looks_like_rows:
                raise self._make_error(line.number, "a quoted cell")
            return
        for name, (start, end) in zip(self._names, line.spans, strict=True):
            cell = line.raw[start:end]
            has_line_end = "\n" in cell or "\r" in cell
            if name not in self._layout.columns:
                self._check_copied_cell(line, name, (start, end))
            elif not cell.startswith('"'):
                self._has_bare |= '"' in cell
            elif looks_like_rows and has_line_end:
                self._suspects.append(line.number)
            else:
                self._needed += has_line_end or self._layout.delimiter in cell

    def _check_copied_cell(self, line: DelimitedLine, name: str, span: Span) -> None:
        """Raise `InputError` where a line would be a row, and a copied cell holds more than one cell of it."""
        if self._layout.quoting is not None or _LINE.fullmatch(line.raw, *span):
            return
        for start, end in self._find_lines(line):
            part = line.raw[max(start, span[0]) : min(end, span[1])]
            # A row whose text has delimiters of its own has too many cells.
            separators = line.raw.count(self._layout.delimiter, start, end)
            if self._layout.delimiter in part and separators >= len(self._names) - 1:
                raise self._make_error(line.number, f"the quoted cell of {shorten_text(repr(name))}")

    def _looks_like_rows(self, line: DelimitedLine) -> bool:
        """Return whether a row spans several lines, of which the outer ones and most of all would be rows."""
        lines = self._find_lines(line)
        if len(lines) < 2:  # noqa: PLR2004 - several
            return False
        are_rows = [line.raw.count(self._layout.delimiter, *span) == len(self._names) - 1 for span in lines]
        return are_rows[0] and are_rows[-1] and 2 * sum(are_rows) >= len(are_rows)

    def _find_lines(self, line: DelimitedLine) -> list[Span]:
        """Return where the lines of a row begin and end, without blank ones."""
        return [match.span() for match in _LINE.finditer(line.raw, 0, line.spans[-1][1])]

    def _judge(self) -> None:
        """Refuse text columns whose quotes nobody seems to have meant, else name what the cells may have swallowed."""
        if not self._suspects:
            return
        first, cells = self._suspects[0], f"the first of {len(self._suspects):,} quoted cells"
        # In a table of one column every line looks like a row.
        if self._has_bare or (len(self._names) > 1 and len(self._suspects) > self._needed):
            raise self._make_error(first, cells)
        self._layout.remarks.append(
            f"{self._layout.name} line {first}: {cells} with lines that would be rows without quotes, read as one cell "
            "each; if quotes are ordinary characters there, give --quoting none"
        )

    def _make_error(self, number: int, cell: str) -> InputError:
        return InputError(
            f"{self._layout.name} line {number}: {cell} spans lines that would be rows of their own. Give --quoting "
            "none if quotes are ordinary characters in this table, or --quoting standard if such cells are meant."
        )


_SEPARATOR_LINE = re.compile('"?sep=(.)"?', re.IGNORECASE)
"""With which Excel tells itself the delimiter, before the header."""


class DelimitedTable(TextTable[DelimitedLine]):
    """A csv or tsv with a header.

    Raises:
        InputError: no header, or a malformed row, whose line is named.
    """

    def open(self, stream: BinaryIO) -> None:
        """Read the header, and check the names of the columns."""
        super().open(stream)
        layout, lines = self.layout, RowParser(self.source, self.layout).parse()
        header = self._find_header(lines)
        self._names = names = [header.cell(index) for index in range(len(header.spans))]
        check = QuoteCheck(layout, header, names)
        others = [sign for sign in ";\t|," if len(names) == 1 and sign in names[0] and sign != layout.delimiter]
        layout.check_columns(
            names, f" If its delimiter is {others[0]!r}, give --delimiter {others[0]!r}." if others else ""
        )
        check_new_columns(layout.name, names, self.new_columns)
        self.copied.names += names
        self._indices = {name: index for index, name in enumerate(names)}
        self._is_alone = list(map(layout.is_dropped, names)).count(False) == 1
        self._lines = check.watch(lines)
        escaped = re.escape(layout.delimiter)
        self._special, self._boundary = re.compile(rf'["\r\n{escaped}]'), re.compile(rf"[\r\n{escaped}]")
        head = apply_edits(header.raw, self._cut_columns(header)) if layout.is_selection else header.raw
        self.head += self.append_cells(header, tuple(self.new_columns)) if self.new_columns else head

    def _find_header(self, lines: Iterator[DelimitedLine]) -> DelimitedLine:
        """Return the first line that is not blank, and not Excel's of the delimiter; those before it are kept."""
        for line in lines:
            is_separator = line.number == 1 and _SEPARATOR_LINE.fullmatch(line.raw.rstrip("\r\n"))
            if not line.is_blank and not is_separator:
                return line
            self.head += line.raw
        raise InputError(f"{self.layout.name} has no header row.")

    def read_lines(self) -> Iterator[DelimitedLine]:
        """Yield all lines behind the header."""
        return self._lines

    def is_record(self, line: DelimitedLine) -> bool:
        """Return whether a line is a record: a blank line is one only in a table of one column."""
        return len(self._names) == 1 or not line.is_blank

    def find_cell(self, line: DelimitedLine, column: str) -> tuple[str, Span]:
        """Return what a cell holds; of a row with too few or too many cells nobody knows."""
        if len(line.spans) != len(self._names):
            layout = self.layout
            quotes = "" if layout.quoting == "none" else ", or are quotes ordinary characters there (--quoting none)"
            raise InputError(
                f"{self.locate(line)} has {len(line.spans)} cells, the header has {len(self._names)}: is a quote or "
                f"delimiter missing, is the delimiter not {layout.delimiter!r} (--delimiter){quotes}?"
            )
        index = self._indices[column]
        return line.cell(index), line.spans[index]

    def list_cells(self, line: DelimitedLine) -> list[tuple[str, object, Span]]:
        """Return name, content and place of each cell."""
        return [(name, line.cell(index), line.spans[index]) for index, name in enumerate(self._names)]

    def write_text(self, text: str) -> str:
        """Return a new text as it stands in a cell, with quotes where it needs them.

        Without quotes a line end or delimiter would begin another cell: each is a space.
        """
        text = self.source.replace_unencodable(text)
        if self.layout.quoting == "none":
            return self._boundary.sub("_" if self.layout.delimiter == " " else " ", text)
        return '"' + text.replace('"', '""') + '"' if self._special.search(text) else text

    def finish_line(self, line: DelimitedLine, edits: list[Edit]) -> str:
        """Return a line with its edits; where one column is left, a blank one is a record and no other."""
        new_line = super().finish_line(line, edits)
        if not self._is_alone or new_line.strip("\r\n"):
            return new_line
        if not self.is_record(line):
            return ""
        stays_blank = self.layout.quoting == "none" or (line.is_blank and not self.layout.replace_empty)
        return new_line if stays_blank else '""' + new_line

    def format_new_cell(self, name: str, cell: str | float | None) -> str:  # noqa: ARG002 - it is in the header
        """Return a new cell and the delimiter before it; one that the file cannot hold is refused."""
        text = format_share(cell) if isinstance(cell, float) else cell or ""
        has_boundary = self.layout.quoting == "none" and self._boundary.search(text)
        if has_boundary or self.source.replace_unencodable(text) != text:
            # In place of another character two classes might look the same.
            raise InputError(
                f"{text!r} cannot be written to {self.layout.name} in {self.source.encoding}, or without quotes: "
                "give a table in UTF-8, with another delimiter or with quotes."
            )
        return self.layout.delimiter + self.write_text(text)
