"""Plain text: every line is a record. Line ends are kept."""

from typing import BinaryIO

from deniable.text.tables.decoding import DecodedSource
from deniable.text.tables.jsonl import read_lines
from deniable.text.tables.layout import CopiedContent, RowReleaser, TableLayout, TextRow, batch_records

LINE_COLUMN = "text"


def release_plain_text(
    stream: BinaryIO, sink: BinaryIO, layout: TableLayout, release_rows: RowReleaser
) -> CopiedContent:
    """Copy a text file with every line released anew.

    Raises:
        InputError: the layout names a column, of texts or of ids, that lines do not have.
    """
    layout.check_columns([LINE_COLUMN])
    source = DecodedSource(stream, layout)
    sink.write(source.encode(source.byte_order_mark))
    sink.writelines(_release_batch(batch, source, release_rows) for batch in batch_records(read_lines(source), len))
    return CopiedContent()


def _release_batch(batch: list[str], source: DecodedSource, release_rows: RowReleaser) -> bytes:
    line_texts = [line.removesuffix("\n").removesuffix("\r") for line in batch]
    new_texts = release_rows([TextRow(None, [(LINE_COLUMN, line_text)]) for line_text in line_texts])
    parts: list[str] = []
    for line, line_text, (text,) in zip(batch, line_texts, new_texts, strict=True):
        parts += (source.replace_unencodable(text or ""), line[len(line_text) :])
    return source.encode("".join(parts))
