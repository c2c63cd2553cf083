"""Probabilities of many candidates by one history, looked up in a language model's tables by compiled loops."""

import numpy as np
import numpy.typing as npt

from deniable.measure.attackers.language import NgramTables, WordNumbers
from deniable.parallel import compile_loop
from deniable.space.metrics import FloatArray

Positions = npt.NDArray[np.int64]


def temper_tables(tables: NgramTables, weight: float) -> NgramTables:
    """Return all probabilities to the power of a weight, no longer as logarithms."""
    probabilities = {
        name: np.exp(weight * getattr(tables, name)) for name in ("logs1", "logs2", "back2", "logs3", "back3")
    }
    return tables._replace(**probabilities)


@compile_loop
def look_up_after_word(  # pragma: no cover - compiled
    candidates: WordNumbers,
    previous_word: int,
    tables: NgramTables,
    unigram_chances: FloatArray,
    bigram_chances: FloatArray,
    pairs: Positions,
) -> None:
    """Write P(w|before) of every candidate, and which entry of `bigram_words` the pair is, -1 for none."""
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
            bigram_chances[k] = tables.bigram_backoffs[previous_word] * tables.unigram_logs[candidates[k]]
        else:
            bigram_chances[k] = tables.bigram_logs[pairs[k]]


@compile_loop
def look_up_after_pair(  # pragma: no cover - compiled
    candidates: WordNumbers,
    pair: int,
    tables: NgramTables,
    bigram_chances: FloatArray,
    matches: Positions,
    trigram_chances: FloatArray,
) -> None:
    """Write P(w|pair) of every candidate, from that after the pair's second word."""
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
                trigram_chances[k] = tables.trigram_logs[matches[k]]


@compile_loop
def _find_words(
    candidates: WordNumbers, words: WordNumbers, start: int, end: int, matches: Positions
) -> int:  # pragma: no cover - compiled
    """Write where each of ``candidates`` stands in words[start:end], -1 for nowhere; both ascend. Return how many do."""
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
    """Return the first place in words[low:high], which ascend, of a number that is not below ``word``."""
    while low < high:
        middle = (low + high) // 2
        if words[middle] < word:
            low = middle + 1
        else:
            high = middle
    return low
