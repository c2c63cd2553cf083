"""Texts privatized in order to be measured."""

from collections.abc import Sequence

from deniable.text.batches import PrivatizedBatch, TextCell
from deniable.text.release import DEFAULT_COLUMN, Release
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
    return release.privatize_cells(
        [TextCell(str(row), DEFAULT_COLUMN, 0, text) for row, text in enumerate(texts)], workers=workers
    )
