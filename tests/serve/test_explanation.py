"""What becomes of a word."""

import pytest

import deniable as dn
from deniable.serve.explanation import explain_word
from deniable.serve.offers import WordOffer
from tests.text.helpers import SPACE


def test_the_law_of_a_word():
    """Outputs come with their exact probabilities, most likely first."""
    offer = WordOffer(dn.Release(dn.TEM(SPACE, epsilon=2.0)))
    offer.prepare()
    answer = explain_word(offer, "Cat")
    assert (answer["read_as"], answer["is_known"], answer["hidden"], answer["draws"]) == ("cat", True, None, 0)
    law = offer.release.mechanism.probabilities("cat")
    assert {one["word"]: one["probability"] for one in answer["outputs"]} == pytest.approx(
        dict(zip(SPACE.words, law, strict=True))
    )
    shares = [one["probability"] for one in answer["outputs"]]
    assert shares == sorted(shares, reverse=True)
    assert answer["kept"] == law[SPACE.index_of("cat")]
    assert answer["outputs"][0]["distance"] == 0
    assert "an attacker" in answer["attacker"]


def test_an_unknown_word_and_a_hidden_one():
    """An unknown word is read as the public one; a hidden class is one output."""
    space = dn.Space(["bad", "good", "mary", "ann"], [[0.0], [1.0], [5.0], [6.0]], hide=["names"])
    offer = WordOffer(dn.Release(dn.TEM(space, epsilon=2.0)))
    unknown = explain_word(offer, "zork")
    assert (unknown["is_known"], unknown["read_as"]) == (False, space.unknown_word)
    hidden = explain_word(offer, "mary")
    assert hidden["hidden"]["class"] == "names"
    assert [one["class"] for one in hidden["outputs"]].count("names") == 1
    assert sum(one["probability"] for one in hidden["outputs"]) == pytest.approx(1)


def test_a_law_that_nobody_knows():
    """Where no law is known the shares of draws are given, and their number."""
    offer = WordOffer(dn.Release(dn.mechanism("multivariate-laplace", SPACE, epsilon=2.0)))
    answer = explain_word(offer, "cat")
    assert answer["draws"] == 20_000
    assert sum(one["probability"] for one in answer["outputs"]) == pytest.approx(1)
