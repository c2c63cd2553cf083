"""BLEU-4 of a corpus (Papineni et al. 2002)."""

import collections
import math
from collections.abc import Sequence

from deniable.errors import InputError

_LONGEST = 4


def bleu(found: Sequence[Sequence[str]], wanted: Sequence[Sequence[str]]) -> float:
    """Return BLEU-4 of a corpus, in [0, 100], with one reference for each text and without smoothing.

    The geometric mean of the modified n-gram precisions for n = 1 ... 4, each of the whole corpus, times
    exp(1 - r / c) where the c tokens found are fewer than the r wanted (Papineni et al. 2002, section 2.3). It is 0
    where some precision is 0. An n for which no text found is long enough is left out of the mean.

    Args:
        found: (k,) tokens of each text.
        wanted: (k,) tokens of its reference.

    Raises:
        InputError: no texts, or not as many references.
    """
    if not found or len(found) != len(wanted):
        raise InputError(f"BLEU needs one reference for each text. Got {len(found)} and {len(wanted)}: give as many.")
    logs = []
    for n in range(1, _LONGEST + 1):
        hits, total = 0, 0
        for one, other in zip(found, wanted, strict=True):
            mine, theirs = _grams(one, n), _grams(other, n)
            hits += (mine & theirs).total()
            total += mine.total()
        if total:
            logs.append(math.log(hits / total) if hits else -math.inf)
    if not logs:  # nothing was found: right where nothing was wanted
        return 0.0 if any(wanted) else 100.0
    length, reference = sum(map(len, found)), sum(map(len, wanted))
    return 100 * math.exp(min(0.0, 1 - reference / length) + math.fsum(logs) / len(logs))


def _grams(tokens: Sequence[str], n: int) -> "collections.Counter[tuple[str, ...]]":
    return collections.Counter(tuple(tokens[at : at + n]) for at in range(len(tokens) - n + 1))
