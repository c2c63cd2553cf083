"""Texts as word numbers, and sets of substitutes: what is read, what is left out, and files that are no sets."""

import gzip
import json
import lzma

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from tests.refusals import refuses

tokenize, read_sets = dn.texts.tokenize_texts, dn.texts.read_substitutions


@settings(max_examples=30)
@given(st.lists(st.lists(st.sampled_from(["good", "film", "plot"]))), st.data())
def test_texts_end_to_end_give_back_each_text(words_space, lines, data):
    """Whatever the texts, empty ones among them, each comes back, alone, in a loop and by rows, with what is beside."""
    found = tokenize(words_space, [" ".join(line) for line in lines])
    expected = [[words_space.index_of(word) for word in line] for line in lines]
    assert [words.tolist() for words in found.texts] == expected
    assert found.texts.lengths.tolist() == [len(words) for words in expected]
    rows = np.array(data.draw(st.lists(st.integers(0, max(len(lines) - 1, 0)), max_size=5 if lines else 0)), int)
    held = dn.texts.Documents(found.texts, np.arange(len(lines)), ("x",), found.texts.take(np.arange(len(lines))[::-1]))
    taken = held.take(rows)
    assert [words.tolist() for words in taken.texts] == [expected[row] for row in rows]
    assert [words.tolist() for words in taken.premises] == [expected[-1 - row] for row in rows]
    assert (len(taken), taken.labels.tolist()) == (len(rows), rows.tolist())


def test_words_are_looked_up_folded_and_written_back(words_space):
    """Unknown words have no number and are counted; what stands between words stays where others take their places."""
    found = tokenize(words_space, ["The FILM was, qzx, Good!", "bad"])
    assert [words_space.words[number] for number in found.texts[0]] == ["the", "film", "was", "good"]
    assert found.unknown_count == 1
    assert found.replace_words(0, [None, "movie", None, "fine"]) == "The movie was, qzx, fine!"
    assert found.replace_words(1, ["awful"]) == "awful"
    taken = tokenize(words_space, ["zork good", "bad", "The FILM, blah"]).take(np.array([2, 0]))
    assert taken.unknown_count == 2
    assert taken.replace_words(0, ["a", "plot"]) == "a plot, blah"
    assert taken.replace_words(1, ["fine"]) == "zork fine"


@pytest.mark.parametrize("text", [None, "", "  \n", "qzx qzy"])
def test_a_text_without_known_words_has_none(words_space, text):
    """A row without a text, or without a word that the space knows, has no words, and the others keep theirs."""
    found = tokenize(words_space, ["good", text, "bad film"])
    assert found.texts.lengths.tolist() == [1, 0, 2]
    assert found.unknown_count == (2 if text == "qzx qzy" else 0)


def words_of(space, sets, word):
    return [space.words[number] for number in sets.choices_of(space.index_of(word))]


def test_a_word_comes_first_among_its_choices(words_space, word_sets):
    """The choices of a word are itself and its substitutes, whose own are no choices; doubles and case do not count."""
    assert words_of(words_space, word_sets, "good") == ["good", "great", "fine"]
    assert words_of(words_space, word_sets, "plot") == ["plot"]
    assert words_of(words_space, word_sets, "great") == ["great"]
    assert word_sets.choice_counts[words_space.index_of("good")] == 3
    assert word_sets.choice_counts.sum() == len(words_space) + 6
    given = {"Good": ["GREAT", "great", "good", "qzx"], "qzy": ["bad", "poor"]}
    sets = dn.texts.build_substitutions(words_space, given, "odd")
    assert words_of(words_space, sets, "good") == ["good", "great"]
    assert "3 of 6" in sets.notes[0]


PACKED = {"": bytes, ".xz": lzma.compress, ".gz": gzip.compress}


@pytest.mark.parametrize("ending", PACKED)
def test_files_are_read_compressed_or_not(words_space, tmp_path, ending):
    """Plain, xz and gzip files give the same sets, named by file and digest; one that expands is not read."""
    path = tmp_path / f"sets.json{ending}"
    path.write_bytes(PACKED[ending](json.dumps({"film": ["movie"]}).encode()))
    sets = read_sets(path, words_space)
    assert words_of(words_space, sets, "film") == ["film", "movie"]
    assert sets.name.startswith(f"sets.json{ending} (")
    if ending:
        path.write_bytes(PACKED[ending](b'{"film": ["movie"]' + b" " * 8_000_000 + b"}"))
        with refuses("expands"):
            read_sets(path, words_space)


@pytest.mark.parametrize(
    ("content", "value"),
    [
        (b"", "not valid JSON"),
        (b"\xff\xfe", "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b"[]", "list"),
        (b"{}", "dict"),
        (b'{"film": "movie"}', "'movie' for 'film'"),
        (b'{"film": [1]}', "[1] for 'film'"),
        (b'{"qzx": ["qzy"]}', "other substitutions"),
        (b'{"film": ["qzy"], "good": []}', "other substitutions"),
    ],
)
def test_files_that_are_no_sets(words_space, tmp_path, content, value):
    """Whatever a file holds instead of word sets, a cut archive and a missing file are named in one line."""
    path, packed = tmp_path / "sets.json", tmp_path / "sets.json.xz"
    path.write_bytes(content)
    packed.write_bytes(lzma.compress(b'{"film": ["movie"]}')[:-8])
    for place, expected in ((path, value), (packed, "not valid JSON"), (tmp_path / "none", "No such file")):
        with refuses(expected):
            read_sets(place, words_space)
