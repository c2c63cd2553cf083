"""From text to word numbers and back, losing nothing on the way but the words themselves."""

import dataclasses
from collections.abc import Collection, Iterable
from typing import Literal

import numpy as np
import numpy.typing as npt

from deniable.errors import InputError
from deniable.space import Space
from deniable.space.grammar import ends_in_word, fold, is_clitic, split

Unknown = Literal["draw", "mask", "drop"]
Case = Literal["lower", "copy"]
MASK = "[unknown]"

_UNKNOWN, _KEEP = -1, -2
_REMEMBERED = 1_000_000
"""Spellings whose number is remembered at a time."""


@dataclasses.dataclass(frozen=True, slots=True)
class Lexed:
    """One text, cut for a mechanism.

    Attributes:
        gaps: L + 1 strings around the L words: what passes through, kept words included.
        words: (L,) word numbers, unknown words already read as the public one.
        capitals: L capital patterns, or None where they are not copied.
        unknown: how many words of the text are not in the space.
        kept: how many words of the text pass through as public ones.
        stand_ins: places in `words` where the public word stands for an unknown one.
    """

    gaps: list[str]
    words: npt.NDArray[np.int32]
    capitals: list[int] | None
    unknown: int
    kept: int
    stand_ins: npt.NDArray[np.intp]


class Lexer:
    """Cuts texts for one space, and remembers the number of every spelling that it has met.

    Args:
        space: where words are looked up, folded.
        unknown: ``draw`` reads an unknown word as ``space.unknown``; ``mask`` writes "[unknown]"
            in its place; ``drop`` leaves it out with the white space before it.
        case: ``lower`` writes words as the space has them, ``copy`` with the capitals of the
            original.
        keep: public words that pass through as they are, see `check_kept`.
    """

    def __init__(self, space: Space, unknown: Unknown, case: Case, keep: Collection[str]) -> None:
        self.space = space
        self.unknown = unknown
        self.case = case
        self.keep: dict[str, list[str]] = {}
        for word in check_kept(keep):
            self.keep.setdefault(word.lower(), []).append(word)
        self._stand_in = space.number(space.unknown)
        self._numbers: dict[str, int] = {}

    def lex(self, text: str) -> Lexed:
        """Cut one text."""
        parts = split(text)
        gaps, spellings = parts[0::2], parts[1::2]
        found = list(map(self._numbers.get, spellings))
        if None in found:
            found = [
                self._learn(word) if number is None else number for word, number in zip(spellings, found, strict=True)
            ]
        numbers = np.array(found, dtype=np.int32)
        unknown = np.flatnonzero(numbers == _UNKNOWN)
        kept = int(np.count_nonzero(numbers == _KEEP))
        stand_ins = unknown[:0]
        if self.unknown == "draw":
            numbers[unknown] = self._stand_in
            stand_ins = unknown
        if (numbers < 0).any():
            stand_ins = stand_ins - np.cumsum(numbers < 0)[stand_ins]
            gaps, spellings, numbers = self._pass_through(gaps, spellings, numbers)
        capitals = [_capitals(word) for word in spellings] if self.case == "copy" else None
        return Lexed(gaps, numbers, capitals, len(unknown), kept, stand_ins)

    def _learn(self, spelling: str) -> int:
        """Find and remember the number of a spelling, `_UNKNOWN` or `_KEEP` where it has none."""
        if len(self._numbers) >= _REMEMBERED:
            self._numbers.clear()
        folded = fold(spelling)
        kept = any(_is_spelling_of(spelling, word) for word in self.keep.get(spelling.lower(), ()))
        number = _KEEP if kept else self.space.index.get(folded, _UNKNOWN)
        self._numbers[spelling] = number
        return number

    def _pass_through(
        self, gaps: list[str], spellings: list[str], numbers: npt.NDArray[np.int32]
    ) -> tuple[list[str], list[str], npt.NDArray[np.int32]]:
        """Make kept, masked and dropped words part of the gaps around them."""
        out, words = [gaps[0]], []
        dropped = False
        for spelling, number, gap in zip(spellings, numbers.tolist(), gaps[1:], strict=True):
            if number >= 0:
                words.append(spelling)
                out.append(gap)
                dropped = False
                continue
            literal = spelling if number == _KEEP else MASK if self.unknown == "mask" else ""
            if not literal and out[-1].isspace():
                out[-1] = ""
            behind_word = dropped and ends_in_word(out[-1]) if out[-1] else bool(words)
            if literal and behind_word and not is_clitic(fold(literal)):
                literal = " " + literal
            out[-1] += literal + gap
            dropped = not gap and (dropped or not literal)
        return out, words, numbers[numbers >= 0]

    def write(self, lexed: Lexed, words: Iterable[int]) -> str:
        """Return the text with the given words (L numbers) in place of its own.

        Two words that touched (do|n't) are written apart unless the second is a contraction's.
        """
        chosen = list(map(self.space.words.__getitem__, words))
        gaps = lexed.gaps
        touching = self._touching(gaps)
        if touching:
            gaps = gaps.copy()
            for at in touching:
                if not is_clitic(chosen[at]):
                    gaps[at] += " "
        if lexed.capitals is not None:
            chosen = [_recase(word, pattern) for word, pattern in zip(chosen, lexed.capitals, strict=True)]
        parts = [""] * (2 * len(chosen) + 1)
        parts[0::2] = gaps
        parts[1::2] = chosen
        return "".join(parts)

    def _touching(self, gaps: list[str]) -> list[int]:
        """Return the words (by number) that stand right behind another word, drawn, kept or masked."""
        if self.keep or self.unknown != "draw":
            return [
                at for at, gap in enumerate(gaps[:-1]) if (at if not gap else ends_in_word(gap) or gap.endswith(MASK))
            ]
        inner = gaps[1:-1]
        touching: list[int] = []
        for _ in range(inner.count("")):
            touching.append(gaps.index("", touching[-1] + 1 if touching else 1))
        return touching


def check_kept(words: Collection[str]) -> tuple[str, ...]:
    """Return public words that pass through, sorted, each once.

    Raises:
        InputError: one of them is no single word.
    """
    for word in words:
        if not isinstance(word, str) or not (is_clitic(word) or split(word) == ["", word, ""]):
            raise InputError(f"The list of words to keep must hold single words. Got {word!r}: list its words apart.")
    return tuple(sorted(set(words)))


def _is_spelling_of(spelling: str, word: str) -> bool:
    """Say whether a spelling is the listed word, its letters one by one the listed ones or their other case.

    Nothing else is forgiven: a look-alike such as the Kelvin sign, another composition of an accent, or an
    invisible character can carry a payload.
    """
    return len(spelling) == len(word) and all(
        letter in (listed, listed.lower(), listed.upper()) for letter, listed in zip(spelling, word, strict=True)
    )


_LOWER, _TITLE, _UPPER = 0, 1, 2


def _capitals(word: str) -> int:
    """Return the capital pattern of a word: none, the first letter, or all of several letters."""
    if word[:1] == word[:1].lower():
        return _LOWER
    return _UPPER if len(word) > 1 and word == word.upper() else _TITLE


def _recase(word: str, pattern: int) -> str:
    if pattern == _LOWER:
        return word
    return word.upper() if pattern == _UPPER else word[:1].upper() + word[1:]
