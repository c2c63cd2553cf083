"""A trigram language model over the words of a space, for an attacker who knows how people write.

Interpolated Kneser-Ney smoothing with one discount per order (Kneser and Ney 1995; Chen and Goodman 1999, Section 2.7),
from trigrams down to the uniform law. With c the count of a word after its history h, D the order's discount, N(h) the
number of different words seen after h, and h' the history without its first word::

    P(w|h) = max(c(hw) - D, 0) / c(h)  +  D N(h) / c(h) P(w|h')

Below the highest order c(hw) is the number of different words seen before hw, except for a history that is the start of
a text, before which nothing stands. Words that the space lacks are one more symbol, number V.
"""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import BoolArray, FloatArray
from deniable.core.errors import InputError
from deniable.space import Space
from deniable.text.tokens import Lexer

SymbolNumbers = npt.NDArray[np.int64]
WordNumbers = npt.NDArray[np.int32]
_SYMBOL_BITS = 21
"""Bits of a symbol in a key: three symbols fill 63 bits."""
_LARGEST_SYMBOL = (1 << _SYMBOL_BITS) - 2
_DISCOUNT_RANGE = 0.1, 0.9
"""Range of a discount: words never seen keep a share also in small samples."""


class NgramTables(NamedTuple):
    """The model as arrays that compiled loops read; all probabilities as natural logarithms.

    There are V + 1 symbols, the last for unknown words; the number V + 1 stands for the start of a text. Every history
    has a run of entries, in ascending order of symbols: those after v are entries bigram_starts[v] ...
    bigram_starts[v + 1] - 1, and those after the pair of entry b of `bigram_words` are trigram_starts[b] ...
    trigram_starts[b + 1] - 1. A symbol that was not seen after a history has its probability after the shorter
    history, times the backoff weight of the longer one.

    Attributes:
        unigram_logs: (V + 1,) ln P(w).
        bigram_starts: (V + 3,) where the run of each symbol, and of the start, begins.
        bigram_words: (B,) symbols seen after another one.
        bigram_logs: (B,) ln P(w|v) of each.
        bigram_backoffs: (V + 2,) log backoff weights; 0 where nothing was seen.
        trigram_starts: (B + 1,) where the run of each pair begins.
        trigram_words: (T,) symbols seen after a pair.
        trigram_logs: (T,) ln P(w|u, v) of each.
        trigram_backoffs: (B,) log backoff weights.
    """

    unigram_logs: FloatArray
    bigram_starts: SymbolNumbers
    bigram_words: WordNumbers
    bigram_logs: FloatArray
    bigram_backoffs: FloatArray
    trigram_starts: SymbolNumbers
    trigram_words: WordNumbers
    trigram_logs: FloatArray
    trigram_backoffs: FloatArray


