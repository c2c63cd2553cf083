"""Linkage: which of many known records does a released text come from?

The attacker has all original texts and one released text of one of them, and says the nearest original. A release word
by word keeps the number of words of a text and their places, so that only originals of equal length can be meant, and
of these the one whose words are nearest, place by place, is about the likeliest: the laws of word mechanisms fall off
with distance. A release that writes anew is compared by the mean of its word vectors alone.
"""

from collections.abc import Callable, Sequence

import numpy as np

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.errors import InputError
from deniable.core.parallel import parallel_map
from deniable.measure.attackers.language_model import WordNumbers, number_texts
from deniable.measure.intervals import Estimate, estimate_share
from deniable.space import Space


def measure_linkage(
    space: Space, texts: Sequence[str], released: Sequence[str], rows: IntArray, *, is_aligned: bool
) -> Estimate:
    """Return the share of released texts whose original is named among all originals; intervals over texts.

    Two originals with the same words are one: guessing either is right.

    Args:
        space: whose words and vectors the attacker uses.
        texts: n originals, the candidates.
        released: (k,) what was released of the originals ``rows``.
        rows: (k,) which originals these are.
        is_aligned: whether word i of a released text stands for word i of its original.

    Raises:
        InputError: there is not one released text for each row, or none of them.
    """
    if len(released) != len(rows):
        raise InputError(f"{len(rows)} attacked rows need as many released texts. Got {len(released)}.")
    originals, outputs = number_texts(space, texts), number_texts(space, released)
    # Of all words, and zeros for words that the space lacks.
    vectors = np.concatenate([space.vectors, np.zeros((1, space.vectors.shape[1]))])
    link = _link_by_places(vectors, originals) if is_aligned else _link_by_means(vectors, originals)
    named_rows = parallel_map(link, outputs)
    hits = [
        named is not None and np.array_equal(originals[named], originals[row])
        for named, row in zip(named_rows, rows.tolist(), strict=True)
    ]
    return estimate_share(sum(hits), len(hits))


def _link_by_places(vectors: FloatArray, originals: Sequence[WordNumbers]) -> Callable[[WordNumbers], int | None]:
    """Return a function from the words of a release to the original of equal length nearest to it, place by place."""
    rows_by_length: dict[int, list[int]] = {}
    for row, words in enumerate(originals):
        rows_by_length.setdefault(len(words), []).append(row)

    def link(words: WordNumbers) -> int | None:
        rows = rows_by_length.get(len(words), [])
        distances = [np.linalg.norm(vectors[words] - vectors[originals[row]], axis=1).sum() for row in rows]
        return rows[int(np.argmin(distances))] if rows else None

    return link


def _link_by_means(vectors: FloatArray, originals: Sequence[WordNumbers]) -> Callable[[WordNumbers], int | None]:
    """Return a function from the words of a release to the original whose mean vector has the largest cosine."""

    def normalize_sum(words: WordNumbers) -> FloatArray:
        total: FloatArray = vectors[words].sum(axis=0)
        return total / (np.linalg.norm(total) or 1.0)

    means = np.stack(list(map(normalize_sum, originals)))
    return lambda words: int(np.argmax(means @ normalize_sum(words)))
