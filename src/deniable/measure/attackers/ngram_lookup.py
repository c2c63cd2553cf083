"""Compiled look-ups in a trigram model: the probabilities of many candidates after one history."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray
from deniable.core.parallel import compile_loop
from deniable.measure.attackers.language_model import NgramTables, SymbolNumbers, WordNumbers

Positions = npt.NDArray[np.int64]


class TemperedTables(NamedTuple):
    """The tables of `NgramTables` with all probabilities to the power of a weight, no longer as logarithms.

    Attributes:
        unigrams: (V + 1,) P(w)^weight.
        bigram_starts: (V + 3,) see `NgramTables`.
        bigram_words: (B,) see `NgramTables`.
        bigrams: (B,) P(w|v)^weight of each.
        bigram_backoffs: (V + 2,) backoff weights^weight.
        trigram_starts: (B + 1,) see `NgramTables`.
        trigram_words: (T,) see `NgramTables`.
        trigrams: (T,) P(w|u, v)^weight of each.
        trigram_backoffs: (B,) backoff weights^weight.
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


def temper_tables(tables: NgramTables, weight: float) -> TemperedTables:
    """Return the probabilities of a model to the power of a weight."""
    return TemperedTables(
        np.exp(weight * tables.unigram_logs),
        tables.bigram_starts,
        tables.bigram_words,
        np.exp(weight * tables.bigram_logs),
        np.exp(weight * tables.bigram_backoffs),
        tables.trigram_starts,
        tables.trigram_words,
        np.exp(weight * tables.trigram_logs),
        np.exp(weight * tables.trigram_backoffs),
    )


@compile_loop
def look_up_after_word(  # pragma: no cover - compiled
    candidates: WordNumbers,
    previous_word: int,
    tables: TemperedTables,
    unigram_chances: FloatArray,
    bigram_chances: FloatArray,
    pairs: Positions,
) -> None:
    """Write P(w|previous word) of every candidate, and the entry of the pair in `bigram_words`, -1 for none."""
    if previous_word < 0:
        for k in range(candidates.size):
            bigram_chances[k], pairs[k] = unigram_chances[candidates[k]], -1
        return
    _find_words(
        candidates,
        tables.bigram_words,
        tables.bigram_starts[previous_word],
        tables.bigram_starts[previous_word + 1],
        pairs,
    )
    for k in range(candidates.size):
        if pairs[k] < 0:
            bigram_chances[k] = tables.bigram_backoffs[previous_word] * tables.unigrams[candidates[k]]
        else:
            bigram_chances[k] = tables.bigrams[pairs[k]]


@compile_loop
def look_up_after_pair(  # pragma: no cover - compiled
    candidates: WordNumbers,
    pair: int,
    tables: TemperedTables,
    bigram_chances: FloatArray,
    matches: Positions,
    trigram_chances: FloatArray,
) -> None:
    """Write P(w|pair) of every candidate, from its probability after the pair's second word alone."""
    if pair < 0 or tables.trigram_starts[pair] == tables.trigram_starts[pair + 1]:
        trigram_chances[: candidates.size] = bigram_chances[: candidates.size]
        return
    backoff = tables.trigram_backoffs[pair]
    for k in range(candidates.size):
        trigram_chances[k] = backoff * bigram_chances[k]
    if _find_words(
        candidates, tables.trigram_words, tables.trigram_starts[pair], tables.trigram_starts[pair + 1], matches
    ):
        for k in range(candidates.size):
            if matches[k] >= 0:
                trigram_chances[k] = tables.trigrams[matches[k]]


@compile_loop
def _find_words(
    candidates: WordNumbers, words: WordNumbers, start: int, end: int, matches: Positions
) -> int:  # pragma: no cover - compiled
    """Write the place of each candidate in words[start:end], -1 for none, both sorted; return the number of matches."""
    matches[: candidates.size] = -1
    hits = 0
    if end - start < candidates.size:
        for place in range(start, end):
            k = _find_lower_bound(candidates, words[place], 0, candidates.size)
            if k < candidates.size and candidates[k] == words[place]:
                matches[k] = place
                hits += 1
    else:
        for k in range(candidates.size):
            start = _find_lower_bound(words, candidates[k], start, end)
            if start == end:
                break
            if words[start] == candidates[k]:
                matches[k] = start
                hits += 1
    return hits


@compile_loop
def _find_lower_bound(words: WordNumbers, word: int, low: int, high: int) -> int:  # pragma: no cover - compiled
    """Return the first place in words[low:high], which are sorted, of a number not below ``word``."""
    while low < high:
        middle = (low + high) // 2
        if words[middle] < word:
            low = middle + 1
        else:
            high = middle
    return low