@dataclasses.dataclass(frozen=True, eq=False)
class LanguageModel:
    """A trigram model of the V words of a space, and of words unknown to it.

    Attributes:
        tables: probabilities by history.
        frequencies: (V + 1,) frequencies of the symbols, from counts plus a half; they sum to 1.
    """

    tables: NgramTables
    frequencies: FloatArray

    @classmethod
    def fit(cls, sequences: Sequence[npt.ArrayLike], size: int) -> Self:
        """Return the model of texts.

        Args:
            sequences: texts as word numbers, each (L,); see `number_texts`.
            size: V, the number of words of the space; the word number V stands for an unknown word.

        Raises:
            InputError: no words, a number outside 0 ... size, or too many words for the keys.
        """
        symbols = _join_texts(sequences, size)
        start, previous_symbols, next_symbols = size + 1, symbols[:-1], symbols[1:]
        is_inside = next_symbols < start
        pairs, pair_counts = np.unique((previous_symbols << _SYMBOL_BITS | next_symbols)[is_inside], return_counts=True)
        keys = symbols[:-2] << 2 * _SYMBOL_BITS | symbols[1:-1] << _SYMBOL_BITS | symbols[2:]
        triples, triple_counts = np.unique(keys[is_inside[1:] & is_inside[:-1]], return_counts=True)
        first, second = pairs >> _SYMBOL_BITS, pairs & ((1 << _SYMBOL_BITS) - 1)
        history = np.searchsorted(pairs, triples >> _SYMBOL_BITS)
        suffix = np.searchsorted(pairs, triples & ((1 << 2 * _SYMBOL_BITS) - 1))
        continuation_counts = np.where(first == start, pair_counts, np.bincount(suffix, minlength=len(pairs)))

        shares, unigram_backoffs = _discount_counts(
            np.bincount(second, minlength=start), np.zeros(start, dtype=np.int64), 1
        )
        unigram_probabilities = shares + unigram_backoffs[0] / start
        shares, bigram_backoffs = _discount_counts(continuation_counts, first, start + 1)
        bigram_probabilities = shares + bigram_backoffs[first] * unigram_probabilities[second]
        shares, trigram_backoffs = _discount_counts(triple_counts, history, len(pairs))
        trigram_probabilities = shares + trigram_backoffs[history] * bigram_probabilities[suffix]
        tables = NgramTables(
            np.log(unigram_probabilities),
            _compute_starts(first, start + 1),
            second.astype(np.int32),
            np.log(bigram_probabilities),
            np.log(bigram_backoffs),
            _compute_starts(history, len(pairs)),
            (triples & ((1 << _SYMBOL_BITS) - 1)).astype(np.int32),
            np.log(trigram_probabilities),
            np.log(trigram_backoffs),
        )
        counts = np.bincount(next_symbols[is_inside], minlength=start) + 0.5
        return cls(tables, counts / counts.sum())

    @property
    def prior(self) -> FloatArray:
        """(V,) frequencies of the words of the space, unknown words left out; they sum to 1."""
        word_frequencies: FloatArray = self.frequencies[:-1] / self.frequencies[:-1].sum()
        return word_frequencies

    def probabilities(self, history: Sequence[int]) -> FloatArray:
        """Return P(w|history) (V + 1,); only the last two words matter, and an empty history is a text's start."""
        tables = self.tables
        start = len(tables.unigram_logs)
        first, last = [start, start, *history][-2:]
        run = slice(tables.bigram_starts[last], tables.bigram_starts[last + 1])
        logs = tables.bigram_backoffs[last] + tables.unigram_logs
        logs[tables.bigram_words[run]] = tables.bigram_logs[run]
        pairs = slice(tables.bigram_starts[first], tables.bigram_starts[first + 1])
        pair = pairs.start + np.searchsorted(tables.bigram_words[pairs], last)
        if pair < pairs.stop and tables.bigram_words[pair] == last:
            run = slice(tables.trigram_starts[pair], tables.trigram_starts[pair + 1])
            logs += tables.trigram_backoffs[pair]
            logs[tables.trigram_words[run]] = tables.trigram_logs[run]
        probabilities: FloatArray = np.exp(logs)
        return probabilities


def number_texts(space: Space, texts: Sequence[str]) -> list[WordNumbers]:
    """Return texts as word numbers, tokenized as for the mechanisms; ``len(space)`` stands for unknown words."""
    lexer = Lexer(space, "draw", "lower", ())
    return [number_words(space, lexed.words, np.flatnonzero(lexed.unknown_mask)) for lexed in map(lexer.lex, texts)]


def number_words(space: Space, words: WordNumbers, stand_ins: npt.NDArray[np.intp] | BoolArray) -> WordNumbers:
    """Return word numbers (N,) with ``len(space)`` where the public word stands for an unknown one.

    A word of a hidden class that stands for another of the class remains: the two are drawn alike.

    Args:
        space: of the words.
        words: (N,) as they were read.
        stand_ins: places, or a mask, of the words that stand for others.
    """
    numbers = words.copy()
    unknown_number = space.index_of(space.unknown_word)
    numbers[stand_ins] = np.where(words[stand_ins] == unknown_number, len(space), words[stand_ins])
    return numbers


def _join_texts(sequences: Sequence[npt.ArrayLike], size: int) -> SymbolNumbers:
    """Return all texts end to end, each after the number ``size`` + 1 that marks its start."""
    if not 1 <= size < _LARGEST_SYMBOL:
        raise InputError(f"A language model takes 1 to {_LARGEST_SYMBOL - 1:,} words. Got {size}: use a smaller space.")
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


def _discount_counts(counts: SymbolNumbers, history: SymbolNumbers, histories: int) -> tuple[FloatArray, FloatArray]:
    """Return the discounted share of each entry, and the backoff weight of each history.

    Args:
        counts: (k,) counts of the entries; 0 for entries that were not seen.
        history: (k,) the history of each entry.
        histories: number of histories.
    """
    seen_once, seen_twice = (int((counts == number).sum()) for number in (1, 2))
    discount = (
        float(np.clip(seen_once / (seen_once + 2 * seen_twice), *_DISCOUNT_RANGE)) if seen_once + seen_twice else 0.5
    )
    totals = np.maximum(np.bincount(history, counts, histories), 1.0)
    distinct_counts = np.bincount(history[counts > 0], minlength=histories)
    shares: FloatArray = np.maximum(counts - discount, 0.0) / totals[history]
    return shares, np.where(distinct_counts > 0, discount * distinct_counts / totals, 1.0)


def _compute_starts(history: SymbolNumbers, histories: int) -> SymbolNumbers:
    """Return (histories + 1,) where the run of each history begins, among entries sorted by history."""
    return np.concatenate([[0], np.cumsum(np.bincount(history, minlength=histories))])
