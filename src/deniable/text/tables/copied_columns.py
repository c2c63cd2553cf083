"""What a released table copies from the private one: the names of its columns, and which of them look private.

All of it is seen in the released table as well, so that a certificate may say it.
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
MAX_CELL_BYTES = 4 * _MAX_CELL_CHARACTERS
"""Bytes of them, in UTF-8."""
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
        self._cells: dict[str, list[list[str]]] = {}

    @property
    def needs_rows(self) -> bool:
        """Whether columns are judged by further rows."""
        return self._judged_rows < MAX_JUDGED_ROWS

    def add_row(self, cells: Iterable[tuple[str, object]]) -> None:
        """Look at a row that is released, of a table that still `needs_rows`."""
        self._judged_rows += 1
        places: dict[str, int] = {}
        for name, cell in cells:
            place = places[name] = places.get(name, -1) + 1  # of several columns of one name each is judged by itself
            is_copied = name not in self.layout.columns and not self.layout.is_dropped(name)
            text = _read_cell(cell)[:_MAX_CELL_CHARACTERS].strip() if is_copied and not is_null(cell) else ""
            if text:
                columns = self._cells.setdefault(name, [])
                columns += [[] for _ in range(place + 1 - len(columns))]
                columns[place].append(text)

    def describe(self, metadata: Sequence[str] = (), retyped: Sequence[str] = ()) -> CopiedContent:
        """Return what was copied.

        Args:
            metadata: names of what the file says about itself beside its columns.
            retyped: see `CopiedContent`.
        """
        layout = self.layout
        columns = layout.list_other_columns(self.names)
        cells = {name: self._cells.get(name, []) for name in columns}
        texts = tuple(name for name in cells if any(map(has_texts, cells[name])))
        others = (name for name in cells if name not in texts)
        # Ids tell rows apart, as they should; addresses say of whom they are.
        identifiers = tuple(
            name
            for name in others
            if any(map(has_addresses if name == layout.id_column else has_identifiers, cells[name]))
        )
        return CopiedContent(columns, tuple(metadata), layout.is_selection, tuple(retyped), texts, identifiers)


def has_texts(cells: Sequence[str]) -> bool:
    """Return whether the cells of a column, none of them blank, look like texts.

    They do if at least one in twenty holds two words or more, and more than half of those cells differ: names of people
    and remarks do, and categories such as "New York" do not where they recur.
    """
    wordy = [cell for cell in cells if _has_words(cell)]
    return len(wordy) >= max(1, _LEAST_SHARE * len(cells)) and 2 * len(set(wordy)) > len(wordy)


def has_identifiers(cells: Sequence[str]) -> bool:
    """Return whether the cells of a column, none of them blank, look like identifiers.

    They do if at least one in twenty is an e-mail address or a phone number, or if nearly all of twenty or more differ,
    decimal fractions aside.
    """
    least = max(1, _LEAST_SHARE * len(cells))
    if sum(map(_is_contact, cells)) >= least:
        return True
    whole = [cell for cell in cells if not _FRACTION.fullmatch(cell)]
    return len(whole) >= _MIN_DISTINCT_CELLS and len(set(whole)) >= _DISTINCT_SHARE * len(cells)


def has_addresses(cells: Sequence[str]) -> bool:
    """Return whether at least one cell in twenty is an e-mail address."""
    return sum(map(_has_address, cells)) >= max(1, _LEAST_SHARE * len(cells))


def _read_cell(cell: object) -> str:
    """Return what a cell shows: bytes as the text that they are, nothing where they are none."""
    if not isinstance(cell, bytes):
        return format_cell(cell)
    try:
        # The end may be cut off.
        return codecs.getincrementaldecoder("utf-8")().decode(cell[:MAX_CELL_BYTES])
    except UnicodeDecodeError:
        return ""


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
