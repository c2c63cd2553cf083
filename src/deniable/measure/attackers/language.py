"""An n-gram model of language over the words of a space, for an attacker who knows how people write.

Interpolated Kneser-Ney smoothing with one discount per order (Kneser and Ney 1995; Chen and Goodman 1999,
Section 2.7), trigrams down to the uniform law. With c the count of a word after its history h, D the order's
discount and h' the history without its first word::

    P(w|h) = max(c(hw) - D, 0) / c(h) + D N(h) / c(h) P(w|h')      N(h): different words seen after h

Below the highest order c(hw) counts the different words seen before hw, but for a history that is the start
of a text, where nothing stands before it. Words that the space lacks are one more symbol, number V.
"""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from deniable.errors import InputError
from deniable.space import Space
from deniable.space.metrics import Array
from deniable.text.tokens import Lexer

Numbers = npt.NDArray[np.int64]
Words = npt.NDArray[np.int32]
_BITS = 21
"""Bits of a symbol in a key: three fill 63."""
_LARGEST = (1 << _BITS) - 2
_DISCOUNTS = 0.1, 0.9
"""A discount is kept within these, so that words never seen keep a share in small samples."""


class Tables(NamedTuple):
    """What the model knows, as arrays that compiled loops read; all probabilities as natural logarithms.

    There are V + 1 symbols, the last for unknown words, and V + 1 also numbers the start of a text. A history is a
    run of entries, in which symbols ascend: what was seen after v are entries starts2[v] ... starts2[v + 1] - 1, and
    after the pair that is entry b of `words2` entries starts3[b] ... starts3[b + 1] - 1. What was not seen has the
    probability by the shorter history, times what is left for it.

    Attributes:
        logs1: (V + 1,) ln P(w).
        starts2: (V + 3,) where the run of each symbol, and of the start, begins.
        words2: (B,) symbols seen after another.
        logs2: (B,) ln P(w|v) of each.
        back2: (V + 2,) what is left; 0 where nothing was seen.
        starts3: (B + 1,) where the run of each pair begins.
        words3: (T,) symbols seen after a pair.
        logs3: (T,) ln P(w|u, v) of each.
        back3: (B,) what is left.
    """

    logs1: Array
    starts2: Numbers
    words2: Words
    logs2: Array
    back2: Array
    starts3: Numbers
    words3: Words
    logs3: Array
    back3: Array


@dataclasses.dataclass(frozen=True, eq=False)
class LanguageModel:
    """A trigram model of the V words of a space, and of words unknown to it.

    Attributes:
        tables: probabilities by history.
        frequencies: (V + 1,) how frequent each symbol is, by counts plus a half; sums to 1.
    """

    tables: Tables
    frequencies: Array

    @classmethod
    def fit(cls, sequences: Sequence[npt.ArrayLike], size: int) -> Self:
        """Learn from texts.

        Args:
            sequences: texts as word numbers, each (L,); see `read`.
            size: V, the number of words of the space; as a number it stands for an unknown word.

        Raises:
            InputError: no words, a number outside 0 ... size, or too many words for the keys.
        """
        text = _joined(sequences, size)
        start, before, word = size + 1, text[:-1], text[1:]
        inside = word < start
        pairs, counts2 = np.unique((before << _BITS | word)[inside], return_counts=True)
        keys = text[:-2] << 2 * _BITS | text[1:-1] << _BITS | text[2:]
        triples, counts3 = np.unique(keys[inside[1:] & inside[:-1]], return_counts=True)
        first, second = pairs >> _BITS, pairs & ((1 << _BITS) - 1)
        history = np.searchsorted(pairs, triples >> _BITS)
        suffix = np.searchsorted(pairs, triples & ((1 << 2 * _BITS) - 1))
        continued = np.where(first == start, counts2, np.bincount(suffix, minlength=len(pairs)))

        shares, back1 = _discounted(np.bincount(second, minlength=start), np.zeros(start, dtype=np.int64), 1)
        unigram = shares + back1[0] / start
        shares, back2 = _discounted(continued, first, start + 1)
        bigram = shares + back2[first] * unigram[second]
        shares, back3 = _discounted(counts3, history, len(pairs))
        trigram = shares + back3[history] * bigram[suffix]
        tables = Tables(
            np.log(unigram),
            _starts(first, start + 1),
            second.astype(np.int32),
            np.log(bigram),
            np.log(back2),
            _starts(history, len(pairs)),
            (triples & ((1 << _BITS) - 1)).astype(np.int32),
            np.log(trigram),
            np.log(back3),
        )
        counts = np.bincount(word[inside], minlength=start) + 0.5
        return cls(tables, counts / counts.sum())

    @property
    def prior(self) -> Array:
        """(V,) how frequent each word of the space is among those that it holds; sums to 1."""
        known: Array = self.frequencies[:-1] / self.frequencies[:-1].sum()
        return known

    def probabilities(self, history: Sequence[int]) -> Array:
        """Return P(w|history) (V + 1,); only the last two of a history matter, and none is the start of a text."""
        known = self.tables
        start = len(known.logs1)
        first, last = [start, start, *history][-2:]
        run = slice(known.starts2[last], known.starts2[last + 1])
        logs = known.back2[last] + known.logs1
        logs[known.words2[run]] = known.logs2[run]
        pairs = slice(known.starts2[first], known.starts2[first + 1])
        pair = pairs.start + np.searchsorted(known.words2[pairs], last)
        if pair < pairs.stop and known.words2[pair] == last:
            run = slice(known.starts3[pair], known.starts3[pair + 1])
            logs += known.back3[pair]
            logs[known.words3[run]] = known.logs3[run]
        out: Array = np.exp(logs)
        return out


