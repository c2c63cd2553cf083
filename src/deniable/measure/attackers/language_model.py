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
from deniable.measure.intervals import Estimate, estimate_clustered_mean
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
    """The model as arrays that compiled loops read; all probabilities as natural logarithms, unless tempered.

    There are V + 1 symbols, the last for unknown words; the number V + 1 stands for the start of a text. Every history
    has a run of entries, in ascending order of symbols: those after v are entries bigram_starts[v] ...
    bigram_starts[v + 1] - 1, and those after the pair of entry b of `bigram_words` are trigram_starts[b] ...
    trigram_starts[b + 1] - 1. A symbol that was not seen after a history has its probability after the shorter
    history, times the backoff weight of the longer one.

    Attributes:
        unigrams: (V + 1,) ln P(w).
        bigram_starts: (V + 3,) where the run of each symbol, and of the start, begins.
        bigram_words: (B,) symbols seen after another one.
        bigrams: (B,) ln P(w|v) of each.
        bigram_backoffs: (V + 2,) log backoff weights; 0 where nothing was seen.
        trigram_starts: (B + 1,) where the run of each pair begins.
        trigram_words: (T,) symbols seen after a pair.
        trigrams: (T,) ln P(w|u, v) of each.
        trigram_backoffs: (B,) log backoff weights.
    """

    unigrams: FloatArray
    bigram_starts: SymbolNumbers
    bigram_words: WordNumbers
    bigrams: FloatArray
    bigram_backoffs: FloatArray
    trigram_starts: SymbolNumbers
    trigram_words: WordNumbers
    trigrams: FloatArray
    trigram_backoffs: FloatArray

    def temper(self, weight: float) -> Self:
        """Return all probabilities to the power of a weight, no longer as logarithms."""
        names = ("unigrams", "bigrams", "bigram_backoffs", "trigrams", "trigram_backoffs")
        return self._replace(**{name: np.exp(weight * getattr(self, name)) for name in names})


@dataclasses.dataclass(frozen=True, eq=False)
class TrigramModel:
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
            InputError: no words, or a size beyond the keys.
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

    def score_words(self, sequences: Sequence[npt.ArrayLike]) -> FloatArray:
        """Return ln P(w|h) (N,) of every word of texts, end to end, after the two words before it in its text."""
        tables, start = self.tables, len(self.frequencies)
        symbols = _join_texts(sequences, start - 1)
        previous_symbols, next_symbols = symbols[:-1], symbols[1:]
        pairs = _find_entries(tables.bigram_starts, tables.bigram_words, previous_symbols, next_symbols)
        backed_off = tables.bigram_backoffs[previous_symbols] + np.append(tables.unigrams, 0.0)[next_symbols]
        logs = np.where(pairs < 0, backed_off, tables.bigrams[pairs])
        triples = _find_entries(tables.trigram_starts, tables.trigram_words, pairs[:-1], next_symbols[1:])
        backed_off = tables.trigram_backoffs[pairs[:-1]] + logs[1:]
        logs[1:] = np.where(
            pairs[:-1] < 0, logs[1:], np.where(triples < 0, backed_off, np.append(tables.trigrams, 0.0)[triples])
        )
        word_logs: FloatArray = logs[next_symbols < start]
        return word_logs


def measure_perplexity(model: TrigramModel, sequences: Sequence[WordNumbers]) -> Estimate:
    """Return the perplexity per word of texts; the interval is over texts, given the model.

    Over the N words of the texts that the vocabulary has::

        perplexity  =  exp( -(1 / N) sum_i ln P(w_i | w_i-2, w_i-1) )

    Texts that read like those of the model have about the perplexity of such texts that it has not seen.

    Args:
        model: of other texts, over the V words of a space.
        sequences: texts as word numbers, see `number_texts`; unknown words (number V) are read, and not counted.

    Raises:
        InputError: no word of the texts is in the vocabulary.
    """
    logs = model.score_words(sequences)
    is_known = np.concatenate(sequences) < len(model.prior)
    rows = np.repeat(np.arange(len(sequences)), [len(text) for text in sequences])[is_known]
    mean = estimate_clustered_mean(np.bincount(rows, -logs[is_known]), np.bincount(rows))
    value, low, high = np.exp([mean.value, mean.low, mean.high]).tolist()
    return dataclasses.replace(mean, value=value, low=low, high=high)


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


def _find_entries(
    starts: SymbolNumbers, words: WordNumbers, histories: SymbolNumbers, symbols: SymbolNumbers
) -> SymbolNumbers:
    """Return the entry (k,) of each symbol after a history, -1 for none, where entries are sorted by both."""
    keys = np.repeat(np.arange(len(starts) - 1), np.diff(starts)) << _SYMBOL_BITS | words
    wanted = np.where(histories < 0, -1, histories << _SYMBOL_BITS | symbols)
    places = np.searchsorted(keys, wanted)
    return np.where(np.append(keys, -2)[places] == wanted, places, -1)
