"""How much of the originals is left in private texts: words, places in the space, mean vectors, word sets."""

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import sparse

from deniable.errors import InputError
from deniable.measure.estimate import Estimate, clustered_mean, clustered_share, mean
from deniable.measure.tagging import Tagger
from deniable.space import Space
from deniable.space.grammar import fold, split
from deniable.space.metrics import Array
from deniable.text.release import Drawn


@dataclasses.dataclass(frozen=True)
class Similarity:
    """How near private texts are to their originals; the intervals are over texts.

    Attributes:
        unchanged: share of words that came out as they were; one that the vocabulary lacks counts as changed.
        moved: mean distance of a word to the one drawn for it, in the space's metric, over the words that the
            vocabulary knows.
        cosine: mean over texts of the cosine between a text's mean word vector before and after; texts without a
            known word, or with a mean of zero, are left out.
        unrelated: the same between a text and the private version of the next one, as a mark to read `cosine` by:
            mean vectors of any two texts are far from orthogonal. None for one text alone.
        overlap: mean over texts of the Jaccard index of its word sets before and after.
        parts: share of words unchanged by part of speech, most frequent first; empty without a tagger.
        texts: with at least one word.
        words: in all texts.
    """

    unchanged: Estimate
    moved: Estimate
    cosine: Estimate
    unrelated: Estimate | None
    overlap: Estimate
    parts: dict[str, Estimate]
    texts: int
    words: int


def similarity(space: Space, texts: Sequence[str], drawn: Drawn, *, tagger: Tagger | None = None) -> Similarity:
    """Return how near private texts are to their originals.

    Args:
        space: of the mechanism that drew the words.
        texts: R original texts.
        drawn: what `deniable.measure.draws.draws` made of them.
        tagger: names parts of speech, such as `deniable.measure.tagging.installed_tagger()`.

    Raises:
        InputError: the texts are not those of ``drawn``, no word is known, or a tagger returns too few tags.
    """
    spelled = [split(text)[1::2] for text in texts]
    if [len(words) for words in spelled] != drawn.lengths:
        raise InputError("The texts are not those that were drawn for: give both in the same order, all words drawn.")
    if drawn.stand_ins.all():
        raise InputError(f"None of the {len(drawn.words)} words of the texts is in the vocabulary: use other vectors.")
    lengths, kept, known = np.diff(drawn.offsets), ~drawn.changed, ~drawn.stand_ins
    row_of = np.repeat(np.arange(len(texts)), lengths)
    before, after = _summed(space.vectors, drawn)
    return Similarity(
        unchanged=clustered_share(*_per_text(row_of, kept)),
        moved=_moved(space, drawn, row_of),
        cosine=_cosine(before, after),
        unrelated=_unrelated(before, after),
        overlap=_overlap(space, spelled, drawn),
        parts=_parts(spelled, kept, row_of, tagger) if tagger else {},
        texts=int((lengths > 0).sum()),
        words=int(known.size),
    )


def _per_text(row_of: npt.NDArray[np.int64], values: npt.ArrayLike) -> tuple[Array, Array]:
    """Return the sums of values (N,) over the words of each text, and how many they are."""
    sums = np.bincount(row_of, np.asarray(values, dtype=np.float64)).astype(np.float64)
    return sums, np.bincount(row_of).astype(np.float64)


def _moved(space: Space, drawn: Drawn, row_of: npt.NDArray[np.int64]) -> Estimate:
    known = ~drawn.stand_ins
    distances = _distances(space, drawn.words[known], drawn.outputs[known])
    found = clustered_mean(*_per_text(row_of[known], distances))
    return dataclasses.replace(found, low=max(found.low, 0.0))


def _distances(space: Space, words: npt.NDArray[np.int32], outputs: npt.NDArray[np.int32]) -> Array:
    """Return the distances (N,) between N pairs of words, each pair of points computed once."""
    places = np.stack([space.point_of[words], space.point_of[outputs]])
    pairs, which = np.unique(places, axis=1, return_inverse=True)
    distances = np.zeros(pairs.shape[1])
    starts, begins = np.unique(pairs[0], return_index=True)
    for start, begin, end in zip(starts, begins, [*begins[1:], pairs.shape[1]], strict=True):
        row = np.empty((1, end - begin))
        space.metric.prepare(space.points[pairs[1, begin:end]])(space.points[start : start + 1], row)
        distances[begin:end] = row[0]
    distances[pairs[0] == pairs[1]] = 0.0
    found: Array = distances[which.ravel()]
    return found


def _summed(vectors: Array, drawn: Drawn) -> tuple[Array, Array]:
    """Return the sums (R, d) of the vectors of each text's known words, and of the words drawn."""
    shape = len(drawn.texts), len(vectors)
    known = (~drawn.stand_ins).astype(np.float64)
    before = sparse.csr_array((known, drawn.words, drawn.offsets), shape=shape) @ vectors
    after = sparse.csr_array((np.ones(len(known)), drawn.outputs, drawn.offsets), shape=shape) @ vectors
    return before, after


def _cosine(before: Array, after: Array) -> Estimate:
    """Return the mean cosine between rows; those of sums are those of means."""
    lengths = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
    products = np.einsum("rd,rd->r", before, after)[lengths > 0] / lengths[lengths > 0]
    return mean(np.clip(products, -1.0, 1.0), within=(-1.0, 1.0))


def _unrelated(before: Array, after: Array) -> Estimate | None:
    """Return the mean cosine between a text and the private version of the next one that has words, if there is one."""
    filled = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1) > 0
    if filled.sum() < 2:  # noqa: PLR2004 - a text and the next
        return None
    return _cosine(before[filled], np.roll(after[filled], -1, axis=0))


def _overlap(space: Space, spelled: Sequence[Sequence[str]], drawn: Drawn) -> Estimate:
    shares = []
    for words, (start, end) in zip(spelled, itertools.pairwise(drawn.offsets), strict=True):
        if words:
            before, after = set(map(fold, words)), {space.words[number] for number in drawn.outputs[start:end]}
            shares.append(len(before & after) / len(before | after))
    return mean(shares, within=(0.0, 1.0))


def _parts(
    spelled: Sequence[list[str]], kept: npt.NDArray[np.bool_], row_of: npt.NDArray[np.int64], tagger: Tagger
) -> dict[str, Estimate]:
    tags = [tag for words in spelled if words for tag in tagger(words)]
    if len(tags) != len(kept):
        raise InputError(f"The tagger must return one tag a word. Got {len(tags)} for {len(kept)} words.")
    names, codes, counts = np.unique(np.array(tags), return_inverse=True, return_counts=True)
    return {
        str(names[code]): clustered_share(*_per_text(row_of[codes == code], kept[codes == code]))
        for code in np.argsort(-counts, kind="stable")
    }
