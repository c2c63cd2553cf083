"""Plain text: every line is a record. Line ends are kept."""

from typing import BinaryIO

from deniable.text.tables.decoding import DecodedSource
from deniable.text.tables.jsonl import read_lines
from deniable.text.tables.layout import CopiedContent, TableLayout, batch_records
from deniable.text.tables.rows import RowReleaser, TextRows, list_column

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
    line_texts: list[str | None] = [line.removesuffix("\n").removesuffix("\r") for line in batch]
    released = release_rows(TextRows(len(batch), {LINE_COLUMN: line_texts}))
    new_texts = iter(list_column(released.columns[LINE_COLUMN]))
    parts: list[str] = []
    for line, line_text, is_released in zip(batch, line_texts, released.list_released(len(batch)), strict=True):
        if is_released:
            parts += (source.replace_unencodable(next(new_texts) or ""), line[len(line_text or "") :])
    return source.encode("".join(parts))
