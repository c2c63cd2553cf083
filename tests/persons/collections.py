"""Small collections for the tests of private collections: short reviews whose class one word tells."""

import numpy as np

from deniable.persons.classifier_training import make_private_texts
from deniable.persons.features import build_feature_map

CLASSES = ("bad", "good")
_TELLING = (("awful", "poor", "bad"), ("great", "fine", "good"))
_OTHERS = ("the", "film", "was", "a", "plot", "and", "very")


def draw_reviews(count, seed=0):
    """Return texts of three to seven words, and their class numbers."""
    coins = np.random.default_rng(seed)
    codes = coins.integers(0, 2, count)
    texts = []
    for code in codes.tolist():
        words = coins.choice(_OTHERS, coins.integers(2, 7)).tolist()
        words.insert(int(coins.integers(len(words) + 1)), str(coins.choice(_TELLING[code])))
        texts.append(" ".join(words))
    return texts, codes


PUBLIC_TEXTS, PUBLIC_CODES = draw_reviews(200, seed=100)
MAP = build_feature_map(PUBLIC_TEXTS)


def make_private(count=400, seed=1, persons=None, max_records=None):
    """Return private reviews."""
    texts, codes = draw_reviews(count, seed)
    return make_private_texts(texts, codes, persons, max_records)
