"""Cutting texts and writing them again."""

import time

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from deniable import TEM, Release
from deniable.space.grammar import fold_word, split_words
from deniable.text.tokens import Lexer
from deniable.words.laws import SimulatedLaw, Simulation
from tests.text.helpers import MECHANISM, ODD_PIECES, SPACE, WORDS, space_of

CONTRACTIONS = space_of(["do", "n't", "the", "it", "'s", "food"])

PIECES = [
    *WORDS,
    "zork",
    "Zork",
    "don't",
    "it's",
    "o'clock",
    "1,000",
    "3.14",
    " ",
    "\n",
    ", ",
    ".",
    "-",
    "'",
    "£",
    *ODD_PIECES,
]

texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=25).map("".join)


def lexer(unknown="draw", case="lower", keep=(), space=SPACE):
    return Lexer(space, unknown, case, keep)


def written(cutter, text, *words):
    """Return the text with the given words in place of its own."""
    return cutter.rebuild_text(cutter.lex(text), [cutter.space.index_of(word) for word in words])


def spellings(text):
    return split_words(text)[1::2]


def released(text, mechanism=MECHANISM, **options):
    """Return the text as it is released, and the counts."""
    batch = Release(mechanism, key="seed:1", **options).batch([text])
    return batch.texts[0], batch.tally


def test_known_words_are_looked_up():
    """A text's words become their numbers, folded, and its gaps stay."""
    cut = lexer().lex("  The, FOOD!")
    assert cut.gaps == ["  ", ", ", "!"]
    assert cut.words.tolist() == [SPACE.index_of("the"), SPACE.index_of("food")]
    assert cut.unknown_count == 0


def test_an_unknown_word_is_drawn_as_the_public_word():
    """With draw, an unknown word is read as the space's public word and counted as unknown."""
    cut = lexer().lex("the zork food")
    assert cut.words.tolist() == [SPACE.index_of(word) for word in ("the", SPACE.unknown_word, "food")]
    assert cut.unknown_count == 1
    assert cut.unknown_positions.tolist() == [1]


def test_all_unknown_words_are_one_input():
    """Two texts that differ only in their unknown words are the same to the mechanism."""
    first, second = (lexer().lex(f"the {word} food") for word in ("zork", "✓✓"))
    assert first.words.tolist() == second.words.tolist()
    assert first.gaps == second.gaps


def test_mask_writes_a_mask():
    """With mask, unknown words are written [unknown] and are not drawn."""
    assert written(lexer("mask"), "Zork, the zork.", "paris") == "[unknown], paris [unknown]."


def test_drop_leaves_unknown_words_out():
    """With drop, unknown words go with the white space before them."""
    assert written(lexer("drop"), "the zork, food zork", "paris", "tokyo") == "paris, tokyo"


def test_drop_can_leave_nothing():
    """A text of unknown words alone is dropped to nothing."""
    assert written(lexer("drop"), "zork") == ""


def test_kept_words_pass_as_they_are():
    """Public words stand where they stood, capitals included, whatever becomes of the others."""
    assert written(lexer(keep=["London", "zork"]), "The LONDON zork food", "paris", "dog") == "paris LONDON zork dog"


def test_a_kept_unknown_word_is_not_counted_as_unknown():
    """Keeping goes before looking up."""
    assert lexer("mask", keep=["zork"]).lex("zork blarg").unknown_count == 1


@given(texts, st.sampled_from(["draw", "mask", "drop"]), st.sampled_from(["lower", "copy"]))
def test_all_kept_text_is_identical(text, unknown, case):
    """A text whose every word is kept comes back as it is."""
    keep = spellings(text)
    assume(all(split_words(word) == ["", word, ""] for word in keep))  # a lone 's is no word
    cutter = lexer(unknown, case, keep)
    assert cutter.rebuild_text(cutter.lex(text), []) == text


@pytest.mark.parametrize("unknown", ["draw", "mask", "drop"])
def test_invisible_characters_do_not_pass_with_a_kept_word(unknown):
    """A kept word with invisible characters, which could carry a message, is a word like any other."""
    tagged = "london" + "".join(chr(0xE0000 + ord(letter)) for letter in "secret")
    out = written(lexer(unknown, keep=["london"]), f"{tagged} lon\u200bdon london", "paris", "food")
    assert out == "paris food london"


@pytest.mark.parametrize(
    ("text", "copied"),
    [("food", "paris"), ("Food", "Paris"), ("FOOD", "PARIS"), ("fOOD", "paris"), ("F", "Paris"), ("✓", "paris")],
)
def test_case_copy(text, copied):
    """With copy, a first capital and full capitals are copied; with lower, none is."""
    assert written(lexer(case="copy"), text, "paris") == copied
    assert written(lexer(case="lower"), text, "paris") == "paris"


def test_a_contraction_is_two_words():
    """don't is read as do|n't, and a contraction's second part is written without a space."""
    cutter = lexer(space=CONTRACTIONS)
    cut = cutter.lex("don't it's")
    assert [CONTRACTIONS.words[number] for number in cut.words] == ["do", "n't", "it", "'s"]
    assert cutter.rebuild_text(cut, cut.words.tolist()) == "don't it's"


