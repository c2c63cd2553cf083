"""Labelled spans of texts, such as names: which words they cover, and in which unit their positions seem to be counted.

JavaScript, Java and .NET count UTF-16 units, C, Go and Rust bytes. In a text that is not ASCII such positions name
other characters, and the figures would be of other words.
"""

import dataclasses
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from numbers import Integral
from typing import NamedTuple

import numpy as np

from deniable.core.arrays import BoolArray, IntArray
from deniable.core.errors import InputError

_MAX_KIND_CHARACTERS = 40
"""Characters of the name of a kind: a longer one is rather the labelled text itself."""
_INSIDE_WORD = re.compile(r"(?<=\w)(?=\w)")
# In scripts without spaces words are not told apart.
_UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
_MIN_MISFITS, _MAX_SHARE = 3, 0.01
"""Spans that begin or end inside a word, and their share, from which on another unit that fits better is believed."""
_SHOWN_ROWS = 5
"""Rows that a remark names."""


class EntitySpan(NamedTuple):
    """A labelled part of a text.

    Attributes:
        start: its first character, counted from 0 as Python counts (Unicode code points).
        end: the character behind its last.
        kind: what it is, such as ``PERSON``.
    """

    start: int
    end: int
    kind: str


def read_span(location: str, entry: object, characters: int | None = None) -> EntitySpan:
    """Return the span that an entry (start, end, kind) tells.

    Args:
        location: where it was given, for messages, which show nothing of the text.
        entry: it.
        characters: number of characters of its text; None where that is checked later.

    Raises:
        InputError: it is no such entry, it holds no character or lies beyond its text, or its kind is no short text.
    """
    match entry:
        case (Integral() as start, Integral() as end, str() as kind) if not isinstance(start, bool) and not isinstance(
            end, bool
        ):
            first, behind, name = int(start), int(end), kind.strip()
        case tuple() | list():
            shown = ", ".join(type(value).__name__ for value in entry[:4])
            raise InputError(f"{location}: a span must be [start, end, kind], two integers and a text. Got [{shown}].")
        case _:
            raise InputError(f"{location}: a span must be [start, end, kind]. Got {type(entry).__name__}.")
    if not 0 <= first < behind:
        raise InputError(
            f"{location}: a span from {first} to {behind} is empty: characters are counted from 0, and the end is one "
            "more than the last character."
        )
    if not name or len(name) > _MAX_KIND_CHARACTERS or not name.isprintable():
        raise InputError(
            f"{location}: the kind of a span must have 1 to {_MAX_KIND_CHARACTERS} printable characters. Got "
            f"{len(name)}: name it PERSON, say."
        )
    span = EntitySpan(first, behind, name)
    if characters is not None:
        check_end(location, span, characters)
    return span


def check_end(location: str, span: EntitySpan, characters: int, hint: str = "") -> None:
    """Raise `InputError` for a span that ends beyond its text of so many characters; a hint says why that may be."""
    if span.end > characters:
        raise InputError(
            f"{location}: a span ends at {span.end}, beyond its text of {characters} characters: give positions in "
            f"that very text, as numbers of characters (Unicode code points){hint}."
        )


