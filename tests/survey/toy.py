"""A small table of two classes, and public texts of the same kind."""

import numpy as np

import deniable as dn

FILLER = ("the", "and", "was", "food", "dog", "cat", "london", "paris")
TELLING = (("good", "great", "blue"), ("bad", "red", "tokyo"))
CLASSES = ("fine", "poor")
WORDS = (*FILLER, *TELLING[0], *TELLING[1])
SPACE = dn.Space(WORDS, np.random.default_rng(5).normal(size=(len(WORDS), 3)))


def make_table(rows, seed=0, telling=3):
    """Return texts of 12 words, of which some tell the class, and the codes of their classes."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.arange(rows) % 2)
    texts = [
        " ".join(rng.permutation([*rng.choice(FILLER, 12 - telling), *rng.choice(TELLING[code], telling)]))
        for code in codes
    ]
    return texts, codes
