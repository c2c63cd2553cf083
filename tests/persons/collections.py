"""Small collections for the tests of private collections: short reviews whose class one word tells."""

import dataclasses

import numpy as np

import deniable as dn
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


def synthesize(texts, labels, **given):
    """Return a release, with the options among other arguments."""
    return dn.synthesize(texts, labels, **_collect_options(dn.SynthesisOptions, given))


def fit_classifier(texts, labels, **given):
    """Return a private classifier, with the options among other arguments."""
    return dn.texts.fit_private_classifier(texts, labels, **_collect_options(dn.ClassifierOptions, given))


def _collect_options(kind, given):
    names = {field.name for field in dataclasses.fields(kind)} & {*given}
    options = kind(**{name: given[name] for name in names})
    return {"options": options, **{name: value for name, value in given.items() if name not in names}}
