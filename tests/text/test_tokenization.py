"""Texts as words and punctuation marks, and back."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deniable.text.tokens import count_unknown_words, join_tokens, split_tokens
from tests.text.tables.helpers import few, many


@pytest.mark.parametrize(
    ("text", "tokens", "is_usual"),
    [
        ("what's the fare", ["what", "'s", "the", "fare"], True),
        ("stops in st. louis", ["stops", "in", "st", ".", "louis"], True),
        ("don't go, now!", ["do", "n't", "go", ",", "now", "!"], True),
        ("Don’t GO, o'clock!", ["do", "n't", "go", ",", "o'clock", "!"], False),
        ("at 10:30 for $1,000 (one way)", ["at", "10:30", "for", "$", "1,000", "(", "one", "way", ")"], True),
        ("a - b", ["a", "-", "b"], True),
        ("", [], True),
        (" \t\n\u200b", [], False),
        ("a -- b", ["a", "-", "-", "b"], False),
        ("漢字 שלום 👍", ["漢字", "שלום", "👍"], True),
    ],
)
def test_split(text, tokens, is_usual):
    """Words are folded, contractions are two tokens, marks are one each; a text written as usual comes back."""
    assert split_tokens(text) == tokens
    assert (join_tokens(tokens) == text) == is_usual


@few
@given(st.text(max_size=40))
@example("a 's")
@example("k's n't")
@example("k'sn't n'sn't's")
@example("can't 5n't .n't")
@example("👨‍👩‍👧 e\u0301 \ud800 İ")
@example("'s's a'b'")
@example("'a'\u2069 .\u202a's \u2adc")
def test_tokens_come_back(text):
    """The text of some tokens has the same tokens again."""
    tokens = split_tokens(text)
    assert split_tokens(join_tokens(tokens)) == tokens


ODD = ["'s", "n't", "'ll", "do", "5", ",", ".", "'", "(", ")", "-", "$", "👍", "e\u0301", "o'clock", "10:30", "\ud800"]
TOKENS = st.lists(st.sampled_from([*ODD, "\u0301"]), max_size=8)


@few
@given(TOKENS)
@example(["👍", "'s"])
@example(["(", "'ll"])
@example(["do", "n't", "n't", "'s"])
def test_tokens_of_no_text(tokens):
    """Whatever tokens a decoder puts together, the text of them has no more tokens, so that it fits the limit too."""
    assert len(split_tokens(join_tokens(tokens))) <= len(tokens)


test_many_texts = many(test_tokens_come_back, st.text(max_size=40))
test_many_tokens = many(test_tokens_of_no_text, TOKENS)


def test_unknown_words_are_counted():
    """Words count in any case and of any script, each time that they occur; marks and emoji do not."""
    assert count_unknown_words(["The cat, the Katze!", "שלום 👍", ""], {"the", "cat"}) == (2, 5)
    assert count_unknown_words([], set()) == (0, 0)
