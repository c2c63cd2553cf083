"""The quick text classifier: what it learns, and what it does where there is nothing to learn."""

import numpy as np
import pytest

from deniable.measure.classifiers import CLASSIFIERS, TfIdfClassifier
from tests.measure.toy import table


def test_it_learns_what_can_be_learned():
    """Words that tell the class are enough to name those of new texts."""
    texts, codes = table(120, classes=3)
    model = TfIdfClassifier().fit(texts[:60], codes[:60], 3)
    found = model.probabilities(texts[60:])
    assert found.shape == (60, 3)
    assert found.sum(axis=1) == pytest.approx(np.ones(60))
    assert (found.argmax(axis=1) == codes[60:]).mean() > 0.95


def test_a_class_never_seen_has_no_probability():
    """Classes absent from the training texts keep their column, with zeros."""
    found = TfIdfClassifier().fit(["good food", "bad food"], np.array([0, 3]), 5).probabilities(["good", "bad"])
    assert found[:, [1, 2, 4]].tolist() == [[0.0] * 3] * 2
    assert found.argmax(axis=1).tolist() == [0, 3]


def test_one_class_alone():
    """Where only one class was seen, it is certain."""
    assert TfIdfClassifier().fit(["a", "b"], np.array([1, 1]), 2).probabilities(["c"]).tolist() == [[0.0, 1.0]]


def test_texts_without_words():
    """Where no training text has a word, the most frequent class is named."""
    assert TfIdfClassifier().fit(["", "..", ""], np.array([0, 1, 1]), 2).probabilities(["a"]).tolist() == [[0.0, 1.0]]


def test_words_of_one_letter_and_of_other_scripts_count():
    """Single letters and words in other scripts are features."""
    model = TfIdfClassifier().fit(["a", "b", "да", "нет"] * 3, np.array([0, 1, 0, 1] * 3), 2)
    assert model.probabilities(["a", "b", "да", "нет"]).argmax(axis=1).tolist() == [0, 1, 0, 1]


def test_no_texts_to_name():
    """No texts have no probabilities, of the right shape."""
    assert TfIdfClassifier().fit(["a", "b"], np.array([0, 1]), 2).probabilities([]).shape == (0, 2)


def test_options_of_the_features():
    """The vectorizer's options are taken, such as pairs of words."""
    texts, codes = ["good not bad", "bad not good"] * 5, np.array([0, 1] * 5)
    assert TfIdfClassifier().fit(texts, codes, 2).probabilities(texts[:1]) == pytest.approx(np.array([[0.5, 0.5]]))
    assert TfIdfClassifier(ngram_range=(1, 2)).fit(texts, codes, 2).probabilities(texts[:1])[0, 0] > 0.6


def test_registry():
    """The quick default is found by its name."""
    assert isinstance(CLASSIFIERS["tfidf"](0), TfIdfClassifier)
