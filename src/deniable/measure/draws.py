"""Texts privatized in order to measure: aligned word by word with the originals, and never released."""

from collections.abc import Sequence

from deniable.text.release import DEFAULT_COLUMN, PrivatizedBatch, Release, TextCell
from deniable.words import WordMechanism


def privatize_texts(
    mechanism: WordMechanism, texts: Sequence[str], *, seed: int | None = None, workers: int | None = None
) -> PrivatizedBatch:
    """Return the texts privatized as a `Release` would, unknown words read as the public one.

    Args:
        mechanism: draws the words.
        texts: R private texts.
        seed: public, for results that can be repeated; None for fresh noise.
        workers: threads; the result does not depend on them.
    """
    release = Release(mechanism, key=None if seed is None else f"seed:{seed}")
    return release.privatize_cells(
        [TextCell(str(row), DEFAULT_COLUMN, 0, text) for row, text in enumerate(texts)], workers=workers
    )
