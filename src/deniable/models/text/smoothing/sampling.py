"""Votes of a classifier on noisy versions of texts, in which a mechanism has replaced every word."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import torch

from deniable.core.errors import InputError, check_count
from deniable.core.randomness import Streams, derive_stream_start
from deniable.models.tally import PredictionTally, check_logits
from deniable.models.text.documents import IndexedTexts
from deniable.models.text.networks.base import Scorer
from deniable.words import WordMechanism

_VERSIONS_PER_STREAM = 4096
"""Noisy versions that share one stream. It determines the draws, so it must never change."""
_WORDS_PER_WINDOW = 1 << 21
"""Words drawn at once: each row of the law is computed once for all of them, and memory stays below 100 MB."""
_TEXTS_PER_CALL = 2048
"""Texts in one call of the classifier."""


def count_votes(
    mechanism: WordMechanism,
    scorer: Scorer,
    texts: IndexedTexts,
    draws: Mapping[str, int],
    *,
    key: bytes,
    workers: int | None = None,
) -> dict[str, list[PredictionTally]]:
    """Return a classifier's votes for each text over independent draws, for each of several purposes.

    The draws of one text for one purpose are separate streams under the key. They depend on the text's words, the
    mechanism, the purpose and their own index, and not on the other texts or on the number of draws. Only the class of
    the highest score counts: its probabilities are 0 and 1, and the sums of a tally are its votes.

    Args:
        mechanism: that replaces every word.
        scorer: from R noisy texts and the index (R,) of the text behind each to logits (R, K).
        texts: n texts.
        draws: purpose -> draws of each text.
        key: 32 bytes.
        workers: threads; the result does not depend on them.

    Raises:
        InputError: a text without words, no draws, or logits that are not finite (R, K >= 2).
    """
    for purpose, count in draws.items():
        check_count("count_votes", f"draws of the {purpose}", count)
    empty_rows = np.flatnonzero(texts.lengths == 0)
    if len(empty_rows):
        raise InputError(f"Text {empty_rows[0] + 1} has no words: leave it out.")
    # A record is noisy versions of one text from one stream, for one purpose. Those of one text stand side by side,
    # because they share rows of the law.
    records = [
        (row, purpose, min(_VERSIONS_PER_STREAM, count - first), (name, str(number), words))
        for row, words in enumerate(texts)
        for purpose, (name, count) in enumerate(draws.items())
        for number, first in enumerate(range(0, count, _VERSIONS_PER_STREAM))
    ]
    sizes = [len(words) * versions for _, _, versions, (_, _, words) in records]
    vote_counts: npt.NDArray[np.int64] | None = None
    for first, last in Streams(b"", [], sizes).batches(_WORDS_PER_WINDOW):
        rows, purposes, versions, contents = zip(*records[first:last], strict=True)
        starts = [
            derive_stream_start(key, "smoothing", mechanism.fingerprint, *names, words.astype("<i4").tobytes().hex())
            for *names, words in contents
        ]
        noisy_texts = draw_noisy_versions(
            mechanism, texts.take(np.array(rows)), versions, Streams(key, starts, []), workers
        )
        text_of_version, purpose_of_version = np.repeat(rows, versions), np.repeat(purposes, versions)  # (R,)
        for part, logits in score_in_parts(scorer, noisy_texts, text_of_version):
            shape = (len(texts), len(draws), logits.shape[1])
            vote_counts = np.zeros(shape, dtype=np.int64) if vote_counts is None else vote_counts
            np.add.at(vote_counts, (text_of_version[part], purpose_of_version[part], logits.argmax(axis=1)), 1)
    if vote_counts is None:
        return {purpose: [] for purpose in draws}
    return {
        purpose: [PredictionTally(one, one.astype(np.float64), draws[purpose]) for one in vote_counts[:, index]]
        for index, purpose in enumerate(draws)
    }


def draw_noisy_versions(
    mechanism: WordMechanism, texts: IndexedTexts, counts: Sequence[int], streams: Streams, workers: int | None = None
) -> IndexedTexts:
    """Return noisy versions of n texts, those of one text side by side.

    Args:
        mechanism: that replaces every word.
        texts: n texts.
        counts: (n,) versions of each.
        streams: key and starts (n,) of the records, whose lengths follow from the counts.
        workers: threads.
    """
    lengths = np.repeat(texts.lengths, counts)  # (R,)
    words = np.concatenate(
        [np.empty(0, np.int32), *(np.tile(text, repeats) for text, repeats in zip(texts, counts, strict=True))]
    )
    streams = dataclasses.replace(streams, lengths=(texts.lengths * np.asarray(counts)).tolist())
    return IndexedTexts(mechanism.draw_words(words, streams, workers), np.concatenate([[0], np.cumsum(lengths)]))


def score_in_parts(
    scorer: Scorer, texts: IndexedTexts, rows: npt.NDArray[np.int64]
) -> Iterator[tuple[slice, npt.NDArray[np.float32]]]:
    """Yield slices of R texts with their logits, `_TEXTS_PER_CALL` texts at a time.

    Args:
        scorer: of the classifier.
        texts: R texts.
        rows: (R,) the document that each is a version of.

    Raises:
        InputError: logits that are not finite (R, K >= 2).
    """
    for first in range(0, len(texts), _TEXTS_PER_CALL):
        part = slice(first, min(first + _TEXTS_PER_CALL, len(texts)))
        bounds = texts.offsets[part.start : part.stop + 1]
        part_texts = IndexedTexts(texts.words[bounds[0] : bounds[-1]], bounds - bounds[0])
        logits = scorer(part_texts, rows[part])
        check_logits(torch.from_numpy(logits), len(part_texts))
        yield part, logits
