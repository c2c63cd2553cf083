"""What becomes of texts under one law: shares, cosines and guesses by hand."""

import numpy as np
import pytest

import deniable as dn
from studies.metric_laws import StepLaw
from studies.metric_reader import Reading, expect_words, is_model_installed, make_reader
from studies.metric_texts import Outcome, estimate_accuracy, find_hidden_words, place_vectors, split_texts
from studies.reviews import Corpus

SPACE = dn.Space(
    ["good", "bad", "film", "tom", "ann"],
    [[1, 0], [0, 1], [1, 1], [3, 1], [3, -1]],
    hide=(dn.WordClass("people", frozenset({"tom", "ann"})),),
)
GOOD, BAD, FILM, TOM, ANN = (SPACE.index_by_word[word] for word in ("good", "bad", "film", "tom", "ann"))
CORPUS = Corpus(
    "mine",
    np.array([GOOD, FILM, TOM, BAD, FILM, TOM], dtype=np.int32),
    np.array([0, 3, 6]),
    np.array([False, False, False, False, True, False]),
    np.array([1, 0]),
)


@pytest.fixture
def outcome():
    """Return two texts: good film tom -> film film ann, bad (unknown) tom -> good bad film."""
    outputs = np.array([FILM, FILM, ANN, GOOD, BAD, FILM], dtype=np.int32)
    return Outcome(SPACE, CORPUS, outputs, find_hidden_words(SPACE))


def test_changed_words_are_known_and_not_hidden(outcome):
    """Unknown words, words of a hidden class and words that stay are not among the changed ones."""
    assert outcome.is_changed.tolist() == [True, False, False, True, False, False]


def test_cosines_of_changed_words(outcome):
    """The mean is over changed words, all or those beyond a rank, that both have vectors in the other space."""
    own = place_vectors(SPACE, SPACE)
    assert outcome.estimate_changed_cosine(own).value == pytest.approx(np.sqrt(0.5) / 2)
    assert outcome.estimate_changed_cosine(own, beyond=BAD).value == pytest.approx(0.0, abs=1e-12)
    other = place_vectors(SPACE, dn.Space(["good", "bad", "tom"], [[1, 0], [3, 4], [0, 1]]))
    assert outcome.estimate_changed_cosine(other).value == pytest.approx(0.6)


def test_shares_of_words(outcome):
    """Shares are of words of a hidden class, and of changed words with a part of speech."""
    assert outcome.estimate_same_class().value == pytest.approx(1 / 2)
    parts = np.zeros(len(SPACE), dtype=np.uint8)
    parts[[GOOD, BAD, FILM]] = 4, 5, 1
    assert outcome.estimate_same_part(parts).value == pytest.approx(1 / 2)


def test_accuracy_is_the_mean_over_draws():
    """A classifier of the originals names both classes, one of texts with the classes swapped none."""
    words = np.array([GOOD, FILM, GOOD, BAD, FILM, BAD], dtype=np.int32)
    corpus = Corpus("mine", words, np.array([0, 3, 6]), np.zeros(6, dtype=bool), np.array([1, 0]))
    swapped = np.roll(words, 3)
    shares = [estimate_accuracy(corpus, draws, corpus).value for draws in ([words], [swapped], [words, swapped])]
    assert shares == [1.0, 0.0, 0.5]
    assert [text.tolist() for text in split_texts(words, corpus.offsets)] == [words[:3].tolist(), words[3:].tolist()]


def test_reader_knows_language_and_release():
    """Without output a reader guesses what is expected; noise that leaves words as they are tells them all."""
    space = dn.Space([f"w{number}" for number in range(40)], np.random.default_rng(1).normal(size=(40, 3)),
                     metric="steps(neighbours=2)")  # fmt: skip
    texts = [np.array([3, 1, 4]), np.array([1, 5])]
    expected = [np.full((len(text), 40), np.log(0.01)) for text in texts]
    for row in range(3):
        expected[0][row, 1] = np.log(0.6)
    reading = Reading(texts, expected)
    assert reading.guess(None, 1)[""].value == pytest.approx(1 / 5)
    shares = reading.guess(StepLaw(space, 12.0), 1)
    assert [shares[name].value for name in ("", "the 100 most frequent")] == [1.0, 1.0]
    assert set(shares) == {"", "the 100 most frequent"}


@pytest.mark.deep
@pytest.mark.skipif(not is_model_installed(), reason="needs the language model")
def test_model_expects_words_that_fit():
    """A word that fits is expected sooner than one that does not; one word of a text is not seen before its place."""
    space = dn.Space.glove(20_000, hide=())
    reader, words = make_reader(space), space.split_words("this is one of the best movies i have ever seen")[1::2]
    numbers = np.array([space.index_of(word) for word in words])
    rows = expect_words(reader, numbers)
    assert rows.shape == (len(words), len(space))
    assert np.exp(rows.astype(float)).sum(axis=1).max() <= 1.01
    assert rows[5, space.index_of("best")] > rows[5, space.index_of("parliament")]
    assert np.allclose(expect_words(reader, numbers[:4]), rows[:4], atol=0.05)
