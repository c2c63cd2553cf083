"""Texts privatized in order to measure: aligned word by word with the originals, and never released."""

from collections.abc import Sequence

from deniable.text.release import COLUMN, Cell, Drawn, Release
from deniable.words import WordMechanism


def draws(
    mechanism: WordMechanism, texts: Sequence[str], *, seed: int | None = None, workers: int | None = None
) -> Drawn:
    """Return the texts privatized as a `Release` would, unknown words read as the public one.

    Args:
        mechanism: draws the words.
        texts: R private texts.
        seed: public, for results that can be repeated; None for fresh noise.
        workers: threads; the result does not depend on them.
    """
    release = Release(mechanism, key=None if seed is None else f"seed:{seed}")
    return release.draw([Cell(str(row), COLUMN, 0, text) for row, text in enumerate(texts)], workers=workers)
