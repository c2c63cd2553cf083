"""Votes of a classifier on texts whose words a mechanism has replaced."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from deniable.errors import InputError, bad_parameter
from deniable.randomness import Streams, stream_start
from deniable.robust.certificates.tally import Tally
from deniable.robust.text.documents import Texts
from deniable.robust.text.network import Scorer
from deniable.words import WordMechanism

_RECORD = 4096
"""Noisy versions that share one stream. It fixes what is drawn, so that it must never change."""
_WINDOW = 1 << 21
"""Words drawn at once: each row of the law is computed once for all of them, and memory stays below 100 MB."""
_VERSIONS = 2048
"""Texts in one call of the classifier."""
_LEAST_CLASSES = 2


@dataclasses.dataclass(frozen=True)
class _Record:
    """Noisy versions of one text from one stream, and where their votes belong."""

    text: int
    purpose: int
    versions: int
    start: bytes


def votes(
    mechanism: WordMechanism,
    scorer: Scorer,
    held: Texts,
    draws: Mapping[str, int],
    *,
    key: bytes,
    workers: int | None = None,
) -> dict[str, list[Tally]]:
    """Return what a classifier says of each text over independent draws, for each of several purposes.

    The draws of one text for one purpose are streams of their own under the key. They depend on the text's words, the
    mechanism, the purpose and their own number, and so neither on the other texts nor on how many draws are asked for.
    A classifier here is the class of its highest score alone: its probabilities are 0 and 1, and the sums of a tally
    are its votes.

    Args:
        mechanism: that replaces every word.
        scorer: from R noisy texts and the number (R,) of the text behind each to logits (R, K).
        held: n texts.
        draws: purpose -> draws of each text.
        key: 32 bytes.
        workers: threads; the result does not depend on them.

    Raises:
        InputError: a text without words, no draws, or logits that are not finite (R, K >= 2).
    """
    for purpose, count in draws.items():
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise bad_parameter("votes", f"draws of the {purpose}", "an integer of at least 1", count)
    empty = np.flatnonzero(held.lengths == 0)
    if len(empty):
        raise InputError(f"Text {empty[0] + 1} has no words: leave it out.")
    counted: npt.NDArray[np.int64] | None = None
    for window in _windows(list(_records(mechanism, held, draws, key)), held.lengths):
        drawn = versions(
            mechanism,
            held.take(np.array([one.text for one in window])),
            [one.versions for one in window],
            Streams(key, [one.start for one in window], []),
            workers,
        )
        of = np.repeat(np.arange(len(window)), [one.versions for one in window])  # (R,), the record of each version
        texts = np.array([one.text for one in window])[of]  # (R,)
        purposes = np.array([one.purpose for one in window])[of]  # (R,)
        for part, logits in scored(scorer, drawn, texts):
            shape = (len(held), len(draws), logits.shape[1])
            counted = np.zeros(shape, dtype=np.int64) if counted is None else counted
            np.add.at(counted, (texts[part], purposes[part], logits.argmax(axis=1)), 1)
    if counted is None:
        return {purpose: [] for purpose in draws}
    return {
        purpose: [Tally(one, one.astype(np.float64), draws[purpose]) for one in counted[:, at]]
        for at, purpose in enumerate(draws)
    }


def versions(
    mechanism: WordMechanism, held: Texts, counts: Sequence[int], streams: Streams, workers: int | None = None
) -> Texts:
    """Return noisy versions of n texts, those of one text side by side.

    Args:
        mechanism: that replaces every word.
        held: n texts.
        counts: (n,) versions of each.
        streams: key and starts (n,) of the records, whose lengths follow from the counts.
        workers: threads.
    """
    lengths = np.repeat(held.lengths, counts)  # (R,)
    words = np.concatenate([np.empty(0, np.int32), *(np.tile(one, k) for one, k in zip(held, counts, strict=True))])
    streams = dataclasses.replace(streams, lengths=(held.lengths * np.asarray(counts)).tolist())
    return Texts(mechanism.draw(words, streams, workers), np.concatenate([[0], np.cumsum(lengths)]))


def scored(scorer: Scorer, held: Texts, rows: npt.NDArray[np.int64]) -> Iterator[tuple[slice, npt.NDArray[np.float32]]]:
    """Yield slices of R texts with their logits, some thousand texts at a time.

    Args:
        scorer: of the classifier.
        held: R texts.
        rows: (R,) the document that each is a version of.

    Raises:
        InputError: logits that are not finite (R, K >= 2).
    """
    for first in range(0, len(held), _VERSIONS):
        part = slice(first, min(first + _VERSIONS, len(held)))
        bounds = held.offsets[part.start : part.stop + 1]
        some = Texts(held.words[bounds[0] : bounds[-1]], bounds - bounds[0])
        logits = scorer(some, rows[part])
        if logits.ndim != 2 or len(logits) != len(some) or logits.shape[1] < _LEAST_CLASSES:  # noqa: PLR2004 - (R, K)
            shape = tuple(logits.shape)
            raise InputError(f"The classifier must give logits ({len(some)}, K) of K >= 2 classes. Got {shape}.")
        if not np.isfinite(logits).all():
            raise InputError("The classifier gives logits that are not finite: no class is the highest among them.")
        yield part, logits


def _records(mechanism: WordMechanism, held: Texts, draws: Mapping[str, int], key: bytes) -> Iterator[_Record]:
    """Yield the records of every text in turn, those of all purposes together: they share rows of the law."""
    for text, words in enumerate(held):
        content = words.astype("<i4").tobytes().hex()
        for purpose, (name, count) in enumerate(draws.items()):
            for number, first in enumerate(range(0, count, _RECORD)):
                start = stream_start(key, "smoothing", mechanism.fingerprint, name, str(number), content)
                yield _Record(text, purpose, min(_RECORD, count - first), start)


def _windows(records: list[_Record], lengths: npt.NDArray[np.int64]) -> Iterator[list[_Record]]:
    """Yield runs of records that hold about `_WINDOW` words each."""
    sizes = [int(lengths[one.text]) * one.versions for one in records]
    for first, last in Streams(b"", [], sizes).batches(_WINDOW):
        yield records[first:last]
