"""Tables with text columns, rewritten as streams: only the bytes of the text cells change, or columns are added."""

from collections.abc import Callable
from pathlib import PurePath
from typing import BinaryIO

from deniable.core.errors import InputError
from deniable.text.tables import delimited, jsonl, parquet, plain_text
from deniable.text.tables.layout import CellMaker, CopiedContent, NewColumns, TableLayout
from deniable.text.tables.rows import RowReleaser

TableReleaser = Callable[[BinaryIO, BinaryIO, TableLayout, RowReleaser], CopiedContent]
TableExtender = Callable[[BinaryIO, BinaryIO, TableLayout, NewColumns, CellMaker], None]

TABLE_FORMATS: dict[str, TableReleaser] = {
    "csv": delimited.release_delimited_table,
    "tsv": delimited.release_delimited_table,
    "jsonl": jsonl.release_jsonl_table,
    "parquet": parquet.release_parquet_table,
    "txt": plain_text.release_plain_text,
}
"""Format name -> function that copies a table from source to sink with its texts released anew.

Each returns what it copied unchanged.
"""

TABLE_EXTENDERS: dict[str, TableExtender] = {
    "csv": delimited.extend_delimited_table,
    "tsv": delimited.extend_delimited_table,
    "jsonl": jsonl.extend_jsonl_table,
    "parquet": parquet.extend_parquet_table,
}
"""Format name -> function that copies a table from source to sink with columns added, and changes nothing else."""

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}

_FORMAT_OF_SUFFIX = {**{f".{name}": name for name in TABLE_FORMATS}, ".ndjson": "jsonl"}


def detect_table_format(path: str) -> str:
    """Return the format that a file name stands for.

    Raises:
        InputError: no known ending.
    """
    pure_path = PurePath(path)
    if pure_path.suffix.lower() in COMPRESSIONS:
        pure_path = pure_path.with_suffix("")
    table_format = _FORMAT_OF_SUFFIX.get(pure_path.suffix.lower())
    if table_format is None:
        endings = " ".join(_FORMAT_OF_SUFFIX)
        raise InputError(
            f"Cannot tell the format of {path!r} by its ending. Known: {endings}, each also with "
            ".gz or .zst; or name it with --format."
        )
    return table_format
