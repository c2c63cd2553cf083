"""Words and texts in the tokens of a model."""

import numpy as np
import pytest

from deniable.language.model import LanguageModel
from deniable.language.spelling import MAX_PIECE, Speller
from tests.conftest import SMALL_WORDS
from tests.small_llama import build_piece_tokenizer, save_llama


@pytest.fixture(scope="module")
def pieces(tmp_path_factory):
    """A tiny model of whose words most are several tokens."""
    return LanguageModel.load(save_llama(tmp_path_factory.mktemp("pieces"), build_piece_tokenizer(SMALL_WORDS, 300)))


@pytest.fixture(scope="module")
def weights():
    """Frequencies of the words."""
    weights = 1 / np.arange(1.0, len(SMALL_WORDS) + 1)
    return weights / weights.sum()


def test_shares_of_first_tokens(pieces, weights):
    """The words that begin with one token share it by their frequency, and one that has it alone is certain."""
    spelling = Speller(pieces, SMALL_WORDS, weights).spaced
    assert {len(tokens) for tokens in spelling.tokens} == {1, 2}
    for first in set(spelling.firsts.tolist()):
        own = spelling.firsts == first
        assert np.exp(spelling.log_shares[own]) == pytest.approx(weights[own] / weights[own].sum())
    for word in np.flatnonzero(spelling.is_certain):
        assert len(spelling.tokens[word]) == 1
        assert np.exp(spelling.log_shares[word]) > 0.9


def test_texts_keep_their_signs(pieces, weights):
    """The tokens of a text are it, and each word begins where it is said to, after a space or not."""
    speller = Speller(pieces, SMALL_WORDS, weights, "A text:")
    gaps, words = ["", ", ", "(", "\n", " ..."], ["baran", "dotel", "nope", "kuzor"]
    text = speller.tokenize(gaps, words)
    assert pieces.decode(text.tokens) == "A text: baran, dotel(nope\nkuzor"
    assert text.is_spaced.tolist() == [True, True, False, False]
    starts = [*text.starts.tolist(), len(text.tokens)]
    for word, start in zip(words, starts, strict=False):
        assert pieces.decode(text.tokens[start:]).lstrip().startswith(word)


def test_long_pieces_are_cut(pieces, weights):
    """A word, or what stands before one, has no more than some tokens, so that no text is out of bounds."""
    text = Speller(pieces, SMALL_WORDS, weights).tokenize(["", "-" * 1_000 + " "], ["x" * 1_000, "baran"])
    assert len(text.tokens) <= 1 + 3 * MAX_PIECE


def test_endings(pieces, weights):
    """A word ends before a sign or the end of a text, and not before a letter."""
    endings = Speller(pieces, SMALL_WORDS, weights).endings
    for text, is_ending in (("a", False), (",", True), (" ", True), ("7", False)):
        assert bool(endings[pieces.encode([text])[0][0]]) == is_ending
    assert all(bool(endings[token]) for token in pieces.end_tokens)
