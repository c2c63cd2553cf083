"""Cuts the text of a csv or tsv into rows."""

import re
from collections.abc import Iterator

from deniable.core.errors import InputError
from deniable.text.tables.decoding import DecodedSource
from deniable.text.tables.layout import TableLayout
from deniable.text.tables.quoting import CellSpans, DelimitedLine

_QUOTED = r'"[^"]*+(?:""[^"]*+)*+"'
_QUOTED_CELL = re.compile(_QUOTED)
_BLANK_LINES = re.compile(r"\n++|(?:\r\n)++")


class RowParser:
    """Cuts the text of a source into rows.

    Attributes:
        joins_blank_lines: whether blank lines that stand together are one row, so that millions of them cost little.
    """

    def __init__(self, source: DecodedSource, layout: TableLayout) -> None:
        self.joins_blank_lines = True
        delimiter = re.escape(layout.delimiter)
        self._source = source
        self._layout = layout
        self._has_quotes = layout.quoting != "none"
        content = (
            rf'{_QUOTED}|[^"{delimiter}\r\n][^{delimiter}\r\n]*+|' if self._has_quotes else rf"[^{delimiter}\r\n]*+"
        )
        self._cell_pattern = re.compile(rf"(?:{content})(?=[{delimiter}\r\n]|\Z)")
        self._line_number = 1

    def parse(self) -> Iterator[DelimitedLine]:
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
                raw = buffer[position:end]
                yield DelimitedLine(raw, spans, self._line_number, self._has_quotes and '"' in raw)
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
        if newline < 0 or (self._has_quotes and buffer.find('"', position, newline) >= 0):
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
            "Quotes inside a quoted cell must be doubled; if they are ordinary characters there, give --quoting none."
        )
