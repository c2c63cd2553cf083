"""Texts of models of noisy counts."""

import itertools

import numpy as np
import pytest
from scipy import stats

from deniable.core.errors import InputError
from deniable.persons.generators.counted import build_counted_model, generate_counted_texts
from deniable.persons.ngram_counts import NgramCounts
from deniable.text.tokenization import split_tokens
from tests.persons.generators.examples import KNOWLEDGE, count_share

ENTRIES = {
    (0, "bad"): 90.0,
    (0, "film"): 100.0,
    (0, "."): 80.0,
    (0, "bad film"): 70.0,
    (0, "film ."): 60.0,
    (0, "bad film ."): 50.0,
    (0, "dull plot"): 40.0,
    (1, "good"): 120.0,
    (1, "film"): 100.0,
    (1, "fine"): 50.0,
    (1, "good film"): 60.0,
}
THRESHOLD_COUNT = 30.0
COUNTS = NgramCounts(
    np.array([code for code, _ in ENTRIES]),
    tuple(tuple(ngram.split()) for _, ngram in ENTRIES),
    np.array([*ENTRIES.values()]),
    THRESHOLD_COUNT,
    5.0,
)


def test_probabilities_are_those_of_the_formula():
    """Shares of words, pairs and triples are computed from the counts as the page says, unreleased words left out."""
    model = build_counted_model(COUNTS, 0, "negative")
    assert model.words == (".", "bad", "film")
    stop, bad, film = range(3)
    nothing = np.zeros(3)
    unigrams = np.append(np.array([80, 90, 100]) / 270, 1e-9) / (1 + 1e-9)
    np.testing.assert_allclose(model.compute_probabilities([], nothing), unigrams)
    after_film = (1 - 60 / 130) * unigrams
    after_film[stop] += 60 / 130
    np.testing.assert_allclose(model.compute_probabilities([film], nothing), after_film, rtol=1e-6)
    after_bad_film = (1 - 50 / 100) * after_film
    after_bad_film[stop] += 50 / 100
    np.testing.assert_allclose(model.compute_probabilities([bad, film], nothing), after_bad_film, rtol=1e-6)


def test_drawn_words_follow_the_law():
    """Words drawn after a word of the model fit its law and reject that of no history."""
    model = build_counted_model(COUNTS, 0, "negative")
    texts = model.write_texts(np.zeros(3), np.full(400, 60), np.random.default_rng(0))
    tokens = [split_tokens(text) for text in texts]
    pairs = [pair for text in tokens for pair in itertools.pairwise(text)]
    counts = np.bincount([model.words.index(w) for v, w in pairs if v == "bad"], minlength=3)
    law = model.compute_probabilities([1], np.zeros(3))[:3]
    assert stats.chisquare(counts, law / law.sum() * counts.sum()).pvalue > 1e-6
    law = model.compute_probabilities([], np.zeros(3))[:3]
    assert stats.chisquare(counts, law / law.sum() * counts.sum()).pvalue < 1e-6


def test_texts_hold_released_words_alone():
    """Texts consist of released words, more of them of their own class, and follow from the seed."""
    synthetic = generate_counted_texts(KNOWLEDGE, COUNTS, 200, seed=1)
    assert len(synthetic.texts) == 200
    assert {*split_tokens(" ".join(synthetic.texts))} == {".", "bad", "film", "good", "fine"}
    positive = [text for text, code in zip(synthetic.texts, synthetic.codes, strict=True) if code == 1]
    assert count_share(positive, {"good", "fine"}) > 0.4
    assert generate_counted_texts(KNOWLEDGE, COUNTS, 200, seed=1).texts == synthetic.texts


def test_a_class_without_words_is_refused():
    """Where no word of a class was released one line says so and what to do."""
    only_first = NgramCounts(np.array([0]), (("bad",),), np.array([50.0]), 30.0, 5.0)
    with pytest.raises(InputError, match="'positive' was counted often enough"):
        generate_counted_texts(KNOWLEDGE, only_first, 20, seed=0)
    with pytest.raises(InputError, match="rows"):
        generate_counted_texts(KNOWLEDGE, COUNTS, 0, seed=0)
