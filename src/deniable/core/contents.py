"""What a file holds, by its first bytes, where it is not the text that its name says."""

import codecs

START_BYTES = 512
"""Bytes of the start of a file that tell what it holds."""
GZIP_MAGIC, ZSTD_MAGIC = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
"""With which compressed data begin."""
PARQUET = "parquet"
_MARKS = {  # the longer first: that of UTF-32 begins with that of UTF-16
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_ZEROS: dict[tuple[bool, ...], str] = {
    (False, True, False, True): "utf-16-le",
    (True, False, True, False): "utf-16-be",
    (False, True, True, True): "utf-32-le",
    (True, True, True, False): "utf-32-be",
}
"""Which of the first four bytes are zero in a text whose first characters are ASCII."""
_KINDS = {
    GZIP_MAGIC: ("gzip data", "decompress it; a file whose name ends in .gz is decompressed here"),
    ZSTD_MAGIC: ("zstandard data", "decompress it; a file whose name ends in .zst is decompressed here"),
    b"BZh": ("bzip2 data", "decompress it"),
    b"\xfd7zXZ\x00": ("xz data", "decompress it"),
    b"7z\xbc\xaf\x27\x1c": ("a 7z archive", "unpack it"),
    b"PK\x03\x04": ("a zip archive", "unpack it"),
    b"PK\x05\x06": ("an empty zip archive", "give another file"),
    b"PAR1": (PARQUET, "give --format parquet"),
    b"ARROW1": ("an Arrow file", "write it as parquet"),
    b"ORC": ("an ORC file", "write it as parquet"),
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": ("an old Excel or Word file", "save it as csv"),
    b"SQLite format 3": ("a SQLite database", "export its table as csv"),
}
_EXCEL_NAMES = (b"[Content_Types].xml", b"xl/", b"_rels/.rels", b"docProps/")
_FIRST_TEXT_BYTE = 9
"""Bytes below stand in no text of ASCII characters."""


def describe_content(start: bytes) -> tuple[str, str] | None:
    """Return what a file holds that is no text, and what to do about it; None for what may be text.

    Args:
        start: its first `START_BYTES`.
    """
    for magic, (kind, advice) in _KINDS.items():
        # Some of these letters may begin a text too: no text has control characters.
        if start.startswith(magic) and (not magic.isascii() or min(start) < _FIRST_TEXT_BYTE):
            is_workbook = magic == b"PK\x03\x04" and any(name in start for name in _EXCEL_NAMES)
            return ("an Excel workbook", "save its sheet as csv") if is_workbook else (kind, advice)
    return None


def find_marked_encoding(start: bytes) -> str | None:
    """Return the encoding whose byte order mark a file begins with, or None."""
    return next((encoding for mark, encoding in _MARKS.items() if start.startswith(mark)), None)


def guess_wide_encoding(start: bytes) -> str | None:
    """Return the encoding of more than one byte a character that zero bytes at the start of a file show, or None."""
    return _ZEROS.get(tuple(byte == 0 for byte in start[:4]))
