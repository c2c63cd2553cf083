"""Cutting texts and writing them again, with drawn words that a test chooses."""

import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deniable as dn
from tests.text.helpers import KEY, MECHANISM, ODD_PIECES, SPACE, WORDS, space_of
from tests.text.tables.helpers import few, many

CONTRACTIONS = space_of(["do", "n't", "the", "it", "'s", "food"])
PIECES = [*WORDS, "zork", "Zork", "don't", "it's", "o'clock", "1,000", "3.14", " ", "\n", ", ", ".", "-", "'", "£"]
TEXTS = st.lists(st.sampled_from([*PIECES, *ODD_PIECES]) | st.text(max_size=4), max_size=25).map("".join)
UNKNOWN, CASE = st.sampled_from(["draw", "mask", "drop"]), st.sampled_from(["lower", "copy"])
KEEP = st.sets(st.sampled_from(WORDS))


class Scripted(dn.laws.Simulation):
    """Draws the words of a list, one after the other, again and again."""

    def __init__(self, space, words):
        self.words = [space.point_by_word[space.index_of(word)] for word in words]

    def draw(self, points, streams, workers=None):
        del streams, workers
        return np.resize(np.array(self.words, dtype=points.dtype), len(points))


@functools.cache
def script(space, words):
    """Return a mechanism that draws these words."""
    law = dn.laws.SimulatedLaw(space, Scripted(space, words))
    return type("Fixed", (dn.TEM,), {"build_law": lambda _: law})(space, epsilon=1.0)


def written(text, *words, space=SPACE, **options):
    """Return a text with the given words drawn for its own, and the counts."""
    batch = dn.Release(script(space, words or ("the",)), **options).batch([text])
    return batch.texts[0], batch.tally


@pytest.mark.parametrize(
    ("text", "words", "options", "out"),
    [
        ("  The, FOOD!", ["paris", "dog"], {}, "  paris, dog!"),
        ("Zork, the zork.", ["paris"], {"unknown": "mask"}, "[unknown], paris [unknown]."),
        ("the zork, food zork", ["paris", "tokyo"], {"unknown": "drop"}, "paris, tokyo"),
        ("zork", [], {"unknown": "drop"}, ""),
        ("", [], {}, ""),
        (" \n\t ", [], {}, " \n\t "),
        ("The LONDON zork food", ["paris", "dog"], {"keep": ["London", "zork"]}, "paris LONDON zork dog"),
        ("Food FOOD fOOD F ✓", ["paris"], {"case": "copy"}, "Paris PARIS paris Paris paris"),
        ("Food FOOD fOOD F ✓", ["paris"], {}, "paris paris paris paris paris"),
        ("london✓food", ["dog"], {"keep": ["london"], "unknown": "drop"}, "london dog"),
        ("food✓london", ["dog"], {"keep": ["london"], "unknown": "drop"}, "dog london"),
        ("london✓paris", [], {"keep": ["london", "paris"], "unknown": "drop"}, "london paris"),
        ("food✓dog", ["dog", "food"], {"unknown": "drop"}, "dog food"),
        ("don't it's", ["do", "n't", "it", "'s"], {"space": CONTRACTIONS}, "don't it's"),
        ("don't", ["the", "food"], {"space": CONTRACTIONS}, "the food"),
        ("do✓it", ["the", "food", "do"], {"space": CONTRACTIONS}, "the food do"),
        ("do✓it", ["the", "'s", "do"], {"space": CONTRACTIONS}, "the's do"),
        ("London's", ["the"], {"space": CONTRACTIONS, "keep": ["london"]}, "London the"),
    ],
)
def test_what_is_written(text, words, options, out):
    """Drawn words stand where private ones stood, capitals, kept and unknown words as asked for; none become one."""
    assert written(text, *words, **options)[0] == out


def test_an_unknown_word_is_drawn_as_the_public_word():
    """All unknown words are one input, that of the public word; keeping goes before looking up."""
    release = dn.Release(MECHANISM, key=KEY)
    texts = [release.batch([f"the {word} food"] * 30, range(30)) for word in ("zork", "✓✓", SPACE.unknown_word)]
    assert texts[0].texts == texts[1].texts == texts[2].texts
    assert [one.tally.unknown for one in texts] == [30, 30, 0]
    assert written("zork blarg", unknown="mask", keep=["zork"])[1].unknown == 1


@pytest.mark.parametrize("unknown", ["draw", "mask", "drop"])
def test_invisible_characters_do_not_pass_with_a_kept_word(unknown):
    """A kept word with invisible characters, which could carry a message, is a word like any other."""
    tagged = "london" + "".join(chr(0xE0000 + ord(letter)) for letter in "secret")
    out, _ = written(f"{tagged} lon\u200bdon london", "paris", "food", unknown=unknown, keep=["london"])
    assert out == "paris food london"


@few
@given(TEXTS, UNKNOWN, CASE, KEEP)
def test_any_text_is_counted(text, unknown, case, keep):
    """Kept, drawn and unknown words add up to the words of any text; no word, symbol or invisible character passes."""
    read = written(text, "the")[1].read_words
    out, tally = written(text, "the", unknown=unknown, case=case, keep=keep)
    left_out = 0 if unknown == "draw" else tally.unknown
    assert (tally.read_words, tally.words) == (read, read - left_out)
    assert tally.changed <= tally.words
    if not keep:
        gaps = out.lower().replace("[unknown]", " ")
        assert gaps.count("the") == tally.words
        assert written(gaps.replace("the", " "), "the")[1].read_words == 0
    if unknown == "draw" and not keep:
        assert not set(out) - set(text) - set("theTHE ")


test_many_texts = many(test_any_text_is_counted, TEXTS, UNKNOWN, CASE, KEEP)


@pytest.mark.parametrize("unknown", ["draw", "mask", "drop"])
def test_all_kept_text_is_identical(unknown):
    """A text whose every word is kept comes back as it is."""
    text = "The FOOD, in London;\n zork's 1,000 don't? ..."
    keep = ["the", "food", "in", "london", "zork", "'s", "1,000", "do", "n't"]
    assert written(text, unknown=unknown, keep=keep)[0] == text


def test_a_long_text():
    """A text of a megabyte keeps its number of words."""
    text = "The food, in london; don't ✓ " * 35_000
    out = dn.Release(MECHANISM, key="seed:1").batch([text])
    assert out.tally.words == out.tally.read_words == 7 * 35_000
    assert len(out.texts[0].replace(",", "").replace(";", "").split()) == 7 * 35_000


@pytest.mark.parametrize(
    "piece", ["1.", "1.1", "1:1é", "a'", "n't", "'s", "n'", "\x02'", "'", "✓", "w.", "a.aa", "\u200b1"]
)
def test_hostile_texts_are_cut(piece):
    """A text of a hundred thousand characters that repeats what begins a word is cut; who tries all ends would hang."""
    text = piece * (100_000 // len(piece)) + "x"
    assert written(text, "the")[1].read_words >= 1


def test_many_spellings():
    """A lexer that met very many spellings begins anew, and what it says does not change."""
    release = dn.Release(MECHANISM, key="seed:1", unknown="mask")
    text = " ".join(f"{WORDS[number % 14]} zork{chr(0x4E00 + number % 20_000)}{number % 7}" for number in range(70_000))
    one, other = (release.batch([text[:length]], ["a"]) for length in (1000, len(text)))
    assert other.tally.unknown == 70_000
    assert release.batch([text[:1000]], ["a"]) == one
