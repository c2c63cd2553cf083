"""Texts rewritten token by token, where each draw is private and the text is not.

- ``stop-words-kept``: stop words come out as they are, and a text has as many words as its original.
- ``shared-noise-of-tokens``: one draw of noise for all tokens of a text.
"""

from collections.abc import Sequence

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.published.samplers.toy import VOCABULARY, BrokenSampler, compute_one, read_tokens
from deniable.rewriting.token_law import ExponentialTokenLaw, TokenWeights

_TOKENS, _TOKEN_EPSILON = 8, 2.0
_STOP_WORDS = frozenset({"a", "and", "in", "of", "the", "was", "with"})
_TOKEN_LAW = ExponentialTokenLaw(VOCABULARY, _TOKEN_EPSILON)
_END = 0


def draw_each_token(text: str, prefix: Sequence[int]) -> TokenWeights:
    """Every place of at most T is drawn, and so is the end: from clipped logits, in integers."""
    logits = compute_one(text, prefix)
    tokens = read_tokens(text)
    logits[tokens[len(prefix)] if len(prefix) < len(tokens) else _END] += 5.0
    weights: TokenWeights = _TOKEN_LAW.compute_weights(logits[None])[0]
    return weights


def keep_stop_words(text: str, prefix: Sequence[int]) -> TokenWeights:
    """The same, but a stop word is copied, and the text ends where its original does."""
    words, place = text.split(), len(prefix)
    if place < len(words) and words[place] not in _STOP_WORDS:
        return draw_each_token(text, prefix)
    weights = np.zeros(VOCABULARY, dtype=np.int64)
    weights[read_tokens(text)[place] if place < len(words) else _END] = 1
    return weights


STOP_WORDS_KEPT = BrokenSampler(
    "stop-words-kept",
    "dpmlm 1.3.0 (docs/language_packages.md)",
    "stop words and the number of words survive, so that a text has no epsilon at all",
    keep_stop_words,
    draw_each_token,
    (("ann was in pain", "ann had bad pain", (40,)), ("ann left", "ann left the town", (40, 50))),
    {"claim": "pure", "epsilon": _TOKENS * _TOKEN_EPSILON, "tokens": _TOKENS},
)

_WORDS, _REACH = 16, 2_000
"""Words on a line, and values of the noise beyond which nothing is left of it in float64."""


def _weigh_noise() -> FloatArray:
    """Return the law of discrete Laplace noise, -R to R, that is epsilon-DP for words at the ends of the line."""
    weights = np.exp(-np.abs(np.arange(-_REACH, _REACH + 1)) * (_TOKEN_EPSILON / (_WORDS - 1)))
    law: FloatArray = weights / weights.sum()
    return law


def _count_outputs(word: int, law: FloatArray) -> FloatArray:
    """Return the law of a word plus noise, where what falls beyond the line is moved to its end."""
    outputs = np.clip(word + np.arange(-_REACH, _REACH + 1), 0, _WORDS - 1)
    counted: FloatArray = np.bincount(outputs, law, _WORDS)  # type: ignore[assignment]  # weights make it float64
    return counted


def draw_with_shared_noise(words: Sequence[int], prefix: Sequence[int]) -> FloatArray:
    """One draw of noise is added to every word of the text, as an array of another shape is added without a word.

    Each word alone is private. What came out before shows the noise, so that the difference of two words is exact.
    """
    law, values = _weigh_noise(), np.arange(-_REACH, _REACH + 1)
    for word, seen in zip(words, prefix, strict=False):
        law = np.where(np.clip(word + values, 0, _WORDS - 1) == seen, law, 0.0)
    return _count_outputs(words[len(prefix)], law / law.sum())


def draw_with_fresh_noise(words: Sequence[int], prefix: Sequence[int]) -> FloatArray:
    """Noise of its own for each word."""
    return _count_outputs(words[len(prefix)], _weigh_noise())


SHARED_NOISE_OF_TOKENS = BrokenSampler(
    "shared-noise-of-tokens",
    "privfill 0.1.0 (docs/language_packages.md)",
    "all tokens of a text get the same noise, so that their differences have none",
    draw_with_shared_noise,
    draw_with_fresh_noise,
    (([3, 5], [3, 9], (7,)),),
    {"claim": "pure", "epsilon": 2 * _TOKEN_EPSILON, "tokens": 2},
)

ENTRIES = (*STOP_WORDS_KEPT.entries, *SHARED_NOISE_OF_TOKENS.entries)
