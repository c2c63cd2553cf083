"""Text classifiers by name: what utility, membership and authorship are measured with."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from deniable.measure.labels import Codes

Array = npt.NDArray[np.float64]


class Classifier(Protocol):
    """Learns classes from texts."""

    def fit(self, texts: Sequence[str], codes: Codes, classes: int) -> Self:
        """Learn from n texts and their classes (n,), which are numbers below ``classes``."""

    def probabilities(self, texts: Sequence[str]) -> Array:
        """Return (n, classes) how likely each class is; next to nothing for a class that was never seen."""


class TfIdf:
    """Logistic regression on TF-IDF weights of words: the quick default.

    Args:
        seed: public; this classifier draws nothing.
        features: scikit-learn's options of the vectorizer, beside those chosen here.
    """

    def __init__(self, seed: int = 0, **features: Any) -> None:  # noqa: ANN401 - scikit-learn's
        del seed
        # One-letter words count, and words are cut at white space and punctuation, also in other scripts.
        self._features = TfidfVectorizer(sublinear_tf=True, **{"token_pattern": r"(?u)\b\w+\b", **features})
        self._model = LogisticRegression(max_iter=1_000)

    def fit(self, texts: Sequence[str], codes: Codes, classes: int) -> Self:
        """See `Classifier`."""
        self._classes = classes
        self._only = int(codes[0]) if len(np.unique(codes)) == 1 else None
        try:
            features = self._features.fit_transform(texts)
        except ValueError:  # no text holds a word: every class is as likely as it is frequent
            self._only = int(np.bincount(codes).argmax())
            return self
        if self._only is None:
            self._model.fit(features, codes)
        return self

    def probabilities(self, texts: Sequence[str]) -> Array:
        """See `Classifier`."""
        out = np.zeros((len(texts), self._classes))
        if self._only is not None:
            out[:, self._only] = 1.0
        elif len(texts):
            out[:, self._model.classes_] = self._model.predict_proba(self._features.transform(texts))
        return out


def _fasttext(seed: int) -> Classifier:
    from deniable.measure.fasttext import FastText  # noqa: PLC0415 - torch is an extra

    return FastText(seed)


CLASSIFIERS: dict[str, Callable[[int], Classifier]] = {"tfidf": TfIdf, "fasttext": _fasttext}
"""The registry: name -> function of a seed."""
