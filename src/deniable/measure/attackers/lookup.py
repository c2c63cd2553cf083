"""Probabilities of many candidates by one history, looked up in a language model's tables by compiled loops."""

import numpy as np
import numpy.typing as npt

from deniable.measure.attackers.language import Tables, Words
from deniable.parallel import compiled
from deniable.space.metrics import Array

Places = npt.NDArray[np.int64]


def powered(tables: Tables, weight: float) -> Tables:
    """Return all probabilities to the power of a weight, no longer as logarithms."""
    logs = {name: np.exp(weight * getattr(tables, name)) for name in ("logs1", "logs2", "back2", "logs3", "back3")}
    return tables._replace(**logs)


@compiled
def after_word(  # pragma: no cover - compiled
    here: Words, before: int, tables: Tables, alone: Array, plain: Array, pairs: Places
) -> None:
    """Write P(w|before) of every candidate, and which entry of `words2` the pair is, -1 for none."""
    if before < 0:
        for k in range(here.size):
            plain[k], pairs[k] = alone[here[k]], -1
        return
    _find(here, tables.words2, tables.starts2[before], tables.starts2[before + 1], pairs)
    for k in range(here.size):
        if pairs[k] < 0:
            plain[k] = tables.back2[before] * tables.logs1[here[k]]
        else:
            plain[k] = tables.logs2[pairs[k]]


@compiled
def after_pair(  # pragma: no cover - compiled
    here: Words, pair: int, tables: Tables, plain: Array, found: Places, line: Array
) -> None:
    """Write P(w|pair) of every candidate, from that after the pair's second word."""
    if pair < 0 or tables.starts3[pair] == tables.starts3[pair + 1]:
        line[: here.size] = plain[: here.size]
        return
    back = tables.back3[pair]
    for k in range(here.size):
        line[k] = back * plain[k]
    if _find(here, tables.words3, tables.starts3[pair], tables.starts3[pair + 1], found):
        for k in range(here.size):
            if found[k] >= 0:
                line[k] = tables.logs3[found[k]]


@compiled
def _find(here: Words, words: Words, start: int, end: int, found: Places) -> int:  # pragma: no cover - compiled
    """Write where each of ``here`` stands in words[start:end], -1 for nowhere; both ascend. Return how many do."""
    found[: here.size] = -1
    hits = 0
    if end - start < here.size:
        for at in range(start, end):
            k = _lower(here, words[at], 0, here.size)
            if k < here.size and here[k] == words[at]:
                found[k] = at
                hits += 1
    else:
        for k in range(here.size):
            start = _lower(words, here[k], start, end)
            if start == end:
                break
            if words[start] == here[k]:
                found[k] = start
                hits += 1
    return hits


@compiled
def _lower(words: Words, word: int, low: int, high: int) -> int:  # pragma: no cover - compiled
    """Return the first place in words[low:high], which ascend, of a number that is not below ``word``."""
    while low < high:
        middle = (low + high) // 2
        if words[middle] < word:
            low = middle + 1
        else:
            high = middle
    return low
