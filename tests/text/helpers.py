"""What the tests of texts share: a space of plain words and a mechanism over it."""

import numpy as np

import deniable as dn

WORDS = ["the", "and", "london", "paris", "tokyo", "food", "good", "great", "bad", "was", "red", "blue", "dog", "cat"]
"""Plain words: wherever they stand between spaces they are found again as one word each."""

ODD_PIECES = ["\0", "\x02", "\u200b", "\u200d", "\ufe0f", "\u202e", "שלום", "مرحبا", "日本", "👩‍👩‍👧", "✓", "\ud800"]
ODD_PIECES += ["\U000e0061", "é"]
"""Characters that are no letters, or of other scripts."""

KEY = bytes(range(32))


def space_of(words):
    """Return a space of the given words, the same in every run."""
    return dn.Space(words, np.random.default_rng(5).normal(size=(len(words), 3)))


SPACE = space_of(WORDS)
MECHANISM = dn.TEM(SPACE, epsilon=1.0)
LONG = " ".join(WORDS * 8)
