"""The two halves of the lexer: for every text and option they give the same words, counts and bytes."""

import functools
import os
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import deniable as dn
from deniable.text import tokens
from deniable.text.compiled import lexer
from deniable.text.encoded import EncodedTexts
from deniable.text.tokens import Lexer
from tests.text.helpers import ODD_PIECES, WORDS
from tests.text.tables.helpers import few, many

SPELLED = [*WORDS[:4], "n't", "'s", "k", "555", "é"]
VECTORS = np.random.default_rng(3).normal(size=(len(SPELLED), 3))
SPACES = {"plain": dn.Space(SPELLED, VECTORS), "whole": dn.Space(SPELLED, VECTORS, hide=["places", "numbers"])}
PIECES = [*SPELLED, *ODD_PIECES, *"[]K\u212aİ1.-' ", " ", "\n", "\u3000", "\x85", ", ", "[unknown]", "a@b.com", "x.com"]
PIECES += [
    "The",
    "AND",
    "London",
    "É",
    "Zork",
    "zork",
    "unknown",
    "do",
    "don't",
    "'S",
    "1.5",
    "'ll",
    "'re",
    "www.",
    "://",
]
PIECES += [
    ".com",
    ".It",
    ".it",
    ".IT",
    ".museum",
    "\x1f",
    "\t",
    "\x0b",
    "٣",
    "５",
    "²",
    "٫",
    "－",
    "\u202f",
    *'aNt:,/@_*#&<=("`',
]
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(st.characters(codec=None), max_size=3), max_size=14).map("".join)


@functools.cache
def get_lexer(space, case):
    """Return the lexer of a release, the same in every test."""
    return Lexer(SPACES[space], "draw", case, ())


def check_equality(one, strings, seed=0):
    """Compare everything that the two halves of a lexer make of texts."""
    texts = EncodedTexts.of(strings)
    expected, found = one.lex_texts(texts), lexer.lex_compiled(one, texts)
    for field in ("words", "offsets", "unknown_mask", "kept_counts"):
        np.testing.assert_array_equal(getattr(found, field), getattr(expected, field), strict=True)
    assert found.unknown_count == expected.unknown_count
    outputs = np.random.default_rng(seed).integers(len(one.space), size=len(expected.words)).astype(np.int32)
    for words in (outputs, expected.words):
        assert found.write(words).decode_all() == expected.write(words).decode_all()


OPTIONS = st.tuples(st.sampled_from([*SPACES]), st.sampled_from(["lower", "copy"]))
BATCHES = {"options": OPTIONS, "strings": st.lists(TEXTS, min_size=1, max_size=12), "seed": st.integers(0, 9)}
ODD = [
    "",
    "zork zork  the zork",
    "don't zork n't",
    "[unknown]the ✓THE",
    "É\u212aK k",
    "do",
    "n't don't rock'n'roll I'd've",
]
ODD += ["1.2.com 1www.2 x.com.", "a\x02n't \x021:2"]


@few
@given(**BATCHES)
@example(options=("plain", "lower"), strings=ODD, seed=1)
@example(options=("whole", "copy"), strings=ODD, seed=1)
def test_both_halves_agree(options, strings, seed):
    """Whatever texts are made of, and under every option, words, counts and written texts are the same."""
    check_equality(get_lexer(*options), strings, seed)


test_many_batches = many(test_both_halves_agree, **BATCHES, count=1000)


@pytest.mark.parametrize("options", [("plain", "lower"), ("whole", "copy")])
@pytest.mark.parametrize("count", [800, pytest.param(20_000, marks=pytest.mark.deep)])
def test_both_halves_agree_on_all_characters(options, count):
    """Code points of every kind, between spaces and inside words, are handled alike."""
    codes = [*range(128), *np.random.default_rng(0).permutation(0x110000)[:count].tolist()]
    forms = ("the {0} x{0}", "{0}the{0}{0}Zork", "1{0}1 n{0}t a.{0}", "a'{0} w{0}.b 1{0}٣")
    check_equality(get_lexer(*options), [form.format(chr(code)) for code in codes for form in forms])


def test_both_halves_agree_on_domains():
    """Every end of a domain name is known in the capitals in which the grammar reads it as one."""
    ends = ["com", "org", "it", "museum", "co.uk", "io", "de", "info", "is", "in", "no", "at", "be", "me", "us", "xyz"]
    strings = [f"a.{form} b" for end in ends for form in (end, end.upper(), end.title(), end + "q")]
    check_equality(get_lexer("whole", "lower"), strings)


def test_parts_and_threads_do_not_show(monkeypatch):
    """Texts that go through in many parts, on several threads, give what they give in one."""
    monkeypatch.setattr(lexer, "PART_BYTES", 300)
    generator = np.random.default_rng(4)
    strings = ["".join(generator.choice(PIECES, size=generator.integers(40))) for _ in range(100)]
    for _ in range(2):
        check_equality(get_lexer("whole", "copy"), strings)


def test_very_many_spellings(monkeypatch):
    """Where more spellings come than are remembered, some of them long, and where there is no text."""
    monkeypatch.setattr(tokens, "MAX_CACHED_SPELLINGS", 20)
    one = Lexer(SPACES["plain"], "draw", "lower", ())
    many_words = [f"word{place}" * (1 + 500 * (place % 7000 == 0)) for place in range(20_000)]
    check_equality(one, [" ".join(many_words), "the zork"])
    check_equality(one, [])


def test_a_release_gives_one_text_by_either_half():
    """Under a key a text is the same in a small batch and in one that is large enough for compiled loops."""
    release = dn.Release(dn.TEM(SPACES["whole"], epsilon=2.0), key="seed:1", case="copy", unescape="html")
    generator = np.random.default_rng(5)
    strings = ["".join(generator.choice([*PIECES, "&amp;", "<br />"], size=30)) for _ in range(50)]
    small = release.batch(strings, range(50))
    large = release.batch([*strings, *["the zork and food "] * 20_000], range(20_050))
    assert large.texts[:50] == small.texts == release.batch(strings, range(50)).texts


def test_reviews_are_split_alike():
    """Fifty thousand reviews come out the same, in both grammars."""
    folder = os.environ.get("DENIABLE_TEST_DATA")
    if folder is None:
        pytest.skip("DENIABLE_TEST_DATA names no folder with imdb_train.parquet and imdb_test.parquet")
    for hide in ((), ("names", "places", "numbers")):
        one = Lexer(dn.Space.glove(hide=hide), "draw", "lower", ())
        for part in ("train", "test"):
            check_equality(one, pq.read_table(Path(folder) / f"imdb_{part}.parquet")["text"].to_pylist())
