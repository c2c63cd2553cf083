"""Whether spans fit the words of their texts, or seem to be counted in another unit than characters.

JavaScript, Java and .NET count UTF-16 units, C, Go and Rust bytes. In a text that is not ASCII such positions name
other characters, and the figures would be of other words.
"""

import re
from collections.abc import Callable, Sequence

from deniable.core.errors import InputError
from deniable.measure.entities.spans import EntitySpan

_INSIDE_WORD = re.compile(r"(?<=\w)(?=\w)")
# In scripts without spaces words are not told apart.
_UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
_MIN_MISFITS, _MAX_SHARE = 3, 0.01
"""Spans that begin or end inside a word, and their share, from which on another unit that fits better is believed."""
_SHOWN_ROWS = 5
"""Rows that a remark names."""


def _locate_unit(text: str, position: int, encoding: str, unit_bytes: int) -> int:
    """Return which character begins at so many units of an encoding, -1 for none."""
    if text.isascii():
        return position
    data = text.encode(encoding, "surrogatepass")
    prefix = data[: position * unit_bytes].decode(encoding, "ignore")
    is_start = len(prefix.encode(encoding, "surrogatepass")) == position * unit_bytes
    return len(prefix) if is_start else -1


_UNITS: dict[str, Callable[[str, int], int]] = {
    "UTF-16 units, as JavaScript and Java count": lambda text, place: _locate_unit(text, place, "utf-16-le", 2),
    "bytes of UTF-8": lambda text, place: _locate_unit(text, place, "utf-8", 1),
    "characters counted from 1": lambda _, place: place - 1,
}
"""What positions may be, with functions from a text and a position to the number of the character, from 0 on."""


class SpanFit:
    """Counts spans that begin or end inside a word, and those that would in other units.

    Args:
        name: of the source of the spans, for messages.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._spans = self._misfits = 0
        self._misfits_of_unit = dict.fromkeys(_UNITS, 0)
        self._rows: list[int] = []

    def add(self, row: int, text: str, spans: Sequence[EntitySpan]) -> None:
        """Count the spans of a text.

        Args:
            row: its number, from 0 on.
            text: it.
            spans: of it, in the order of the text or not.
        """
        misfits = sum(not _fits(text, span.start, span.end) for span in spans)
        self._spans += len(spans)
        self._misfits += misfits
        if misfits:
            self._rows.append(row)
        for unit in _UNITS:
            self._misfits_of_unit[unit] += _count_misfits(text, spans, unit)

    def describe_unit(self, text: str, spans: Sequence[EntitySpan]) -> str:
        """Return a hint for spans beyond the end of a text: the unit in which all of them fit, nothing for none."""
        units = [unit for unit in _UNITS if not _count_misfits(text, spans, unit)]
        return f"; they seem to be {units[0]}" if units else ""

    def judge(self) -> list[str]:
        """Return remarks for the owner on spans that begin or end inside a word.

        Raises:
            InputError: they are more than a few, and fit words in another unit.
        """
        if not self._misfits:
            return []
        shown = ", ".join(f"{row + 1:,}" for row in self._rows[:_SHOWN_ROWS])
        more = f" and {len(self._rows) - _SHOWN_ROWS:,} more" if len(self._rows) > _SHOWN_ROWS else ""
        rows = f"row{'s' * (len(self._rows) > 1)} {shown}{more}"
        found = f"{self._misfits:,} of {self._spans:,} spans begin or end inside a word ({rows})"
        unit, misfits = min(self._misfits_of_unit.items(), key=lambda entry: entry[1])
        is_many = self._misfits >= max(_MIN_MISFITS, _MAX_SHARE * self._spans)
        if is_many and 2 * misfits <= self._misfits:
            raise InputError(
                f"{self._name}: {found}, and {misfits:,} if positions are {unit}: give the numbers of characters "
                "(Unicode code points), from 0."
            )
        return [f"{self._name}: {found}; the whole words were counted"]


def _fits(text: str, start: int, end: int) -> bool:
    """Return whether a span is in a text, and neither end is inside a word."""
    return 0 <= start < end <= len(text) and not any(
        _INSIDE_WORD.match(text, place) and not _UNSPACED.search(text, place - 1, place + 1) for place in (start, end)
    )


def _count_misfits(text: str, spans: Sequence[EntitySpan], unit: str) -> int:
    """Return how many spans do not fit where their positions are in a unit."""
    locate = _UNITS[unit]
    return sum(not _fits(text, locate(text, span.start), locate(text, span.end)) for span in spans)
