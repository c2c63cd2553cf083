"""Candidate texts: those that a model reads alike are one, and proposals are new, distinct and of the language."""

import itertools

import numpy as np
import pytest

from deniable.core.errors import InputError
from deniable.rewriting.attacks.candidates import (
    TrigramModel,
    drop_indistinguishable_texts,
    measure_guesses,
    propose_texts,
)
from deniable.rewriting.tokens import Vocabulary

CITIES = ("boston", "dallas", "denver", "oakland", "tampa", "miami")
CORPUS = [f"show me flights from {a} to {b}" for a, b in itertools.pairwise(CITIES)]
VOCABULARY = Vocabulary.build(CORPUS)


def test_texts_read_alike_are_one():
    """Capitals, spaces and words that are not listed make no other text; the first spelling is kept."""
    texts = ["Show me flights", "show  me flights", "show me zzz", "show me yyy", "flights"]
    assert drop_indistinguishable_texts(texts, VOCABULARY) == ["Show me flights", "show me zzz", "flights"]


def test_the_model_knows_its_corpus():
    """Followers are counted in every context: after 'from' each city but the last, at the end only the end."""
    numbers = VOCABULARY.to_ids
    model = TrigramModel.fit(map(numbers, CORPUS))
    (flights, from_, to) = numbers("flights from to")
    assert sorted(model.followers[0][flights, from_]) == sorted(numbers(" ".join(CITIES[:-1])))
    assert model.followers[1][from_,] == model.followers[0][flights, from_]
    assert len(model.followers[2][()]) == sum(len(numbers(text)) + 1 for text in CORPUS)
    assert set(model.followers[0][to, numbers("miami")[0]]) == {2}


def test_draws_follow_the_weights():
    """After two known tokens the next is the corpus's with the weight of long contexts, or of no context."""
    model = TrigramModel.fit([[5, 6, 7]])
    coins = np.random.default_rng(0)
    drawn = [model.draw_tokens(coins, 1) for _ in range(20_000)]
    # After the start 5 always follows but where nothing is looked back at; there each of 5, 6, 7 and the end does.
    assert np.mean([one == (5,) for one in drawn]) == pytest.approx(0.95 + 0.05 / 4, abs=0.01)
    assert np.mean([one == () for one in drawn]) == pytest.approx(0.05 / 4, abs=0.005)


def test_proposals():
    """Proposals are new, distinct, no longer than allowed, and repeat with the seed; other pairs of cities come up."""
    found = propose_texts(CORPUS, VOCABULARY, 40, max_tokens=9, seed=3)
    assert len(set(found)) == 40
    assert not set(found) & set(CORPUS)
    assert max(len(VOCABULARY.to_ids(text)) for text in found) <= 9
    assert found == propose_texts(CORPUS, VOCABULARY, 40, max_tokens=9, seed=3)
    assert found != propose_texts(CORPUS, VOCABULARY, 40, max_tokens=9, seed=4)
    assert any(text.startswith("show me flights from") for text in found)


def test_bad_parameters():
    """No corpus, no count and more texts than a language has are refused, in words."""
    with pytest.raises(InputError, match="at least one text"):
        TrigramModel.fit([])
    with pytest.raises(InputError, match="'count'"):
        propose_texts(CORPUS, VOCABULARY, 0, max_tokens=5, seed=0)
    with pytest.raises(InputError, match="leads to"):
        propose_texts(["boston"], VOCABULARY, 50, max_tokens=2, seed=0)


def test_what_is_recovered():
    """Words count as often as both texts hold them, wherever they stand; a text without words has none to find."""
    truths = ["show me flights to to boston", "flights", ""]
    found = measure_guesses(truths, ["boston to me to to", "Flights", ""])
    assert (found["tokens"].value, found["tokens"].count) == (5 / 7, 2)
    assert (found["exact"].value, found["exact"].count) == (2 / 3, 3)
