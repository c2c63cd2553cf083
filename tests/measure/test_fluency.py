"""Fluency: perplexity under a language model of other texts."""

import numpy as np
import pytest

from deniable import InputError
from deniable.measure.attackers.language_model import LanguageModel
from deniable.measure.fluency import measure_perplexity

SIZE = 6


def draw_texts(count, seed):
    """Return texts whose words follow one another in a cycle, most of the time."""
    rng = np.random.default_rng(seed)
    texts = []
    for _ in range(count):
        words = [int(rng.integers(SIZE))]
        while len(words) < 12:
            words.append((words[-1] + 1) % SIZE if rng.random() < 0.8 else int(rng.integers(SIZE + 1)) % (SIZE + 1))
            words[-1] = min(words[-1], SIZE)
        texts.append(np.array(words, dtype=np.int32))
    return texts


def test_by_the_model_itself():
    """The perplexity is that of the probabilities that the model gives, word by word, unknown words left out."""
    model, texts = LanguageModel.fit(draw_texts(40, 0), SIZE), draw_texts(10, 1)
    surprisals = [
        -np.log(model.probabilities(text[:place])[text[place]])
        for text in texts
        for place in range(len(text))
        if text[place] != SIZE
    ]
    found = measure_perplexity(model, texts)
    assert found.value == pytest.approx(np.exp(np.mean(surprisals)))
    assert found.low < found.value < found.high
    assert found.count == 10


def test_fluent_texts_surprise_less():
    """Texts of the same law have a far smaller perplexity than the same words in random order."""
    model, texts = LanguageModel.fit(draw_texts(200, 0), SIZE), draw_texts(50, 1)
    shuffled = [np.random.default_rng(row).permutation(text) for row, text in enumerate(texts)]
    assert measure_perplexity(model, texts).high < measure_perplexity(model, shuffled).low


def test_no_known_word():
    """Texts without a word of the vocabulary have no perplexity."""
    model = LanguageModel.fit(draw_texts(5, 0), SIZE)
    with pytest.raises(InputError, match="give texts with words"):
        measure_perplexity(model, [np.full(3, SIZE, dtype=np.int32), np.empty(0, dtype=np.int32)])