def merge_overlaps(spans: Iterable[EntitySpan]) -> list[EntitySpan]:
    """Return spans with those of one kind that share a character made one, in their order in the text."""
    merged: list[EntitySpan] = []
    for span in sorted(spans, key=lambda span: (span.kind, span)):
        if merged and merged[-1].kind == span.kind and span.start < merged[-1].end:
            merged[-1] = merged[-1]._replace(end=max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return sorted(merged)


class LocatedWords(NamedTuple):
    """The W words of a text and where they stand.

    Attributes:
        spellings: W words as they are spelled.
        starts: (W,) first character of each.
        ends: (W,) the character behind its last.
    """

    spellings: Sequence[str]
    starts: IntArray
    ends: IntArray

    @classmethod
    def of(cls, parts: Sequence[str]) -> "LocatedWords":
        """Return the words of a text in the pieces of `Space.split_words`: gap, word, gap, ..., gap."""
        bounds = np.cumsum([0, *map(len, parts)])
        return cls(parts[1::2], bounds[1:-1:2], bounds[2::2])

    def find_covered(self, span: EntitySpan) -> tuple[int, int]:
        """Return the first word that shares a character with a span, and the one behind the last such word."""
        if span.end <= span.start:  # an entity of HTML that stands for nothing
            return 0, 0
        first = int(np.searchsorted(self.ends, span.start, side="right"))
        behind = int(np.searchsorted(self.starts, span.end, side="left"))
        return first, max(first, behind)


@dataclasses.dataclass(frozen=True)
class LocatedSpans:
    """S spans among the words of R texts, end to end.

    Attributes:
        rows: (S,) the text of each.
        firsts: (S,) its first word.
        ends: (S,) the word behind its last; the first word itself where it has none.
        kinds: S kinds.
    """

    rows: IntArray
    firsts: IntArray
    ends: IntArray
    kinds: list[str]

    @classmethod
    def of(cls, located: Sequence[LocatedWords], spans: Sequence[Sequence[EntitySpan]]) -> "LocatedSpans":
        """Return the spans of R texts, of each text those in it."""
        starts = np.cumsum([0, *(len(words.spellings) for words in located)]).tolist()
        entries = [
            (row, *(starts[row] + place for place in words.find_covered(span)), span.kind)
            for row, (words, text_spans) in enumerate(zip(located, spans, strict=True))
            for span in text_spans
        ]
        rows, firsts, ends, kinds = zip(*entries, strict=True) if entries else ((), (), (), ())
        return cls(np.array(rows, np.int64), np.array(firsts, np.int64), np.array(ends, np.int64), list(kinds))

    @property
    def has_words(self) -> BoolArray:
        """(S,) whether a span has a word."""
        has_words: BoolArray = self.ends > self.firsts
        return has_words

    def select(self, kind: str) -> "LocatedSpans":
        """Return the spans of one kind."""
        places = np.flatnonzero([name == kind for name in self.kinds])
        return LocatedSpans(self.rows[places], self.firsts[places], self.ends[places], [kind] * len(places))

    def find_words(self, count: int) -> BoolArray:
        """Return (count,) True for every word that one of the spans covers."""
        steps = np.bincount(self.firsts, minlength=count + 1) - np.bincount(self.ends, minlength=count + 1)
        is_covered: BoolArray = np.cumsum(steps)[:-1] > 0
        return is_covered

    def find_whole(self, survives: BoolArray) -> BoolArray:
        """Return (S,) whether a span has words and all of them survive."""
        survivors = np.append(0, np.cumsum(survives))
        is_whole: BoolArray = self.has_words & (
            survivors[self.ends] - survivors[self.firsts] == self.ends - self.firsts
        )
        return is_whole


def _locate_unit(text: str, position: int, encoding: str, unit_bytes: int) -> int:
    """Return which character begins at so many units of an encoding, -1 for none."""
    if text.isascii():
        return position
    data = text.encode(encoding, "surrogatepass")
    prefix = data[: position * unit_bytes].decode(encoding, "ignore")
    is_start = len(prefix.encode(encoding, "surrogatepass")) == position * unit_bytes
    return len(prefix) if is_start else -1


_CHARACTERS = "characters"
_UNITS: dict[str, Callable[[str, int], int]] = {
    _CHARACTERS: lambda _, place: place,
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
        self._name, self._spans = name, 0
        self._misfits: Counter[str] = Counter()
        self._rows: list[int] = []

    def add(self, location: str, row: int, text: str, spans: Sequence[EntitySpan]) -> None:
        """Count the spans of a text.

        Args:
            location: where they were given, for messages.
            row: number of the text, from 0 on.
            text: it.
            spans: of it, in any order.

        Raises:
            InputError: one ends beyond the text.
        """
        misfits = Counter(
            unit
            for unit, locate in _UNITS.items()
            for span in spans
            if not _fits(text, locate(text, span.start), locate(text, span.end))
        )
        fitting = [unit for unit in _UNITS if not misfits[unit]]
        for span in spans:
            check_end(location, span, len(text), f"; they seem to be {fitting[0]}" if fitting else "")
        self._spans += len(spans)
        self._misfits += misfits
        self._rows += [row] * (misfits[_CHARACTERS] > 0)

    def judge(self) -> list[str]:
        """Return remarks for the owner on spans that begin or end inside a word.

        Raises:
            InputError: they are more than a few, and fit words in another unit.
        """
        misfits = self._misfits[_CHARACTERS]
        if not misfits:
            return []
        shown = ", ".join(f"{row + 1:,}" for row in self._rows[:_SHOWN_ROWS])
        more = f" and {len(self._rows) - _SHOWN_ROWS:,} more" if len(self._rows) > _SHOWN_ROWS else ""
        rows = f"row{'s' * (len(self._rows) > 1)} {shown}{more}"
        found = f"{misfits:,} of {self._spans:,} spans begin or end inside a word ({rows})"
        unit = min(_UNITS, key=self._misfits.__getitem__)
        if misfits >= max(_MIN_MISFITS, _MAX_SHARE * self._spans) and 2 * self._misfits[unit] <= misfits:
            raise InputError(
                f"{self._name}: {found}, and {self._misfits[unit]:,} if positions are {unit}: give the numbers of "
                "characters (Unicode code points), from 0."
            )
        return [f"{self._name}: {found}; the whole words were counted"]


def _fits(text: str, start: int, end: int) -> bool:
    """Return whether a span is in a text, and neither end is inside a word."""
    return 0 <= start < end <= len(text) and not any(
        _INSIDE_WORD.match(text, place) and not _UNSPACED.search(text, place - 1, place + 1) for place in (start, end)
    )
