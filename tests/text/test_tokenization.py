"""Texts as words and punctuation marks, and back."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deniable.text.tokenization import count_unknown_words, join_tokens, split_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("what's the fare", ["what", "'s", "the", "fare"]),
        ("stops in st. louis", ["stops", "in", "st", ".", "louis"]),
        ("Don’t GO, o'clock!", ["do", "n't", "go", ",", "o'clock", "!"]),
        ("at 10:30 for $1,000 (one way)", ["at", "10:30", "for", "$", "1,000", "(", "one", "way", ")"]),
        ("", []),
        (" \t\n\u200b", []),
        ("a -- b", ["a", "-", "-", "b"]),
        ("漢字 שלום 👍", ["漢字", "שלום", "👍"]),
    ],
)
def test_split(text, tokens):
    """Words are folded, contractions are two tokens, and punctuation marks are one each."""
    assert split_tokens(text) == tokens


@pytest.mark.parametrize(
    "text",
    [
        "what's the fare",
        "stops in st. louis",
        "don't go, now!",
        "at 10:30 for $1,000 (one way)",
        "a - b",
        "o'clock",
        "",
    ],
)
def test_what_comes_back(text):
    """A text in lower case that is written as usual comes back as it was."""
    assert join_tokens(split_tokens(text)) == text


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


ODD = [
    "'s",
    "n't",
    "'ll",
    "do",
    "5",
    ",",
    ".",
    "'",
    "(",
    ")",
    "-",
    "$",
    "👍",
    "e\u0301",
    "o'clock",
    "10:30",
    "\ud800",
    "\u0301",
]


@given(st.lists(st.sampled_from(ODD), max_size=8))
@example(["👍", "'s"])
@example(["(", "'ll"])
@example(["do", "n't", "n't", "'s"])
def test_tokens_of_no_text(tokens):
    """Whatever tokens a decoder puts together, the text of them has no more tokens, so that it fits the limit too."""
    assert len(split_tokens(join_tokens(tokens))) <= len(tokens)


def test_unknown_words_are_counted():
    """Words count in any case and of any script, each time that they occur; marks and emoji do not."""
    assert count_unknown_words(["The cat, the Katze!", "שלום 👍", ""], {"the", "cat"}) == (2, 5)
    assert count_unknown_words([], set()) == (0, 0)
