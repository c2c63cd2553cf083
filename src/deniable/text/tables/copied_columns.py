"""What a released table copies from the private one: the names of its columns, and which of them look private.

All of it is seen in the released table as well, so that a certificate may say it.

What a file holds, by its first bytes, where it is not the text that its name says.
"""

import codecs
import re
from collections.abc import Iterable, Sequence

from deniable.core.identity import is_null
from deniable.text.columns import format_cell
from deniable.text.tables.layout import CopiedContent, TableLayout

MAX_JUDGED_ROWS = 1_000
"""Released rows that a column is judged by, the first ones of the table."""
_MAX_CELL_CHARACTERS = 1_000
"""Characters of a cell that are looked at."""
_LEAST_SHARE = 0.05
"""Share of a column's cells from which on their kind is that of the column."""
_MIN_DISTINCT_CELLS, _DISTINCT_SHARE = 20, 0.9
"""From so many cells on, of which such a share differs from all others, a column tells its rows apart."""

_LETTERS = re.compile(r"[^\W\d_]{2}")
_UNSPACED_LETTERS = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]{4}")
"""Of Thai, Lao, Japanese and Chinese, which are written without spaces."""
_DOMAIN_END = re.compile(r"[^\s.]\.[^\W\d_]{2}")
_PHONE = re.compile(r"[+(]?\d[\d\s()./-]{5,18}\d")
_DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}")
_FRACTION = re.compile(r"[-+]?\d*[.,]\d+(?:[eE][-+]?\d+)?")
_MIN_PHONE_DIGITS = 7


class CopiedColumns:
    """Collects what a release of a table copies, while the table is read.

    Attributes:
        names: of all columns of the table, as whoever reads it finds them; some may be there twice.

    Args:
        layout: of the release: which columns hold texts and ids, and which are left out.
    """

    def __init__(self, layout: TableLayout) -> None:
        self.layout, self.names, self._judged_rows = layout, list[str](), 0
        self._cells: dict[tuple[str, bool], list[str]] = {}

    @property
    def needs_rows(self) -> bool:
        """Whether columns are judged by further rows."""
        return self._judged_rows < MAX_JUDGED_ROWS

    def add_row(self, cells: Iterable[tuple[str, object]]) -> None:
        """Look at a row that is released, of a table that still `needs_rows`."""
        self._judged_rows += 1
        names: set[str] = set()
        for name, cell in cells:
            is_copied = name not in self.layout.columns and not self.layout.is_dropped(name)
            text = format_cell(cell)[:_MAX_CELL_CHARACTERS].strip() if is_copied and not is_null(cell) else ""
            if text:
                self._cells.setdefault((name, name in names), []).append(text)
            names.add(name)

    def add_head(self, head: Sequence[tuple[str, Sequence[object]]]) -> None:
        """Look at the first rows of a released table, or of a part of it, column by column."""
        names = [name for name, _ in head]
        for row in zip(*(cells for _, cells in head), strict=True):
            if self.needs_rows:
                self.add_row(zip(names, row, strict=True))

    def describe(self, metadata: Sequence[str] = ()) -> CopiedContent:
        """Return what was copied; metadata are those of `CopiedContent`."""
        layout = self.layout
        columns = layout.list_other_columns(self.names)
        texts = {name for (name, _), cells in self._cells.items() if _has_texts(cells)}
        # Ids tell rows apart, as they should; addresses say of whom they are.
        identifiers = {
            name
            for (name, _), cells in self._cells.items()
            if name not in texts and (_has_addresses if name == layout.id_column else _has_identifiers)(cells)
        }
        named = (tuple(name for name in dict.fromkeys(columns) if name in kind) for kind in (texts, identifiers))
        return CopiedContent(columns, tuple(metadata), layout.is_selection, *named)


def _has_texts(cells: Sequence[str]) -> bool:
    """Return whether the cells of a column, none of them blank, look like texts.

    They do if at least one in twenty holds two words or more, and more than half of those cells differ: names of people
    and remarks do, and categories such as "New York" do not where they recur.
    """
    wordy = [cell for cell in cells if _has_words(cell)]
    return len(wordy) >= max(1, _LEAST_SHARE * len(cells)) and 2 * len(set(wordy)) > len(wordy)


def _has_identifiers(cells: Sequence[str]) -> bool:
    """Return whether the cells of a column, none of them blank, look like identifiers.

    They do if at least one in twenty is an e-mail address or a phone number, or if nearly all of twenty or more differ,
    decimal fractions aside.
    """
    least = max(1, _LEAST_SHARE * len(cells))
    if sum(map(_is_contact, cells)) >= least:
        return True
    whole = [cell for cell in cells if not _FRACTION.fullmatch(cell)]
    return len(whole) >= _MIN_DISTINCT_CELLS and len(set(whole)) >= _DISTINCT_SHARE * len(cells)


def _has_addresses(cells: Sequence[str]) -> bool:
    """Return whether at least one cell in twenty is an e-mail address."""
    return sum(map(_has_address, cells)) >= max(1, _LEAST_SHARE * len(cells))


def _has_words(cell: str) -> bool:
    """Return whether a cell holds two words with white space between them, or a phrase of a script without spaces."""
    return bool(_UNSPACED_LETTERS.search(cell)) or sum(bool(_LETTERS.search(part)) for part in cell.split()) > 1


def _is_contact(cell: str) -> bool:
    """Return whether a cell holds an e-mail address, or is a phone number and no date and no plain number."""
    if _has_address(cell):
        return True
    is_number = cell.isdecimal() or _FRACTION.fullmatch(cell) or _DATE.match(cell)
    return not is_number and bool(_PHONE.fullmatch(cell)) and sum(map(str.isdecimal, cell)) >= _MIN_PHONE_DIGITS


def _has_address(cell: str) -> bool:
    """Return whether a cell holds an e-mail address."""
    addresses = (part.partition("@") for part in cell.split() if "@" in part)
    return any(name and _DOMAIN_END.search(domain) for name, _, domain in addresses)


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