def test_touching_words_are_written_apart():
    """Where two words touched and the second is no contraction now, a space comes between."""
    cutter = lexer(space=CONTRACTIONS)
    assert written(cutter, "don't", "the", "food") == "the food"
    assert written(cutter, "do✓it", "the", "food", "do") == "the food do"
    assert written(cutter, "do✓it", "the", "'s", "do") == "the's do"


@pytest.mark.parametrize("word", ["the", "food"])
def test_a_word_drawn_for_a_contraction_keeps_apart_from_a_kept_word(word):
    """A kept word and the word drawn for its contraction do not become one word."""
    cutter = lexer(space=CONTRACTIONS, keep=["london"])
    assert spellings(written(cutter, "London's", word)) == ["London", word]


def test_words_do_not_join_where_one_was_dropped():
    """A dropped word between two that touched it leaves them apart."""
    cutter = lexer("drop", keep=["london", "paris"])
    assert spellings(written(cutter, "london✓food", "dog")) == ["london", "dog"]
    assert spellings(written(cutter, "food✓london", "dog")) == ["dog", "london"]
    assert spellings(written(cutter, "london✓paris")) == ["london", "paris"]
    assert spellings(written(cutter, "food✓dog", "dog", "food")) == ["dog", "food"]


@given(
    st.lists(
        st.sampled_from([*WORDS, "zork", "don't", "cat's", "✓", "日本", "1,000"]) | st.sampled_from(" ,.\n"),
        max_size=20,
    )
)
def test_number_of_words_stays(pieces):
    """The output of draw has as many words as the input, where the space has plain words only."""
    text = "".join(pieces)
    out, tally = released(text)
    assert len(spellings(out)) == len(spellings(text)) == tally.words
    assert set(spellings(out)) <= set(WORDS)


@given(
    texts,
    st.sampled_from(["draw", "mask", "drop"]),
    st.sampled_from(["lower", "copy"]),
    st.sets(st.sampled_from(WORDS)),
)
def test_any_text_is_counted(text, unknown, case, keep):
    """Kept, drawn and unknown words add up to the words of any text, and nothing crashes."""
    cutter = lexer(unknown, case, keep)
    cut = cutter.lex(text)
    found = [fold_word(word) for word in spellings(text)]
    kept = [word for word in found if word in keep]
    strange = [word for word in found if word not in SPACE.index_by_word]
    assert cut.unknown_count == len(strange)
    assert len(cut.words) == len(found) - len(kept) - (len(strange) if unknown != "draw" else 0)
    assert len(cut.gaps) == len(cut.words) + 1
    out, tally = released(text, unknown=unknown, case=case, keep=keep)
    assert (tally.words, tally.unknown) == (len(cut.words) + cut.kept_count, cut.unknown_count)
    assert tally.changed <= tally.words
    if unknown == "draw" and not keep:
        assert not set(out) - set(text) - set("".join(WORDS)) - set("".join(WORDS).upper()) - {" "}


@given(texts)
def test_no_private_word_passes(text):
    """Without kept words only gaps pass through: no word, symbol or invisible character."""
    out = written(lexer(), text, *["the"] * len(spellings(text)))
    assert spellings(out.replace("the", " ")) == []
    assert out.count("the") == len(spellings(text))


def test_changed_words_are_counted():
    """A word counts as changed where it differs from the private one, and every word drawn for an unknown one does."""
    always = SPACE.index_of(SPACE.unknown_word)

    class FixedOutput(Simulation):
        def draw(self, points, streams, workers=None):
            del streams, workers
            return np.full_like(points, SPACE.point_by_word[always])

    class Fixed(TEM):
        def build_law(self):
            return SimulatedLaw(self.space, FixedOutput())

    _, tally = released(f"{SPACE.unknown_word} zork {WORDS[0]}", Fixed(SPACE, epsilon=1.0))
    assert (tally.words, tally.changed, tally.unknown) == (3, 2, 1)


def test_empty_text():
    """The empty text and white space come back as they are."""
    for text in ("", " \n\t "):
        out, tally = released(text)
        assert out == text
        assert tally.words == 0


def test_a_long_text():
    """A text of a megabyte keeps its number of words."""
    text = "The food, in london; don't ✓ " * 35_000
    assert len(text) > 1_000_000
    out, tally = released(text)
    assert tally.words == len(spellings(text)) == len(spellings(out)) == 7 * 35_000


@pytest.mark.parametrize("piece", ["1.", "1.1", "1:1é", "a'", "n't", "'s", "n'", "\x02'", "'", "✓"])
def test_cutting_takes_linear_time(piece):
    """No text of a hundred thousand characters makes the tokenizer crawl."""
    text = piece * (100_000 // len(piece)) + "x"
    start = time.perf_counter()
    assert "".join(split_words(text)) == text
    assert time.perf_counter() - start < 2


def test_remembered_spellings_are_bounded(monkeypatch):
    """The memory of spellings is cleared when full, and what it says does not change."""
    monkeypatch.setattr("deniable.text.tokens.MAX_CACHED_SPELLINGS", 3)
    cutter = lexer("mask")
    first = [cutter.lex(f"{word} zork{word}").words.tolist() for word in WORDS]
    assert len(cutter._number_of_spelling) <= 3
    assert first == [[SPACE.index_of(word)] for word in WORDS]
