"""Texts of a tilted public model."""

import dataclasses

import numpy as np
import pytest

from deniable.core.errors import InputError
from deniable.persons.generators.tilted import AGREEMENT, find_strength, generate_tilted_texts
from deniable.persons.ngrams import build_text_model
from deniable.text.tokenization import split_tokens
from tests.persons.generators.examples import KNOWLEDGE, PUBLIC_TEXTS, WEIGHTS, WORDS, count_share


def test_classes_differ_by_the_words_of_the_classifier():
    """Texts of a class hold more of its words than texts of the other; classes have their shares, words are public."""
    synthetic = generate_tilted_texts(KNOWLEDGE, PUBLIC_TEXTS, 500, seed=3)
    assert len(synthetic.texts) == len(synthetic.codes) == len(synthetic.certainties) == 500
    negative, positive = (
        [text for text, code in zip(synthetic.texts, synthetic.codes, strict=True) if code == one] for one in (0, 1)
    )
    assert 0.5 < len(positive) / 500 < 0.7
    assert count_share(positive, {"good", "fine"}) > 2 * count_share(negative, {"good", "fine"})
    assert count_share(negative, {"bad", "dull"}) > 2 * count_share(positive, {"bad", "dull"})
    assert {*split_tokens(" ".join(synthetic.texts))} <= {*split_tokens(" ".join(PUBLIC_TEXTS))}


def test_labels_agree_with_classes_as_often_as_wanted():
    """At the strength that is found labels agree in about four of five texts, and not at half or twice of it."""
    model = build_text_model(PUBLIC_TEXTS)
    weights = dict(zip(WORDS, WEIGHTS, strict=True))
    one = np.array([weights.get(word, 0.0) for word in model.words])
    log_weights = np.stack([-one, one], axis=1)
    strength = find_strength(KNOWLEDGE, model, log_weights, np.random.default_rng(0))

    def measure_agreement(factor):
        generator = np.random.default_rng(1)
        codes = KNOWLEDGE.draw_codes(3_000, generator)
        lengths = KNOWLEDGE.draw_lengths(3_000, generator)
        labels = np.empty(3_000, dtype=int)
        for code in (0, 1):
            texts = model.write_texts(factor * strength * log_weights[:, code], lengths[codes == code], generator)
            labels[codes == code] = KNOWLEDGE.classifier.predict_probabilities(texts).argmax(axis=1)
        return np.mean(labels == codes)

    assert abs(measure_agreement(1.0) - AGREEMENT) < 0.04
    assert measure_agreement(0.5) < AGREEMENT - 0.05
    assert measure_agreement(2.0) > AGREEMENT + 0.05


def test_texts_follow_from_the_seed():
    """Equal seeds give equal texts, labels and certainties."""
    first, second = (generate_tilted_texts(KNOWLEDGE, PUBLIC_TEXTS, 20, seed=1) for _ in range(2))
    assert first.texts == second.texts
    np.testing.assert_array_equal(first.codes, second.codes)
    assert generate_tilted_texts(KNOWLEDGE, PUBLIC_TEXTS, 20, seed=2).texts != first.texts


def test_no_rows_and_no_public_words_are_refused():
    """Zero rows, or public texts without words, are refused in one line."""
    with pytest.raises(InputError, match="rows"):
        generate_tilted_texts(KNOWLEDGE, PUBLIC_TEXTS, 0, seed=0)
    with pytest.raises(InputError, match="public texts with words"):
        generate_tilted_texts(KNOWLEDGE, [" "], 5, seed=0)


def test_a_single_row_and_a_classifier_that_knows_nothing_will_do():
    """One row of two classes, or weights that are all 0, give texts all the same."""
    assert len(generate_tilted_texts(KNOWLEDGE, PUBLIC_TEXTS, 1, seed=0).texts) == 1
    blank = dataclasses.replace(KNOWLEDGE, word_weights=np.zeros((len(WORDS), 2)))
    assert all(generate_tilted_texts(blank, PUBLIC_TEXTS, 5, seed=0).texts)
