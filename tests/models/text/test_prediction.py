"""Predictions on texts as they stand in a table."""

import dataclasses

import numpy as np
import pytest

from deniable.core.errors import InputError
from deniable.learning.artifact import read_artifact, save_model
from deniable.models.text import prediction
from deniable.models.text.documents import tokenize_texts
from deniable.models.text.model import fit_text_model
from deniable.models.text.prediction import SpacePredictor, restore_space_predictor
from deniable.models.text.training import TextTrainingOptions
from deniable.space import Space

QUICK = TextTrainingOptions(epochs=8, learning_rate=0.03)
TEXTS = ["a good film", "the plot was awful", "zork", "", "great great movie"]


@pytest.fixture(scope="module")
def predictor(words_space, reviews):
    """Return a classifier of single texts that learned to tell good from bad words."""
    return SpacePredictor(fit_text_model("fasttext", words_space, reviews, QUICK, seed=1), words_space)


@pytest.mark.parametrize("texts_at_once", [1, 2, 4096])
def test_probabilities(predictor, monkeypatch, texts_at_once):
    """Probabilities add to 1 and name the right class, in whatever slices; a text of no known word has none."""
    monkeypatch.setattr(prediction, "_TEXTS_AT_ONCE", texts_at_once)
    probabilities = predictor.predict_probabilities(TEXTS)
    assert probabilities.shape == (5, 2)
    assert np.isnan(probabilities).all(axis=1).tolist() == [False, False, True, True, False]
    readable = probabilities[[0, 1, 4]]
    assert readable.sum(axis=1) == pytest.approx([1, 1, 1])
    assert [predictor.classes[best] for best in readable.argmax(axis=1)] == ["good", "bad", "good"]
    assert predictor.predict_probabilities([]).shape == (0, 2)


def test_the_class_is_that_of_the_model(predictor, words_space, reviews):
    """The most probable class is what `TextModel.predict` says of the same words."""
    texts = [" ".join(words_space.words[word] for word in words) for words in reviews.texts]
    assert (tokenize_texts(words_space, texts).texts.words == reviews.texts.words).all()
    best = predictor.predict_probabilities(texts).argmax(axis=1)
    assert (best == predictor.model.predict(reviews)).all()


def test_a_text_that_is_too_long(predictor, monkeypatch):
    """A text with more words than the network takes has no probabilities: no text is cut."""
    monkeypatch.setattr(type(predictor.model.network), "max_words", 3)
    probabilities = predictor.predict_probabilities(["a good film", "a very good film"])
    assert np.isnan(probabilities).all(axis=1).tolist() == [False, True]


def test_pairs(words_space, reviews):
    """A classifier of pairs takes premises, each of which must have a known word too."""
    pairs = dataclasses.replace(reviews, premises=reviews.texts)
    model = fit_text_model("attention", words_space, pairs, TextTrainingOptions(epochs=1), seed=1)
    probabilities = SpacePredictor(model, words_space).predict_probabilities(
        ["good film", "good film", "zork"], ["the plot", "zork", "the plot"]
    )
    assert np.isnan(probabilities).all(axis=1).tolist() == [False, True, True]


def test_files(predictor, words_space, tmp_path):
    """A model from a file predicts the same, and on another space it is refused."""
    save_model(predictor.model, tmp_path / "m.pt")
    artifact = read_artifact(tmp_path / "m.pt")
    restored = restore_space_predictor(artifact, words_space)
    np.testing.assert_array_equal(restored.predict_probabilities(TEXTS), predictor.predict_probabilities(TEXTS))
    other_space = Space(["good", "bad"], np.eye(2))
    with pytest.raises(InputError, match="was trained on the words of fourteen words"):
        restore_space_predictor(artifact, other_space)
