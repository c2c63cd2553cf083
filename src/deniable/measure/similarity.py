"""Similarity of private texts to their originals: words, distances in the space, mean vectors, word sets."""

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import sparse

from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError
from deniable.measure.intervals import Estimate, estimate_clustered_mean, estimate_clustered_share, estimate_mean
from deniable.space import Space
from deniable.space.grammar import fold_word
from deniable.text.batches import PrivatizedBatch


@dataclasses.dataclass(frozen=True)
class TextSimilarity:
    """How similar private texts are to their originals; the intervals are over texts.

    Attributes:
        unchanged: share of words that stay as they are; a word that the vocabulary lacks counts as changed.
        moved: mean distance between a word and the one drawn for it, in the space's metric, over the words of the
            vocabulary.
        cosine: mean over texts of the cosine between a text's mean word vector before and after; texts without a
            known word, or with a mean of zero, are left out.
        unrelated: the same between a text and the private version of the next one, for comparison with `cosine`:
            mean vectors of any two texts are far from orthogonal. None for a single text.
        overlap: mean over texts of the Jaccard index of their word sets before and after.
        texts: number of texts with at least one word.
        words: number of words in all texts.
    """

    unchanged: Estimate
    moved: Estimate
    cosine: Estimate
    unrelated: Estimate | None
    overlap: Estimate
    texts: int
    words: int


def measure_similarity(space: Space, texts: Sequence[str], batch: PrivatizedBatch) -> TextSimilarity:
    """Return how similar private texts are to their originals.

    Args:
        space: the space of the mechanism.
        texts: R original texts.
        batch: the private texts, from `deniable.measure.privatize_texts`.

    Raises:
        InputError: the texts are not those of ``batch``, or no word is known.
    """
    spelled_texts = [space.split_words(text)[1::2] for text in texts]
    if [len(words) for words in spelled_texts] != batch.lengths:
        raise InputError(
            "The texts are not the originals of the batch: give both in the same order, without kept or dropped words."
        )
    if batch.unknown_mask.all():
        raise InputError(f"None of the {len(batch.words)} words of the texts is in the vocabulary: use other vectors.")
    is_known, lengths = ~batch.unknown_mask, np.diff(batch.offsets)
    row_of = np.repeat(np.arange(len(texts)), lengths)
    distances = _compute_pair_distances(space, batch.words[is_known], batch.outputs[is_known])
    moved = estimate_clustered_mean(np.bincount(row_of[is_known], distances), np.bincount(row_of[is_known]))
    # Sums (R, d) of the vectors of known words, and of the words drawn, which have the cosines of the means.
    shape = len(texts), len(space)
    before = sparse.csr_array((is_known.astype(np.float64), batch.words, batch.offsets), shape=shape) @ space.vectors
    after = sparse.csr_array((np.ones(len(is_known)), batch.outputs, batch.offsets), shape=shape) @ space.vectors
    has_vectors = before.any(axis=1) & after.any(axis=1)
    before, after = before[has_vectors], after[has_vectors]
    overlaps = []
    for words, (start, end) in zip(spelled_texts, itertools.pairwise(batch.offsets), strict=True):
        if words:
            originals, drawn = set(map(fold_word, words)), {space.words[word] for word in batch.outputs[start:end]}
            overlaps.append(len(originals & drawn) / len(originals | drawn))
    return TextSimilarity(
        unchanged=estimate_clustered_share(np.bincount(row_of, ~batch.changed_mask), np.bincount(row_of)),
        moved=dataclasses.replace(moved, low=max(moved.low, 0.0)),
        cosine=_estimate_cosine(before, after),
        unrelated=_estimate_cosine(before, np.roll(after, -1, axis=0)) if len(after) > 1 else None,
        overlap=estimate_mean(overlaps, bounds=(0.0, 1.0)),
        texts=int((lengths > 0).sum()),
        words=len(batch.words),
    )


def _compute_pair_distances(space: Space, words: npt.NDArray[np.int32], outputs: npt.NDArray[np.int32]) -> FloatArray:
    """Return the distances (N,) between N pairs of words, each pair of points computed once."""
    point_pairs = np.stack([space.point_by_word[words], space.point_by_word[outputs]])
    pairs, pair_of_word = np.unique(point_pairs, axis=1, return_inverse=True)
    start_points, run_starts = np.unique(pairs[0], return_index=True)
    ends = np.split(pairs[1], run_starts[1:])

    def read_block(first: int, distances: FloatArray) -> list[FloatArray]:
        return [row[points] for row, points in zip(distances, ends[first:], strict=False)]

    distances: FloatArray = np.concatenate(list(itertools.chain(*space.map_row_blocks(read_block, start_points))))
    return distances[pair_of_word.ravel()]


def _estimate_cosine(before: FloatArray, after: FloatArray) -> Estimate:
    """Return the mean cosine between rows, none of which vanishes."""
    cosines = np.einsum("rd,rd->r", before, after) / (np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1))
    return estimate_mean(np.clip(cosines, -1.0, 1.0), bounds=(-1.0, 1.0))
