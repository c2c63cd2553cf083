"""Texts privatized in order to be measured."""

from collections.abc import Sequence

import numpy as np

from deniable.core.arrays import IntArray
from deniable.text.batches import CellBatch, PrivatizedBatch
from deniable.text.release import Release
from deniable.words import WordMechanism


def privatize_texts(
    mechanism: WordMechanism, texts: Sequence[str], *, seed: int | None = None, workers: int | None = None
) -> PrivatizedBatch:
    """Return the texts privatized as a `Release` would, with a draw for unknown words too.

    Args:
        mechanism: draws the words.
        texts: R private texts.
        seed: public, for repeatable results; None for fresh noise.
        workers: number of threads; the result does not depend on it.
    """
    release = Release(mechanism, key=None if seed is None else f"seed:{seed}")
    return release.privatize_cells(CellBatch.of_texts(texts, list(map(str, range(len(texts))))), workers=workers)


def select_texts(batch: PrivatizedBatch, rows: IntArray) -> PrivatizedBatch:
    """Some of the texts of a batch as a batch, in the order given; its words outside the vocabulary are those drawn.

    Args:
        batch: R texts.
        rows: (k,) indices among them, at least one.
    """
    places = np.concatenate([np.arange(batch.offsets[row], batch.offsets[row + 1]) for row in rows])
    unknown_mask = batch.unknown_mask[places]
    return PrivatizedBatch(
        batch.new_texts.take(rows),
        np.concatenate([[0], np.cumsum(np.diff(batch.offsets)[rows])]),
        batch.words[places],
        batch.outputs[places],
        unknown_mask,
        int(unknown_mask.sum()),
        batch.kept_counts[rows],
    )
