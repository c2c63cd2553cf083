"""BLEU-4 of a corpus (Papineni et al. 2002)."""

import collections
import math
from collections.abc import Sequence

from deniable.core.errors import InputError

_MAX_ORDER = 4


def compute_bleu(hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> float:
    """Return BLEU-4 of a corpus, in [0, 100], with one reference for each text and without smoothing.

    The geometric mean of the modified n-gram precisions for n = 1 ... 4, each of the whole corpus, times
    exp(1 - r / c) where the hypotheses have c tokens, fewer than the r of the references (Papineni et al. 2002, section
    2.3). It is 0 where some precision is 0. An n for which no hypothesis is long enough is left out of the mean.

    Args:
        hypotheses: (k,) tokens of each text.
        references: (k,) tokens of its reference.

    Raises:
        InputError: no texts, or not as many references.
    """
    if not hypotheses or len(hypotheses) != len(references):
        raise InputError(
            f"BLEU needs one reference for each text. Got {len(hypotheses)} and {len(references)}: give as many."
        )
    log_precisions = []
    for n in range(1, _MAX_ORDER + 1):
        matches, total = 0, 0
        for hypothesis_tokens, reference_tokens in zip(hypotheses, references, strict=True):
            hypothesis_ngrams, reference_ngrams = (
                _count_ngrams(hypothesis_tokens, n),
                _count_ngrams(reference_tokens, n),
            )
            matches += (hypothesis_ngrams & reference_ngrams).total()
            total += hypothesis_ngrams.total()
        if total:
            log_precisions.append(math.log(matches / total) if matches else -math.inf)
    if not log_precisions:  # all hypotheses are empty: right where all references are
        return 0.0 if any(references) else 100.0
    hypothesis_length, reference_length = sum(map(len, hypotheses)), sum(map(len, references))
    return 100 * math.exp(
        min(0.0, 1 - reference_length / hypothesis_length) + math.fsum(log_precisions) / len(log_precisions)
    )


def _count_ngrams(tokens: Sequence[str], n: int) -> "collections.Counter[tuple[str, ...]]":
    return collections.Counter(tuple(tokens[start : start + n]) for start in range(len(tokens) - n + 1))
