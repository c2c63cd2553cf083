"""The two halves of the lexer: for every text and option they give the same words, counts and bytes."""

import functools
import itertools
import os
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deniable import TEM, Release, Space
from deniable.text import release as release_module
from deniable.text import spellings
from deniable.text.compiled_lexer import CompiledLexer
from deniable.text.encoded import EncodedTexts
from deniable.text.tokens import Lexer
from tests.text.helpers import ODD_PIECES, WORDS

FIELDS = ("words", "offsets", "unknown_mask", "kept_counts")
SPELLED = [*WORDS[:4], "n't", "'s", "k", "555", "é"]
VECTORS = np.random.default_rng(3).normal(size=(len(SPELLED), 3))
SPACES = {
    "plain": Space(SPELLED, VECTORS),
    "whole": Space(SPELLED, VECTORS, hide=["places", "numbers"]),
}
KEPT = {
    "none": (),
    "ascii": ("The", "zork", "unknown", "n't", "t", "1"),
    "others": ("é", "\u212a", "and", "日本", "'s"),
    "kelvin": ("The", "\u212a"),
}
PIECES = [*SPELLED, *ODD_PIECES, *"[]K\u212aİ1.-' ", " ", "\n", "\u3000", "\x85", ", ", "[unknown]", "a@b.com", "x.com"]
PIECES += ["The", "AND", "London", "É", "Zork", "zork", "unknown", "do", "don't", "'S", "1.5"]
texts = st.lists(st.sampled_from(PIECES) | st.text(st.characters(codec=None), max_size=3), max_size=14).map("".join)


def make_halves(space, unknown, case, keep):
    """Return both halves of a lexer."""
    lexer = Lexer(space, unknown, case, keep)
    return lexer, CompiledLexer(lexer)


OPTIONS = list(itertools.product(SPACES, ("draw", "mask", "drop"), ("lower", "copy"), KEPT))


@functools.cache
def get_halves(name, unknown, case, kept):
    """Return both halves, the same in every test."""
    return make_halves(SPACES[name], unknown, case, KEPT[kept])


def check_equality(lexer, compiled, strings, seed):
    """Compare everything that the two halves make of texts."""
    expected, found = lexer.lex_texts(strings), compiled.lex_texts(EncodedTexts.of(strings))
    for field in FIELDS:
        np.testing.assert_array_equal(getattr(found, field), getattr(expected, field), strict=True)
    assert found.unknown_count == expected.unknown_count
    outputs = np.random.default_rng(seed).integers(len(lexer.space), size=len(expected.words)).astype(np.int32)
    for words in (outputs, expected.words):
        assert found.rebuild_texts(words).decode_all() == expected.rebuild_texts(words)


@pytest.mark.parametrize("options", OPTIONS, ids="-".join)
@given(strings=st.lists(texts, min_size=1, max_size=12), seed=st.integers(0, 9))
@example(strings=["", "zork zork  the zork", "don't zork n't", "[unknown]the ✓THE", "É\u212aK k"], seed=1)
@settings(max_examples=15)
def test_both_halves_agree(options, strings, seed):
    """Whatever texts are made of, and under every option, words, counts and written texts are the same."""
    check_equality(*get_halves(*options), strings, seed)


@pytest.mark.parametrize("options", [("plain", "draw", "lower", "none"), ("whole", "drop", "copy", "ascii")])
def test_both_halves_agree_on_all_characters(options):
    """Every code point, between spaces and inside words, is handled alike."""
    codes = np.random.default_rng(0).permutation(0x110000)[:6000].tolist()
    strings = [form.format(chr(code)) for code in codes for form in ("the {0} x{0}", "{0}the{0}{0}Zork")]
    check_equality(*get_halves(*options), strings, 0)


def test_parts_and_threads_do_not_show(monkeypatch):
    """Texts that go through in many parts, on several threads, give what they give in one."""
    monkeypatch.setattr("deniable.text.compiled_lexer.PART_BYTES", 300)
    lexer, _ = get_halves("whole", "mask", "copy", "ascii")
    generator = np.random.default_rng(4)
    strings = ["".join(generator.choice(PIECES, size=generator.integers(40))) for _ in range(300)]
    for _ in range(2):
        check_equality(lexer, CompiledLexer(lexer), strings, 2)


