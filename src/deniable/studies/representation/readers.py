"""Classifiers of somebody else, who learns from released vectors. Needs torch."""

import dataclasses
import warnings
from typing import Any

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.intervals import DEFAULT_CONFIDENCE, Estimate, estimate_share
from deniable.measure.labels import ClassCodes
from deniable.published.dptext.attack import NoiseLaw
from deniable.published.dptext.network import BOX_LOWER, BOX_UPPER
from deniable.published.dptext.representation import Representation

_HELD = 3
"""One in so many of the vectors to learn from decides between two classifiers."""
_ITERATIONS = 500


@dataclasses.dataclass(frozen=True, eq=False)
class Released:
    """What a model makes of the texts that it was not trained on.

    Attributes:
        model: the encoder and its noise.
        law: of that noise.
        known: (k, n) released vectors to learn from.
        test: (m, n) released vectors to be measured on.
        clear: (k, n) encodings behind ``known``.
        hidden: (m, n) encodings behind ``test``.
    """

    model: Representation
    law: NoiseLaw
    known: FloatArray
    test: FloatArray
    clear: FloatArray
    hidden: FloatArray


def learned(
    held: Released, known: ClassCodes, test: ClassCodes, trees: int, seed: int, confidence: float = DEFAULT_CONFIDENCE
) -> Estimate:
    """Return how often a classifier names a class of unseen texts, having learned from released vectors of others.

    Of logistic regression and a forest, the one that does better on a third of what there is to learn from.
    """
    features, asked = _features(held, held.known), _features(held, held.test)
    last = len(known) // _HELD
    scores = []
    for make in (_regression, _forest):
        model = make(trees, seed).fit(features[last:], known[last:])
        scores.append((int((model.predict(features[:last]) == known[:last]).sum()), make))
    best = max(scores, key=lambda one: one[0])[1](trees, seed).fit(features, known)
    return estimate_share(int((best.predict(asked) == test).sum()), len(test), confidence)


def _features(held: Released, released: FloatArray) -> FloatArray:
    """Return (k, 3 n): the numbers scaled to the noise, cut off at the box, and whether they lie in it."""
    inside = (released >= BOX_LOWER) & (released <= BOX_UPPER)
    return np.hstack([released / (1 + held.law.scale), released.clip(BOX_LOWER, BOX_UPPER), inside])


class _Quiet:
    """Logistic regression that says nothing of an optimum reached only nearly."""

    def __init__(self) -> None:
        from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - slow to import
        from sklearn.pipeline import make_pipeline  # noqa: PLC0415
        from sklearn.preprocessing import StandardScaler  # noqa: PLC0415

        self._model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=_ITERATIONS))

    def fit(self, features: FloatArray, codes: ClassCodes) -> "_Quiet":
        """Learn classes (k,) of rows (k, d)."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._model.fit(features, codes)
        return self

    def predict(self, features: FloatArray) -> ClassCodes:
        """Return the classes (k,) of rows (k, d)."""
        named: ClassCodes = self._model.predict(features)
        return named


def _regression(trees: int, seed: int) -> Any:  # noqa: ANN401 - scikit-learn's
    del trees, seed
    return _Quiet()


def _forest(trees: int, seed: int) -> Any:  # noqa: ANN401 - scikit-learn's
    from sklearn.ensemble import RandomForestClassifier  # noqa: PLC0415 - slow to import

    return RandomForestClassifier(trees, min_samples_leaf=3, random_state=seed)
