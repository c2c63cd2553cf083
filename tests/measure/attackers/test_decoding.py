"""The forward-backward search against the sum over all texts."""

import functools
import itertools

import numpy as np
import pytest

import deniable as dn
from deniable.measure.attackers.language_model import LanguageModel, number_texts
from deniable.measure.batches import privatize_texts
from deniable.measure.contextual_recovery import measure_contextual_recovery
from deniable.text.release import PrivatizedBatch
from tests.measure.test_contextual_recovery import chain


def exhaustive(space, subject, model, outputs, weight):
    """Return the word of the largest posterior at each place, by summing over all texts."""
    size = len(space)
    matrix = np.array([subject.probabilities(word) for word in (*space.words, space.unknown_word)])
    after = functools.cache(lambda *history: model.probabilities(history))
    alone = model.frequencies ** (1 - weight)
    posterior = np.zeros((len(outputs), size + 1))
    for text in itertools.product(range(size + 1), repeat=len(outputs)):
        chance = 1.0
        for i, word in enumerate(text):
            chance *= after(*text[:i])[word] ** weight * alone[word] * matrix[word, outputs[i]]
        for i, word in enumerate(text):
            posterior[i, word] += chance
    return posterior[:, :size].argmax(axis=1)


@pytest.mark.parametrize("weight", [1.0, 0.6])
def test_full_beam_is_exhaustive(small_space, weight):
    """With all candidates and a full beam the guesses are those of the sum over all texts."""
    space = dn.Space(small_space.words[:4], small_space.vectors[:4])
    subject = dn.TEM(space, epsilon=1.0)
    texts = [*chain(space, 30, 6, loyal=0.8), "nonesuch"]
    model = LanguageModel.fit(number_texts(space, texts), len(space))
    drawn = privatize_texts(subject, chain(space, 8, 4, seed=8), seed=3)
    expected = [
        exhaustive(space, subject, model, drawn.outputs[start : start + 4], weight) for start in range(0, 32, 4)
    ]
    found = measure_contextual_recovery(subject, drawn, model, weight=weight, beam=25, candidates=5)
    assert found.share.value == (np.concatenate(expected) == drawn.words).mean()
    for start, guess in zip(range(0, 32, 4), expected, strict=True):
        # The same releases, with the expected guess in the place of the original: all of it is recovered.
        part = PrivatizedBatch(
            [""],
            np.array([0, 4]),
            guess.astype(np.int32),
            drawn.outputs[start : start + 4],
            np.zeros(4, bool),
            0,
            drawn.kept_counts[:1],
        )
        assert (
            measure_contextual_recovery(subject, part, model, weight=weight, beam=25, candidates=5).share.value == 1.0
        )
