"""Fluency: perplexity under a language model of other texts."""

import numpy as np
import pytest

from deniable.measure.fluency import LanguageModel, measure_perplexity
from tests.refusals import refuses

SIZE = 6


def draw_texts(count, seed):
    """Return texts whose words follow one another in a cycle most of the time, some of them unknown."""
    rng = np.random.default_rng(seed)
    texts = np.empty((count, 12), dtype=np.int32)
    texts[:, 0] = rng.integers(SIZE, size=count)
    for place in range(1, 12):
        following = (texts[:, place - 1] + 1) % SIZE
        texts[:, place] = np.where(rng.random(count) < 0.8, following, rng.integers(SIZE + 1, size=count))
    return [*texts]


def test_perplexity_is_that_of_the_model():
    """It is that of the probabilities that the model gives, unknown words left out; word order makes a text fluent."""
    model, texts = LanguageModel.fit(draw_texts(100, 0), SIZE), draw_texts(30, 1)
    surprisals = [
        -np.log(model.probabilities(text[:place])[text[place]])
        for text in texts
        for place in range(len(text))
        if text[place] != SIZE
    ]
    found = measure_perplexity(model, texts)
    assert found.value == pytest.approx(np.exp(np.mean(surprisals)))
    assert found.low < found.value < found.high
    assert found.count == 30
    shuffled = [np.random.default_rng(row).permutation(text) for row, text in enumerate(texts)]
    assert found.high < measure_perplexity(model, shuffled).low
    with refuses("words"):
        measure_perplexity(model, [np.full(3, SIZE, dtype=np.int32), np.empty(0, dtype=np.int32)])
