"""Tables made up for tests: texts whose words tell their class, and texts whose words tell nothing."""

import numpy as np

FILLER = ("the", "and", "it", "was", "a", "very", "of", "in", "this", "that")


def table(rows, classes=2, seed=0, telling=3):
    """Return texts of 12 words, of which ``telling`` are peculiar to the class, and their classes."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.arange(rows) % classes)
    texts = []
    for code in codes:
        words = [*rng.choice(FILLER, 12 - telling), *(f"class{code}word{n}" for n in rng.integers(0, 5, telling))]
        texts.append(" ".join(rng.permutation(words)))
    return texts, codes


def noise(rows, seed=1):
    """Return texts of filler alone."""
    return [" ".join(np.random.default_rng((seed, row)).choice(FILLER, 12)) for row in range(rows)]