def read(space: Space, texts: Sequence[str]) -> list[Words]:
    """Return texts as word numbers, cut as for the mechanisms; ``len(space)`` stands for unknown words."""
    lexer = Lexer(space, "draw", "lower", ())
    out = []
    for text in texts:
        cut = lexer.lex(text)
        words = cut.words.copy()
        words[cut.stand_ins] = len(space)
        out.append(words)
    return out


def _joined(sequences: Sequence[npt.ArrayLike], size: int) -> Numbers:
    """Return all texts end to end, each behind the number ``size`` + 1 that marks its start."""
    if not 1 <= size < _LARGEST:
        raise InputError(f"A language model takes 1 to {_LARGEST - 1:,} words. Got {size}: use a smaller space.")
    texts = [np.asarray(text).ravel() for text in sequences]
    words = np.concatenate([np.empty(0, dtype=np.int64), *texts]).astype(np.int64)
    if not len(words):
        raise InputError("A language model needs words to learn from. Got none: give texts with words.")
    if words.min() < 0 or words.max() > size:
        raise InputError(
            f"A language model of {size} words takes word numbers from 0 to {size}. Got {words.min()} to "
            f"{words.max()}: read the texts with the mechanism's own space."
        )
    return np.insert(words, np.cumsum([0, *map(len, texts)])[:-1], size + 1)


def _discounted(counts: Numbers, history: Numbers, histories: int) -> tuple[Array, Array]:
    """Return the discounted share of each entry, and what each history leaves to shorter ones.

    Args:
        counts: (k,) of the entries; those of 0 were not seen.
        history: (k,) the history that each entry follows.
        histories: how many there are.
    """
    once, twice = (int((counts == number).sum()) for number in (1, 2))
    discount = float(np.clip(once / (once + 2 * twice), *_DISCOUNTS)) if once + twice else 0.5
    totals = np.maximum(np.bincount(history, counts, histories), 1.0)
    kinds = np.bincount(history[counts > 0], minlength=histories)
    shares: Array = np.maximum(counts - discount, 0.0) / totals[history]
    return shares, np.where(kinds > 0, discount * kinds / totals, 1.0)


def _starts(history: Numbers, histories: int) -> Numbers:
    """Return (histories + 1,) where the run of each history begins, among entries sorted by history."""
    return np.concatenate([[0], np.cumsum(np.bincount(history, minlength=histories))])
