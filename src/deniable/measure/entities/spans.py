"""Labelled spans of a text, such as the names in it, and the words that each of them covers."""

import dataclasses
import itertools
from collections.abc import Iterable, Sequence
from numbers import Integral

import numpy as np

from deniable.core.arrays import IntArray
from deniable.core.errors import InputError

SPAN_FIELDS = 3
"""Values that tell a span: start, end, kind."""
MAX_KIND_CHARACTERS = 40
"""Characters of the name of a kind: a longer one is rather the labelled text itself."""


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class EntitySpan:
    """A labelled part of a text.

    Attributes:
        start: its first character, counted from 0 as Python counts (Unicode code points).
        end: the character behind its last.
        kind: what it is, such as ``PERSON``.
    """

    start: int
    end: int
    kind: str


def build_span(location: str, start: object, end: object, kind: object) -> EntitySpan:
    """Return a span that holds at least one character.

    Args:
        location: where it was given, for messages, which show nothing of the text.
        start: its first character.
        end: the character behind its last.
        kind: what it is.

    Raises:
        InputError: positions that are no integers, no character between them, or a kind that is no short text.
    """
    for name, position in (("start", start), ("end", end)):
        if isinstance(position, bool) or not isinstance(position, Integral):
            raise InputError(
                f"{location}: the {name} of a span must be an integer. Got {type(position).__name__}: give the number "
                "of a character, from 0."
            )
    first, behind = int(start), int(end)  # type: ignore[call-overload]  # both are integers, as just checked
    if first < 0:
        raise InputError(f"{location}: a span starts at {first}: characters are counted from 0.")
    if behind <= first:
        raise InputError(
            f"{location}: a span from {first} to {behind} holds no character: its end is the character behind its last."
        )
    if not isinstance(kind, str):
        raise InputError(
            f"{location}: the kind of a span must be a text. Got {type(kind).__name__}: name it PERSON, say."
        )
    name = kind.strip()
    if not name or len(name) > MAX_KIND_CHARACTERS or not name.isprintable():
        raise InputError(
            f"{location}: the kind of a span must have 1 to {MAX_KIND_CHARACTERS} printable characters. Got "
            f"{len(name)}: name it PERSON, say."
        )
    return EntitySpan(first, behind, name)


def check_end(location: str, span: EntitySpan, characters: int, hint: str = "") -> None:
    """Raise `InputError` for a span that ends beyond its text.

    Args:
        location: where it was given, for messages.
        span: it.
        characters: number of characters of its text.
        hint: what its positions may be.
    """
    if span.end > characters:
        raise InputError(
            f"{location}: a span ends at {span.end}, beyond its text of {characters} characters: give positions in "
            f"that very text, as numbers of characters (Unicode code points){hint}."
        )


def find_overlap(spans: Sequence[EntitySpan]) -> tuple[int, int] | None:
    """Return two spans (by number) of one kind that share a character, or None."""
    order = sorted(range(len(spans)), key=lambda number: (spans[number].kind, spans[number]))
    for one, other in itertools.pairwise(order):
        if spans[one].kind == spans[other].kind and spans[other].start < spans[one].end:
            return one, other
    return None


def merge_overlaps(spans: Iterable[EntitySpan]) -> list[EntitySpan]:
    """Return spans with those of one kind that share a character made one, in their order in the text."""
    merged: list[EntitySpan] = []
    for span in sorted(spans, key=lambda span: (span.kind, span)):
        if merged and merged[-1].kind == span.kind and span.start < merged[-1].end:
            merged[-1] = dataclasses.replace(merged[-1], end=max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return sorted(merged)


@dataclasses.dataclass(frozen=True)
class LocatedWords:
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
