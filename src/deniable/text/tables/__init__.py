"""Tables with text columns, rewritten as streams: only the bytes of the text cells change."""

from collections.abc import Callable
from pathlib import PurePath
from typing import BinaryIO

from deniable.errors import InputError
from deniable.text.tables import delimited, jsonl, lines, parquet
from deniable.text.tables.layout import Copied, Layout, ReleaseRows

Rewrite = Callable[[BinaryIO, BinaryIO, Layout, ReleaseRows], Copied]

FORMATS: dict[str, Rewrite] = {
    "csv": delimited.rewrite,
    "tsv": delimited.rewrite,
    "jsonl": jsonl.rewrite,
    "parquet": parquet.rewrite,
    "txt": lines.rewrite,
}
"""Format name -> function that copies a table from source to sink with its texts released anew.

Each returns what it copied unchanged.
"""

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}

_ENDINGS = {**{f".{name}": name for name in FORMATS}, ".ndjson": "jsonl"}


def format_of(path: str) -> str:
    """Return the format that a file name stands for.

    Raises:
        InputError: no known ending.
    """
    name = PurePath(path)
    if name.suffix.lower() in COMPRESSIONS:
        name = name.with_suffix("")
    found = _ENDINGS.get(name.suffix.lower())
    if found is None:
        endings = " ".join(_ENDINGS)
        raise InputError(
            f"Cannot tell the format of {path!r} by its ending. Known: {endings}, each also with "
            ".gz or .zst; or name it with --format."
        )
    return found
