"""The tilted trigram model: its law against the definition, what it writes, what it refuses."""

import numpy as np
import pytest
from scipy import stats

from deniable.core.errors import InputError
from deniable.measure.attackers.language_model import LanguageModel
from deniable.persons.ngrams import MAX_SURPLUS, build_text_model, tidy_marks
from deniable.text.tokenization import split_tokens

TEXTS = (
    "the film is good.",
    "the film is bad!",
    "a good film, a good plot.",
    "the plot is not good but the cast is.",
    "bad cast. bad plot",
    "",
)
THRESHOLD = 1e-6


def test_probabilities_are_those_of_kneser_and_ney():
    """Without a tilt the law after every kind of history is that of the language model of the same texts."""
    model = build_text_model(TEXTS)
    numbers = {word: number for number, word in enumerate(model.words)}
    sequences = [[*map(numbers.get, split_tokens(text)), len(numbers)] for text in TEXTS if text]
    reference = LanguageModel.fit(sequences, len(numbers))
    for words in ((), ("the",), ("the", "film"), ("film", "the"), ("!", "cast"), ("plot", "is", "not")):
        history = [numbers[word] for word in words]
        expected = reference.probabilities(history)
        np.testing.assert_allclose(model.compute_probabilities(history, np.zeros(len(numbers))), expected, rtol=1e-9)


def test_drawn_words_follow_the_tilted_law():
    """Words drawn after a history fit the law of the definition; they reject one whose tilt is 30 % off."""
    model = build_text_model(TEXTS)
    tilt = np.random.default_rng(0).normal(0, 1, len(model.words))
    texts = model.write_texts(tilt, np.full(4_000, 60), np.random.default_rng(1))
    numbers = {word: number for number, word in enumerate(model.words)}
    counts = np.zeros(len(model.words))
    for text in texts:
        tokens = split_tokens(text)
        # A text that ends leaves no trace, so the history is taken well before the length is reached.
        for first, second, word in zip(tokens[:55], tokens[1:55], tokens[2:55], strict=False):
            if (first, second) == ("film", "is"):
                counts[numbers[word]] += 1
    history = [numbers["film"], numbers["is"]]

    def measure_fit(factor):
        # Where the text ends, the next word is the first of another text, which may end at once too.
        law, first = (model.compute_probabilities(words, factor * tilt) for words in (history, []))
        expected = (law[:-1] + law[-1] * first[:-1] / (1 - first[-1])) * counts.sum()
        return stats.chisquare(counts, expected).pvalue

    assert counts.sum() > 2_000
    assert measure_fit(1.0) > THRESHOLD
    assert measure_fit(0.7) < THRESHOLD
    assert measure_fit(1.3) < THRESHOLD


def test_texts_end_with_a_sentence_near_their_length():
    """A text has the tokens asked for, and at most the surplus that completes its sentence."""
    model = build_text_model(TEXTS)
    lengths = np.array([1, 5, 30, 200])
    texts = model.write_texts(np.zeros(len(model.words)), lengths, np.random.default_rng(0))
    counts = np.array([len(split_tokens(text)) for text in texts])
    assert np.all(counts >= lengths)
    assert np.all(counts <= lengths + MAX_SURPLUS)


def test_texts_follow_from_the_generator():
    """Equal seeds give equal texts, and another seed gives others."""
    model = build_text_model(TEXTS)
    write = [
        model.write_texts(np.zeros(len(model.words)), np.full(5, 20), np.random.default_rng(seed)) for seed in (1, 1, 2)
    ]
    assert write[0] == write[1] != write[2]


def test_unusable_texts_and_weights_are_refused():
    """Texts without words, and log weights that would drown all other words, are refused in one line."""
    with pytest.raises(InputError, match="needs words"):
        build_text_model(["", "  "])
    model = build_text_model(TEXTS)
    for weight in (31.0, np.nan):
        with pytest.raises(InputError, match="smaller strength"):
            model.write_texts(np.full(len(model.words), weight), np.array([3]), np.random.default_rng(0))


def test_marks_are_spaced_as_people_write_them():
    """Hyphens, dashes and quotation marks are attached to their words, and the tokens remain the same."""
    text = 'he said " a well - made film " - - and " no'
    assert tidy_marks(text) == 'he said "a well-made film" -- and " no'
    assert split_tokens(tidy_marks(text)) == split_tokens(text)
