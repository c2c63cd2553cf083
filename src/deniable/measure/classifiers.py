"""Text classifiers by name: what utility, membership and authorship are measured with."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from deniable.core.arrays import FloatArray
from deniable.measure.labels import ClassCodes


class TextClassifier(Protocol):
    """Learns classes from texts."""

    def fit(self, texts: Sequence[str], codes: ClassCodes, classes: int) -> Self:
        """Learn from n texts and their classes (n,), which are numbers below ``classes``."""

    def probabilities(self, texts: Sequence[str]) -> FloatArray:
        """Return (n, classes) how likely each class is; next to nothing for a class that was never seen."""


class TfIdfClassifier:
    """Logistic regression on TF-IDF weights of words: the quick default.

    Args:
        seed: public; this classifier draws nothing.
        vectorizer_options: scikit-learn's options of the vectorizer, beside those chosen here.
    """

    def __init__(self, seed: int = 0, **vectorizer_options: Any) -> None:  # noqa: ANN401 - scikit-learn's
        del seed
        # One-letter words count, and words are cut at white space and punctuation, also in other scripts.
        self._vectorizer = TfidfVectorizer(sublinear_tf=True, **{"token_pattern": r"(?u)\b\w+\b", **vectorizer_options})
        self._model = LogisticRegression(max_iter=1_000)

    def fit(self, texts: Sequence[str], codes: ClassCodes, classes: int) -> Self:
        """See `TextClassifier`."""
        self._classes = classes
        self._only_class = int(codes[0]) if len(np.unique(codes)) == 1 else None
        try:
            matrix = self._vectorizer.fit_transform(texts)
        except ValueError:  # no text holds a word: every class is as likely as it is frequent
            self._only_class = int(np.bincount(codes).argmax())
            return self
        if self._only_class is None:
            self._model.fit(matrix, codes)
        return self

    def probabilities(self, texts: Sequence[str]) -> FloatArray:
        """See `TextClassifier`."""
        probabilities = np.zeros((len(texts), self._classes))
        if self._only_class is not None:
            probabilities[:, self._only_class] = 1.0
        elif len(texts):
            probabilities[:, self._model.classes_] = self._model.predict_proba(self._vectorizer.transform(texts))
        return probabilities


def _build_fasttext(seed: int) -> TextClassifier:
    from deniable.measure.fasttext import FastTextClassifier  # noqa: PLC0415 - torch is an extra

    return FastTextClassifier(seed)


CLASSIFIERS: dict[str, Callable[[int], TextClassifier]] = {"tfidf": TfIdfClassifier, "fasttext": _build_fasttext}
"""The registry: name -> function of a seed."""
