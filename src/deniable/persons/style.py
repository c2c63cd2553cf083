r"""Style of a collection: in how many records each token of a public language model opens the text, or comes early.

Of each record the first 64 tokens count, once each: the first one as an opening, the others as tokens, and the end of a
text where it comes early. So a record adds 1 to at most 64 of 2 V coordinates, l2 norm at most 8. What the records of a
person add is summed, and scaled down to that norm. One noisy sum of all (`deniable.persons.noisy_sums`) is released.
"""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
from randomgen import AESCounter

from deniable.core.arrays import FloatArray, IntArray
from deniable.language.model import LanguageModel
from deniable.persons.budget import NOISE_STEPS, Budget, Measurement
from deniable.persons.collection import UnitRows
from deniable.persons.noisy_sums import measure_histogram

STYLE_MEASUREMENT = "style"
_STYLE_WEIGHT = 0.2
"""Weight of the style beside 1 for the classifier."""
WINDOW = 64
"""Tokens at the beginning of a record that count."""
_NORM = WINDOW**0.5
_EARLY_END = 56
"""Tokens below which a record has ended early; its end is the last of at most 64 coordinates."""
_MAX_CHARACTERS = 1_000
"""Of a record that are looked at."""
_ENCODED_TEXTS = 1_000
"""Records whose tokens are in memory at a time."""
_CERTAINTY = 4.5
"""Standard deviations of noise above which a count is believed."""


@dataclasses.dataclass(frozen=True, eq=False)
class Style:
    """Shares of tokens, as they were counted or measured.

    Attributes:
        token_shares: (V,) of each token among all that count; 0 for those that were not seen above the noise.
        opening_shares: (V,) of each token among openings, likewise; they sum to 1, or are all 0.
        limit: share that a token which was not seen may have.
    """

    token_shares: FloatArray
    opening_shares: FloatArray
    limit: float


def plan_style_measurement(model: LanguageModel) -> Measurement:
    """Return the measurement of the style."""
    return Measurement(STYLE_MEASUREMENT, _STYLE_WEIGHT, 2 * model.card.vocabulary)


def measure_style(
    budget: Budget, texts: Sequence[str], units: UnitRows, model: LanguageModel, generator: AESCounter
) -> Style:
    """Return the noisy style of private records.

    Args:
        budget: it holds the measurement.
        texts: n records.
        units: of the records.
        model: whose tokens are counted; public.
        generator: of the noise.
    """
    bins, offsets = list_style_bins(model, [texts[row] for row in units.rows.tolist()])
    flat = UnitRows(units.unit, np.arange(len(bins)), offsets[units.offsets])
    size = 2 * model.card.vocabulary
    counts = measure_histogram(budget, STYLE_MEASUREMENT, bins, flat, size, generator, norm=_NORM)
    return estimate_style(counts, _CERTAINTY * _NORM * NOISE_STEPS / budget.compute_norm_bound(STYLE_MEASUREMENT))


def count_style(model: LanguageModel, texts: Sequence[str]) -> FloatArray:
    """Return (2 V,) the numbers of texts that hold each token, and that begin with it."""
    bins, _ = list_style_bins(model, texts)
    return np.bincount(bins, minlength=2 * model.card.vocabulary).astype(np.float64)


def estimate_style(counts: FloatArray, least: float = 0.0) -> Style:
    """Return the style of counts (2 V,), of which those below ``least`` are not believed."""
    tokens, openings = np.split(counts, 2)
    seen, begun = (np.where(part > least, part, 0.0) for part in (tokens, openings))
    # The noise of so many counts hardly moves their sum.
    total = max(float(tokens.sum()), float(seen.sum()), 1.0)
    return Style(seen / total, begun / max(float(begun.sum()), 1.0), least / total)


def list_style_bins(model: LanguageModel, texts: Sequence[str]) -> tuple[IntArray, IntArray]:
    """Return the coordinates that each text adds 1 to, one text after the other, and (n + 1,) where each begins."""
    bins: list[IntArray] = []
    for beginning, tokens in _encode_beginnings(model, texts):
        counted = [token for token in tokens[:WINDOW] if token not in model.end_tokens]
        has_ended = len(tokens) < _EARLY_END and len(beginning) < _MAX_CHARACTERS and model.end_token is not None
        ends = [model.end_token] if has_ended else []
        openings = np.array(counted[:1], dtype=np.int64) + model.card.vocabulary
        bins.append(np.concatenate([np.unique(np.array([*counted[1:], *ends], dtype=np.int64)), openings]))
    offsets = np.concatenate([[0], np.cumsum([len(one) for one in bins])]).astype(np.int64)
    return np.concatenate([np.zeros(0, dtype=np.int64), *bins]), offsets


def _encode_beginnings(model: LanguageModel, texts: Sequence[str]) -> Iterator[tuple[str, list[int]]]:
    """Yield the beginning of each text, and its tokens."""
    for first in range(0, len(texts), _ENCODED_TEXTS):
        beginnings = [text.strip()[:_MAX_CHARACTERS] for text in texts[first : first + _ENCODED_TEXTS]]
        yield from zip(beginnings, model.encode(beginnings), strict=True)
