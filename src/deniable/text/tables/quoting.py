"""Quotes of csv and tsv: how cells are written, and which quoted cells no writer can have meant.

A table whose writer knows no quotes may have a cell that begins with one, and a later row's cell that ends with one.
Read with quotes, the rows between are one cell: records are lost, and where the column is copied their private texts
leave in clear inside it.
"""

import dataclasses
import re
from collections.abc import Iterator, Mapping

from deniable.core.errors import InputError, shorten_text
from deniable.text.tables.layout import TableLayout

CellSpans = list[tuple[int, int]]
_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclasses.dataclass(frozen=True, slots=True)
class DelimitedLine:
    """One row as it stands in the file, its line end included, with the spans of its cells; or blank lines together."""

    raw: str
    spans: CellSpans
    number: int
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


class CellWriter:
    """Writes texts as cells."""

    def __init__(self, layout: TableLayout) -> None:
        self._special = re.compile(rf'["\r\n{re.escape(layout.delimiter)}]')
        self._has_quotes = layout.quoting != "none"
        self._boundary = re.compile(rf"[\r\n{re.escape(layout.delimiter)}]")
        self._substitute = "_" if layout.delimiter == " " else " "

    def write(self, text: str) -> str:
        """Return a new text as it stands in a cell, with quotes where it needs them.

        Without quotes a line end or delimiter would begin another cell: each is a space.
        """
        if not self._has_quotes:
            return self._boundary.sub(self._substitute, text)
        return '"' + text.replace('"', '""') + '"' if self._special.search(text) else text

    def is_writable(self, text: str) -> bool:
        """Return whether a cell can hold a text as it is."""
        return self._has_quotes or self._boundary.search(text) is None


def _has_line_end(text: str, start: int, end: int) -> bool:
    """Return whether a line ends in a part of a text."""
    return text.find("\n", start, end) >= 0 or text.find("\r", start, end) >= 0


@dataclasses.dataclass
class _ColumnEvidence:
    """What the cells of a text column say of quotes.

    Attributes:
        suspects: number of quoted cells that span lines which look like rows.
        first_suspect: where the first one begins.
        needed: number of other cells without whose quotes a row would have too many or too few cells.
        is_bare: whether an unquoted cell holds a quote, as no writer of quotes leaves it.
    """

    suspects: int = 0
    first_suspect: int = 0
    needed: int = 0
    is_bare: bool = False


