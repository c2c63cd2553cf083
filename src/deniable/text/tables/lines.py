"""Plain text: every line is a record. Line ends are kept."""

from typing import BinaryIO

from deniable.text.tables.decoding import Source
from deniable.text.tables.jsonl import numbered_lines
from deniable.text.tables.layout import Copied, Layout, ReleaseRows, Row, windows

COLUMN = "text"


def rewrite(stream: BinaryIO, sink: BinaryIO, layout: Layout, release: ReleaseRows) -> Copied:
    """Copy a text file with every line released anew.

    Raises:
        InputError: the layout names a column, of texts or of ids, that lines do not have.
    """
    layout.check([COLUMN])
    source = Source(stream, layout)
    sink.write(source.encode(source.mark))
    sink.writelines(_released(window, source, release) for window in windows(numbered_lines(source), len))
    return Copied()


def _released(window: list[str], source: Source, release: ReleaseRows) -> bytes:
    bodies = [line.removesuffix("\n").removesuffix("\r") for line in window]
    texts = release([Row(None, [(COLUMN, body)]) for body in bodies])
    parts: list[str] = []
    for line, body, (text,) in zip(window, bodies, texts, strict=True):
        parts += (source.writable(text or ""), line[len(body) :])
    return source.encode("".join(parts))
