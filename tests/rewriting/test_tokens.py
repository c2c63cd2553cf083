"""Tokens of texts and their numbers."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deniable.core.errors import InputError
from deniable.rewriting.tokens import (
    END,
    PAD,
    SPECIAL_TOKENS,
    START,
    UNKNOWN,
    Vocabulary,
    look_up_tokens,
    truncate_text,
)
from deniable.text.tokenization import split_tokens


@given(
    st.text() | st.lists(st.sampled_from(["don't", "n't", "'s", "$", "(", "st.", "漢字", "\u200b", "a"])).map(" ".join)
)
@example("don't " * 40)
@example("'s n't 's n't")
def test_truncated_texts_are_within_the_limit(text):
    """A text within the limit is itself; of a longer one no more than so many tokens are left, in their order."""
    tokens = split_tokens(text)
    for limit in (1, 2, 5, 12):
        held = truncate_text(text, limit)
        assert len(split_tokens(held)) <= limit
        if len(tokens) <= limit:
            assert held == text
        elif all(token.isalpha() for token in tokens[:limit]):
            assert split_tokens(held) == tokens[:limit]


@given(st.text(max_size=40))
@example(" ".join(SPECIAL_TOKENS))
def test_special_tokens_are_in_no_text(text):
    """No text gives one of the special tokens, however it is written."""
    assert not {*split_tokens(text)} & {*SPECIAL_TOKENS}


class TestVocabulary:
    """Numbers of tokens."""

    def test_built(self):
        """The special tokens come first, then the most frequent, and equals by the alphabet."""
        found = Vocabulary.build(["b a b", "c a b."])
        assert found.words == (*SPECIAL_TOKENS, "b", "a", ".", "c")
        assert len(found) == 8
        assert Vocabulary.build(["b a b", "c a b."], min_count=2).words == (*SPECIAL_TOKENS, "b", "a")
        assert Vocabulary.build(["b a b", "c a b."], max_tokens=1).words == (*SPECIAL_TOKENS, "b")
        assert Vocabulary.build([]).words == SPECIAL_TOKENS

    def test_numbers(self):
        """A token that is not listed is unknown; a text in special tokens' spelling is none."""
        found = Vocabulary.build(["what's this"])
        known = [found.words.index(word) for word in ("what", "'s", "this")]
        assert found.to_ids("What's that this?") == [*known[:2], UNKNOWN, known[2], UNKNOWN]
        assert {START, END, PAD} & {*found.to_ids("<pad> <start> <end>")} == set()

    def test_text(self):
        """A text ends at the first end; what stands behind or before texts is left out."""
        found = Vocabulary.build(["what's this"])
        one, two, three = found.to_ids("what's this")
        assert found.to_text([START, one, two, PAD, three, END, three]) == "what's this"
        assert found.to_text([UNKNOWN, three]) == "[unknown] this"
        assert found.to_text([END]) == found.to_text([]) == ""

    @pytest.mark.parametrize(
        "words", [("a", "b"), (*SPECIAL_TOKENS, "a", "a"), SPECIAL_TOKENS[:3], (*SPECIAL_TOKENS, "<pad>")]
    )
    def test_others(self, words):
        """Words without the special ones, or twice the same, are no vocabulary."""
        with pytest.raises(InputError, match="words of a vocabulary must be distinct"):
            Vocabulary(words)

    def test_too_long(self):
        """A text of more tokens than the limit is named; one of as many is taken."""
        found = Vocabulary.build(["a b c"])
        assert [len(numbers) for numbers in look_up_tokens(found, ["a", "", "a b c"], 3)] == [1, 0, 3]
        with pytest.raises(InputError, match="Text 2 has 3 tokens, and the model takes 2"):
            look_up_tokens(found, ["a b", "a b c"], 2)
