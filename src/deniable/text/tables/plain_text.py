"""Plain text: every line is a record. Line ends are kept."""

import itertools
from collections.abc import Iterator
from typing import BinaryIO

from deniable.text.tables.base import Line, Span, TextTable

LINE_COLUMN = "text"


class PlainTextTable(TextTable[Line]):
    """Lines as the one column of a table that gets no others."""

    def open(self, stream: BinaryIO) -> None:
        """Refuse names of columns, of texts or of ids, that lines do not have."""
        self.layout.check_columns([LINE_COLUMN])
        super().open(stream)

    def read_lines(self) -> Iterator[Line]:
        """Yield all lines."""
        return map(Line, self.source.read_lines(), itertools.count(1))

    def is_record(self, line: Line) -> bool:  # noqa: ARG002 - each is one
        """Return that a line is a record."""
        return True

    def find_cell(self, line: Line, column: str) -> tuple[str, Span]:  # noqa: ARG002 - there is one
        """Return a line without its end."""
        text = line.raw.removesuffix("\n").removesuffix("\r")
        return text, (0, len(text))

    def list_cells(self, line: Line) -> list[tuple[str, object, Span]]:
        """Return the one cell of a line."""
        return [(LINE_COLUMN, *self.find_cell(line, LINE_COLUMN))]

    def write_text(self, text: str) -> str:
        """Return a new text with a question mark for what the encoding lacks."""
        return self.source.replace_unencodable(text)