def test_spellings_are_forgotten_in_time(monkeypatch):
    """A lexer that has met too many spellings begins anew, and still gives the same texts."""
    monkeypatch.setattr("deniable.text.compiled_lexer.MAX_CACHED_SPELLINGS", 20)
    lexer = Lexer(SPACES["plain"], "draw", "lower", ())
    compiled = CompiledLexer(lexer)
    for start in range(0, 90, 30):
        check_equality(
            lexer, compiled, [f"zork{place} the" for place in map(chr, range(0x4E00 + start, 0x4E20 + start))], 0
        )
    assert len(compiled._spellings) < 20 + 64


def test_an_interrupted_batch_leaves_no_trace(monkeypatch):
    """Where what becomes of new spellings could not be found, the next batch finds it."""
    lexer = Lexer(SPACES["plain"], "draw", "lower", ())
    compiled = CompiledLexer(lexer)
    with monkeypatch.context() as patched:
        patched.setattr(lexer, "number_spelling", lambda _: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            compiled.lex_texts(EncodedTexts.of(["zork the"]))
    check_equality(lexer, compiled, ["zork the and", "blarg"], 0)
    check_equality(lexer, compiled, [], 0)


def test_an_interrupt_in_compiled_code_leaves_no_trace(monkeypatch):
    """Where Ctrl-C came while spellings were put into the table, so that they are not counted, it begins anew."""
    lexer = Lexer(SPACES["plain"], "draw", "lower", ())
    compiled = CompiledLexer(lexer)
    look_up = spellings._look_up

    def interrupt(*arguments, is_adding):
        look_up(*arguments, is_adding)
        if is_adding:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(spellings, "_look_up", interrupt)
        with pytest.raises(KeyboardInterrupt):
            compiled.lex_texts(EncodedTexts.of(["zork blarg"]))
    check_equality(lexer, compiled, ["blarg the and", "zork"], 0)


@pytest.mark.parametrize("unescape", [None, "html"])
def test_a_release_gives_one_text_by_either_half(unescape, monkeypatch):
    """A release under a key gives the same texts and counts by compiled loops and without them."""
    generator = np.random.default_rng(5)
    strings = ["".join(generator.choice([*PIECES, "&amp;", "<br />"], size=30)) for _ in range(200)]
    ids = [str(row) for row in range(len(strings))]
    batches = []
    for least in (1, 1 << 40):
        monkeypatch.setattr(release_module, "MIN_COMPILED_CHARACTERS", least)
        monkeypatch.setattr(release_module, "MIN_COMPILED_LATER", least)
        mechanism = TEM(SPACES["whole"], epsilon=2.0)
        batches.append(
            Release(mechanism, key="seed:1", case="copy", unknown="mask", unescape=unescape).batch(strings, ids)
        )
    assert batches[0] == batches[1]


@pytest.mark.parametrize("words", [100, 100_000])
def test_few_texts_do_not_wait_for_compiled_loops(words, monkeypatch):
    """The compiled half is loaded for much text alone, and from then on serves shorter batches too."""
    loaded = []
    get_half = functools.lru_cache(maxsize=1)(lambda lexer: loaded.append(lexer) or CompiledLexer(lexer))
    monkeypatch.setattr(release_module, "_get_compiled_lexer", get_half)
    release = Release(TEM(SPACES["plain"], epsilon=2.0), key="seed:1")
    short = release.batch(["the and"] * 3000, range(3000))
    assert not loaded
    release.batch(["london " * words], ["0"])
    assert len(loaded) == (words > 100)
    assert release.batch(["the and"] * 3000, range(3000)) == short
    assert get_half.cache_info().hits == (words > 100)


def test_reviews_are_split_alike():
    """Fifty thousand reviews come out the same, in both grammars."""
    folder = os.environ.get("DENIABLE_TEST_DATA")
    if folder is None:
        pytest.skip("DENIABLE_TEST_DATA names no folder with imdb_train.parquet and imdb_test.parquet")
    for hide in ((), ("names", "places", "numbers")):
        lexer, compiled = make_halves(Space.glove(hide=hide), "draw", "lower", ())
        for part in ("train", "test"):
            reviews = pq.read_table(Path(folder) / f"imdb_{part}.parquet")["text"].to_pylist()
            check_equality(lexer, compiled, reviews, 0)