class QuoteCheck:
    """Refuses a table with quoted cells that span lines which would themselves be rows.

    In a column that is not released one such line is enough, since its texts would pass unseen. Cells of text columns
    are released as a whole, so that records are lost at worst: there the table as a whole is judged, since a writer of
    quotes shows by other cells of the column that it means them.

    Args:
        layout: of the table; nothing is checked where it says what quotes mean.
        header: its first row.
        names: of its columns.

    Raises:
        InputError: rows are a part of the header, whose names are copied.
    """

    def __init__(self, layout: TableLayout, header: DelimitedLine, names: list[str]) -> None:
        self._layout, self._names = layout, names
        self._evidence = {index: _ColumnEvidence() for index, name in enumerate(names) if name in layout.columns}
        self._copied = {
            index: f"the quoted cell of {shorten_text(repr(name))}"
            for index, name in enumerate(names)
            if index not in self._evidence
        }
        if layout.quoting is None:
            self._check_copied_cells(header, dict.fromkeys(range(len(names)), "a quoted cell of the header"))

    def watch(self, lines: Iterator[DelimitedLine]) -> Iterator[DelimitedLine]:
        """Yield rows as they are, each after it was looked at.

        Raises:
            InputError: rows are lost in a cell.
        """
        if self._layout.quoting is not None:
            yield from lines
            return
        for line in lines:
            if line.has_quotes:
                self._inspect(line)
            yield line
        for index, evidence in self._evidence.items():
            self._judge(self._names[index], evidence)

    def _inspect(self, line: DelimitedLine) -> None:
        """Take note of a row with quotes, and refuse it where texts would pass in it."""
        raw, delimiter = line.raw, self._layout.delimiter
        is_long = _has_line_end(raw, 0, line.spans[-1][1])
        looks_like_rows = is_long and self._looks_like_rows(line)
        if len(line.spans) != len(self._names):
            if looks_like_rows:
                raise self._make_error(line.number, "a quoted cell")
            return
        if is_long:
            self._check_copied_cells(line, self._copied)
        for index, evidence in self._evidence.items():
            start, end = line.spans[index]
            if not raw.startswith('"', start, end):
                evidence.is_bare = evidence.is_bare or raw.find('"', start, end) >= 0
            elif looks_like_rows and _has_line_end(raw, start, end):
                evidence.first_suspect = evidence.first_suspect or line.number
                evidence.suspects += 1
            elif raw.find(delimiter, start, end) >= 0 or (is_long and _has_line_end(raw, start, end)):
                evidence.needed += 1

    def _check_copied_cells(self, line: DelimitedLine, cells: Mapping[int, str]) -> None:
        """Raise `InputError` where a line would be a row, and one of some cells holds more than one cell of it.

        Args:
            line: a row.
            cells: what a message calls each cell, by its number.
        """
        row_lines: list[tuple[int, int]] | None = None
        for index, cell in cells.items():
            start, end = line.spans[index]
            if not line.raw.startswith('"', start) or not _has_line_end(line.raw, start, end):
                continue
            row_lines = self._find_lines(line) if row_lines is None else row_lines
            for line_start, line_end in row_lines:
                is_inside = self._layout.delimiter in line.raw[max(start, line_start) : min(end, line_end)]
                # A row whose text has delimiters of its own has too many cells.
                if is_inside and self._count_cells(line.raw[line_start:line_end]) >= len(self._names):
                    raise self._make_error(line.number, cell)

    def _looks_like_rows(self, line: DelimitedLine) -> bool:
        """Return whether a row spans several lines, of which the outer ones and most of all would be rows."""
        counts = [self._count_cells(line.raw[start:end]) for start, end in self._find_lines(line)]
        are_rows = [count == len(self._names) for count in counts]
        return len(are_rows) > 1 and are_rows[0] and are_rows[-1] and 2 * sum(are_rows) >= len(are_rows)

    def _count_cells(self, text: str) -> int:
        """Return how many cells a line has where quotes are ordinary characters."""
        return text.count(self._layout.delimiter) + 1

    def _find_lines(self, line: DelimitedLine) -> list[tuple[int, int]]:
        """Return where the lines of a row begin and end, without blank ones."""
        row_end = line.spans[-1][1]
        ends = [match.span() for match in _LINE_END.finditer(line.raw, 0, row_end)]
        starts = [0, *(end for _, end in ends)]
        return [
            span for span in zip(starts, [*(start for start, _ in ends), row_end], strict=True) if span[0] < span[1]
        ]

    def _judge(self, name: str, evidence: _ColumnEvidence) -> None:
        """Refuse a text column whose quotes nobody seems to have meant, else name what the cells may have swallowed."""
        if not evidence.suspects:
            return
        number = "a quoted cell" if evidence.suspects == 1 else f"{evidence.suspects:,} quoted cells"
        cells = f"{number} of {shorten_text(repr(name))}"
        # In a table of one column every line looks like a row.
        if evidence.is_bare or (len(self._names) > 1 and evidence.suspects > evidence.needed):
            raise self._make_error(evidence.first_suspect, f"the first of {cells}" if evidence.suspects > 1 else cells)
        self._layout.remarks.append(
            f"{self._layout.name} line {evidence.first_suspect}: {cells} with lines that would be rows without quotes, "
            "read as one cell each; if quotes are ordinary characters there, give --quoting none"
        )

    def _make_error(self, number: int, cell: str) -> InputError:
        return InputError(
            f"{self._layout.name} line {number}: {cell} spans lines that would be rows of their own. Give --quoting "
            "none if quotes are ordinary characters in this table, or --quoting standard if such cells are meant."
        )
