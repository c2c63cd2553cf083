"""What becomes of texts under one law: shares and cosines by hand."""

import numpy as np
import pytest

import deniable as dn
from studies.metric_texts import Outcome, build_encoder, find_hidden_words, join_words
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
    """The mean is over changed words that both have vectors in the encoder's space."""
    own = build_encoder(SPACE, SPACE, CORPUS)
    assert outcome.estimate_changed_cosine(own).value == pytest.approx(np.sqrt(0.5) / 2)
    other = build_encoder(SPACE, dn.Space(["good", "bad", "tom"], [[1, 0], [3, 4], [0, 1]]), CORPUS)
    assert outcome.estimate_changed_cosine(other).value == pytest.approx(0.6)


def test_shares_of_words(outcome):
    """Shares are of known words, of words of a hidden class, and of changed words with a part of speech."""
    assert outcome.estimate_kept().value == pytest.approx(1 / 5)
    assert outcome.estimate_same_class().value == pytest.approx(1 / 2)
    parts = np.zeros(len(SPACE), dtype=np.uint8)
    parts[[GOOD, BAD, FILM]] = 4, 5, 1
    assert outcome.estimate_same_part(parts).value == pytest.approx(1 / 2)


def test_texts_that_stay_have_cosine_one():
    """A text that stays as it is has cosine 1 by vectors and by letters."""
    corpus = Corpus("mine", CORPUS.words, CORPUS.offsets, np.zeros(6, dtype=np.bool_), CORPUS.codes)
    outcome = Outcome(SPACE, corpus, corpus.words, find_hidden_words(SPACE))
    encoder = build_encoder(SPACE, SPACE, Corpus("other", *[getattr(corpus, name) for name in ("words", "offsets")],
                                                 corpus.is_unknown, corpus.codes))  # fmt: skip
    assert outcome.estimate_text_cosine(encoder).value == pytest.approx(1.0)
    assert outcome.estimate_letter_cosine(2).value == pytest.approx(1.0)


def test_texts_are_joined():
    """Words stand in their texts, in order, with blanks between."""
    assert join_words(SPACE, CORPUS.words, CORPUS.offsets) == ["good film tom", "bad film tom"]
