"""csv and tsv: only the bytes of the text cells are replaced, every other byte is kept.

Cells are as in RFC 4180: a cell that begins with a quote ends with one, quotes inside are doubled,
and it may hold delimiters and line ends. Lines end in LF, CRLF or CR. A blank line stays; in a table of one
column it is a record whose cell is empty. A text cell is written with quotes where its new text needs them.
"""

import dataclasses
import re
from collections.abc import Iterator
from typing import BinaryIO

from deniable.errors import InputError
from deniable.text.tables.decoding import Source
from deniable.text.tables.layout import Copied, Layout, ReleaseRows, Row, windows

_QUOTED = r'"[^"]*+(?:""[^"]*+)*+"'
_CLOSED = re.compile(_QUOTED)

Spans = list[tuple[int, int]]


@dataclasses.dataclass(frozen=True, slots=True)
class _Line:
    """One row as it stands in the file, its line end included, with the spans of its cells."""

    raw: str
    spans: Spans
    number: int

    @property
    def blank(self) -> bool:
        return self.spans == [(0, 0)]

    def cell(self, index: int) -> str:
        start, end = self.spans[index]
        raw = self.raw[start:end]
        return raw[1:-1].replace('""', '"') if raw.startswith('"') else raw


@dataclasses.dataclass(frozen=True)
class _Head:
    """What stands before the rows: the header and blank lines, its names, and where texts and ids stand."""

    raw: str
    names: list[str]
    columns: list[int]
    identity: int | None


def rewrite(stream: BinaryIO, sink: BinaryIO, layout: Layout, release: ReleaseRows) -> Copied:
    """Copy a csv or tsv with its texts released anew; return what was copied unchanged.

    Raises:
        InputError: no header, a missing column, a malformed row (its line is named).
    """
    source = Source(stream, layout)
    rows = _Rows(source, layout).read()
    head = _read_head(rows, source, layout)
    sink.write(source.encode(head.raw))
    lines = (_checked(line, len(head.names), layout) for line in rows)
    sink.writelines(
        _released(window, head, source, layout, release) for window in windows(lines, lambda line: len(line.raw))
    )
    return Copied(layout.others(head.names))


def read(stream: BinaryIO, layout: Layout) -> Iterator[Row | InputError]:
    """Yield the rows of a csv or tsv, and for one with too few or too many cells what is wrong with it.

    Raises:
        InputError: no header, a missing column, a quote that is not closed.
    """
    source = Source(stream, layout)
    rows = _Rows(source, layout).read()
    head = _read_head(rows, source, layout)
    for line in rows:
        if not (len(head.names) > 1 and line.blank):
            try:
                yield _row(_checked(line, len(head.names), layout), head)
            except InputError as error:
                yield error


def _read_head(rows: "Iterator[_Line]", source: Source, layout: Layout) -> _Head:
    leading = source.mark
    header = next(rows, None)
    while header is not None and header.blank:
        leading += header.raw
        header = next(rows, None)
    if header is None:
        raise InputError(f"{layout.name} has no header row.")
    names = [header.cell(index) for index in range(len(header.spans))]
    layout.check(names)
    columns = [index for index, name in enumerate(names) if name in layout.columns]
    identity = names.index(layout.id_column) if layout.id_column is not None else None
    return _Head(leading + header.raw, names, columns, identity)


def _row(line: _Line, head: _Head) -> Row:
    record_id = None if head.identity is None else line.cell(head.identity)
    return Row(record_id, [(head.names[c], line.cell(c)) for c in head.columns])


def _checked(line: _Line, width: int, layout: Layout) -> _Line:
    if not line.blank and len(line.spans) != width:
        raise InputError(
            f"{layout.name} line {line.number} has {len(line.spans)} cells, the header has {width}: "
            "is a quote or delimiter missing, or the --delimiter another?"
        )
    return line


def _released(window: list[_Line], head: _Head, source: Source, layout: Layout, release: ReleaseRows) -> bytes:
    """Return the rows of a window with new texts."""
    wide = len(head.names) > 1
    rows = [_row(line, head) for line in window if not (wide and line.blank)]
    texts = iter(release(rows))
    special = re.compile(rf'["\r\n{re.escape(layout.delimiter)}]')
    parts: list[str] = []
    for line in window:
        if wide and line.blank:
            parts.append(line.raw)
            continue
        at = 0
        for column, text in zip(head.columns, next(texts), strict=True):
            start, end = line.spans[column]
            new = line.raw[start:end]
            if layout.empty or line.cell(column):
                new = source.writable(text or "")
                # Quoted by what is released alone: the quotes of "1,000" would show what stood there.
                # An empty cell that is alone in its row would make the row a blank line.
                if special.search(new) or (not new and len(line.spans) == 1):
                    new = '"' + new.replace('"', '""') + '"'
            parts += (line.raw[at:start], new)
            at = end
        parts.append(line.raw[at:])
    return source.encode("".join(parts))


class _Rows:
    """Cuts the text of a source into rows."""

    def __init__(self, source: Source, layout: Layout) -> None:
        delimiter = re.escape(layout.delimiter)
        self._source = source
        self._layout = layout
        self._cell = re.compile(rf'(?:{_QUOTED}|[^"{delimiter}\r\n][^{delimiter}\r\n]*+|)(?=[{delimiter}\r\n]|\Z)')
        self._number = 1

    def read(self) -> Iterator[_Line]:
        """Yield every row, the last with or without a line end."""
        source, buffer = self._source, ""
        while not source.ended:
            buffer += source.take(buffer)
            at = 0
            while at < len(buffer):
                found = self._simple(buffer, at) or self._row(buffer, at)
                if found is None:
                    break
                spans, end = found
                yield _Line(buffer[at:end], spans, self._number)
                self._number += buffer.count("\n", at, end) or 1
                at = end
            buffer = buffer[at:]
        if buffer:
            raise self._error("a quote is opened and never closed")

    def _simple(self, buffer: str, at: int) -> tuple[Spans, int] | None:
        """Return spans (from the row's start) and end of a row without quotes, if it is one."""
        newline = buffer.find("\n", at)
        if newline < 0 or buffer.find('"', at, newline) >= 0:
            return None
        end = newline - 1 if buffer.startswith("\r", newline - 1) and newline > at else newline
        if buffer.find("\r", at, end) >= 0:
            return None
        spans, start = [], 0
        for cell in buffer[at:end].split(self._layout.delimiter):
            spans.append((start, start + len(cell)))
            start += len(cell) + 1
        return spans, newline + 1

    def _row(self, buffer: str, at: int) -> tuple[Spans, int] | None:
        """Return spans and end of any row, or None where the buffer ends before it does."""
        spans: Spans = []
        final = self._source.ended
        start = at
        while True:
            match = self._cell.match(buffer, start)
            if match is None:
                closed = _CLOSED.match(buffer, start)
                if closed is not None and closed.end() < len(buffer):
                    raise self._error(f"text follows a closing quote: {buffer[closed.end() : closed.end() + 20]!r}")
                return None
            end = match.end()
            if end + 1 >= len(buffer) and not final:
                return None
            spans.append((start - at, end - at))
            follows = buffer[end : end + 1]
            if follows == self._layout.delimiter:
                start = end + 1
                continue
            return spans, end + (2 if buffer.startswith("\r\n", end) else len(follows))

    def _error(self, what: str) -> InputError:
        return InputError(
            f"{self._layout.name} is malformed in the row that starts in line {self._number}: {what}. "
            "Quotes inside a quoted cell must be doubled."
        )
