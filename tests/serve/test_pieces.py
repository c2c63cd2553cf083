"""Texts and their private versions in pieces."""

import pytest

import deniable as dn
from deniable.serve.offers import WordOffer
from deniable.serve.pieces import has_pieces, split_pieces
from tests.text.helpers import SPACE

TEXTS = [
    "The food, in London!",
    "zork don't  do|n't",
    "",
    "  ",
    "...",
    "food",
    "😀food\ud800 FOOD-food 12 o'clock's",
    "a" * 50,
]


@pytest.mark.parametrize("case", ["lower", "copy"])
def test_pieces_join_to_both_texts(case):
    """Originals joined are the text, and private pieces joined are what was released, for many draws."""
    offer = WordOffer(dn.Release(dn.TEM(SPACE, epsilon=1.0), case=case))
    for _ in range(50):
        released = offer.privatize(TEXTS)
        for row, text in enumerate(TEXTS):
            if not text:
                continue
            pieces = split_pieces(offer, text, released, row)
            assert "".join(piece["original"] for piece in pieces) == text
            assert "".join(piece["private"] for piece in pieces) == released.texts[row]


def test_what_became_of_words():
    """A word is kept or changed, unknown, or one of a hidden class."""
    words, vectors = ["bad", "good", "mary", "ann"], [[0.0], [1.0], [5.0], [6.0]]
    space = dn.Space(words, vectors, hide=["names"])
    offer = WordOffer(dn.Release(dn.TEM(space, epsilon=50.0)))
    text = "good zork Mary"
    released = offer.privatize([text])
    kinds = {piece["original"]: piece for piece in split_pieces(offer, text, released, 0)}
    assert kinds["good"]["kind"] == "kept"
    assert kinds["zork"]["kind"] == "unknown"
    assert (kinds["Mary"]["kind"], kinds["Mary"]["class"]) == ("hidden", "names")
    assert kinds[" "]["kind"] == "between"


def test_what_cannot_be_shown():
    """Where words are masked or kept they do not stand for one another."""
    mechanism = dn.TEM(SPACE, epsilon=1.0)
    assert has_pieces(dn.Release(mechanism))
    assert not has_pieces(dn.Release(mechanism, unknown="mask"))
    assert not has_pieces(dn.Release(mechanism, keep=["food"]))
    assert not has_pieces(dn.Release(mechanism, unescape="html"))
