"""Text classifiers by name: what utility and membership are measured with."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError, import_extra
from deniable.measure.labels import ClassCodes


class TextClassifier(Protocol):
    """Learns classes from texts."""

    def fit(self, texts: Sequence[str], codes: ClassCodes, classes: int) -> Self:
        """Learn from n texts and their classes (n,), which are numbers below ``classes``."""

    def probabilities(self, texts: Sequence[str]) -> FloatArray:
        """Return (n, classes) the probability of each class; next to 0 for a class that no training text had."""


class TfIdfClassifier:
    """Logistic regression on TF-IDF weights of words: the quick default.

    Args:
        seed: public; unused, since this classifier draws nothing.
        vectorizer_options: further options of scikit-learn's `TfidfVectorizer`.

    Raises:
        InputError: scikit-learn is not installed.
    """

    def __init__(self, seed: int = 0, **vectorizer_options: Any) -> None:  # noqa: ANN401 - scikit-learn's
        del seed
        text = import_extra("sklearn.feature_extraction.text", "The TF-IDF classifier", "measure")
        linear_model = import_extra("sklearn.linear_model", "The TF-IDF classifier", "measure")
        # Unlike scikit-learn's own pattern this one keeps words of one letter.
        self._vectorizer = text.TfidfVectorizer(
            sublinear_tf=True, **{"token_pattern": r"(?u)\b\w+\b", **vectorizer_options}
        )
        self._model = linear_model.LogisticRegression(max_iter=1_000)

    def fit(self, texts: Sequence[str], codes: ClassCodes, classes: int) -> Self:
        """See `TextClassifier`."""
        self._classes = classes
        self._only_class = int(codes[0]) if len(np.unique(codes)) == 1 else None
        try:
            matrix = self._vectorizer.fit_transform(texts)
        except ValueError:  # no text holds a word: the most frequent class is predicted
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
    from deniable.measure.fasttext import FastTextClassifier

    return FastTextClassifier(seed)


ClassifierMaker = Callable[[int], TextClassifier]
"""Returns an untrained classifier of a public seed."""
CLASSIFIERS: dict[str, ClassifierMaker] = {"tfidf": TfIdfClassifier, "fasttext": _build_fasttext}
"""The registry: name -> function of a seed."""


def build_classifier(name: str | ClassifierMaker, seed: int) -> TextClassifier:
    """Return a new classifier of the registry, or another one.

    Args:
        name: a name in `CLASSIFIERS`, or a function that makes a classifier.
        seed: public; everything that it draws follows from it.

    Raises:
        InputError: an unknown name, or its library is not installed.
    """
    if not isinstance(name, str):
        return name(seed)
    if name not in CLASSIFIERS:
        raise InputError(f"Unknown classifier {name!r}. Known: {', '.join(CLASSIFIERS)}.")
    return CLASSIFIERS[name](seed)
