import gzip
import json
import lzma

import numpy as np
import pytest
from scipy import stats

from deniable.core.errors import InputError
from deniable.models.text.substitutions import (
    Substitutions,
    build_substitutions,
    read_substitute_lists,
    read_substitutions,
)


def words_of(space, sets, word):
    return [space.words[number] for number in sets.choices_of(space.index_of(word))]


def test_a_word_comes_first_among_its_choices(words_space, word_sets):
    """The choices of a word are itself and its substitutes; a word without any has itself alone."""
    assert words_of(words_space, word_sets, "good") == ["good", "great", "fine"]
    assert words_of(words_space, word_sets, "plot") == ["plot"]
    assert word_sets.choice_counts[words_space.index_of("good")] == 3
    assert word_sets.choice_counts.sum() == len(words_space) + 6


def test_choices_are_not_followed_further(words_space, word_sets):
    """A substitute's own substitutes are no choices, and sets need not be symmetric."""
    assert words_of(words_space, word_sets, "great") == ["great"]


def test_words_repeated_unknown_or_in_capitals(words_space):
    """Doubles and the word itself count once, folded; what the space lacks is left out and said."""
    given = {"Good": ["GREAT", "great", "good", "qzx"], "qzy": ["bad", "poor"]}
    sets = build_substitutions(words_space, given, "odd")
    assert words_of(words_space, sets, "good") == ["good", "great"]
    assert sets.notes == ("3 of 6 substitutes have no vector, or their word has none, and were left out",)


@pytest.mark.parametrize(("ending", "packed"), [("", bytes), (".xz", lzma.compress), (".gz", gzip.compress)])
def test_files_are_read_compressed_or_not(words_space, tmp_path, ending, packed):
    """Plain, xz and gzip files give the same sets, named by file and digest."""
    path = tmp_path / f"sets.json{ending}"
    path.write_bytes(packed(json.dumps({"film": ["movie"]}).encode()))
    sets = read_substitutions(path, words_space)
    assert words_of(words_space, sets, "film") == ["film", "movie"]
    assert sets.name.startswith(f"sets.json{ending} (")


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "are not valid JSON"),
        (b"\xff\xfe", "are not valid JSON"),
        (b"[" * 100_000, "are not valid JSON"),
        (b"[]", "Got list"),
        (b"{}", "Got dict"),
        (b'{"film": "movie"}', "Got 'movie' for 'film'"),
        (b'{"film": [1]}', r"Got \[1\] for 'film'"),
        (b'{"qzx": ["qzy"]}', "together with a substitute: choose other substitutions"),
        (b'{"film": ["qzy"], "good": []}', "together with a substitute: choose other substitutions"),
    ],
)
def test_a_malformed_file_is_one_clear_line(words_space, tmp_path, content, what):
    """Whatever a file holds instead of word sets is named in one line."""
    path = tmp_path / "sets.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=what) as caught:
        read_substitutions(path, words_space)
    assert "\n" not in str(caught.value)


def test_damaged_or_missing_files(words_space, tmp_path):
    """A cut archive and a missing file are named."""
    path = tmp_path / "sets.json.xz"
    path.write_bytes(lzma.compress(b'{"film": ["movie"]}')[:-8])
    with pytest.raises(InputError, match="are not valid JSON"):
        read_substitutions(path, words_space)
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_substitutions(tmp_path / "none.json", words_space)


def test_thinned_sets_keep_a_share(word_sets):
    """A thinned set is a subset, the word itself in front; all are kept at 1, and none at 0."""
    coins = np.random.default_rng(0)
    own = np.arange(20_000, dtype=np.int32)[:, None]
    large = Substitutions("large", np.hstack([*((own + step) % 20_000 for step in range(4)), own]))
    for share in (0.0, 0.3, 1.0):
        found = large.thin(share, coins)
        kept = found.choice_counts - 1
        assert stats.binomtest(int(kept.sum()), 60_000, share).pvalue > 1e-6
        assert (found.choices[:, 0] == own[:, 0]).all()
        assert all(set(found.choices_of(word)) <= set(large.choices_of(word)) for word in range(100))
        assert all(len(found.choices_of(word)) == 1 + kept[word] for word in range(100))
    np.testing.assert_array_equal(word_sets.thin(1.0, coins).choice_counts, word_sets.choice_counts)


@pytest.mark.parametrize(("ending", "packed"), [(".xz", lzma.compress), (".gz", gzip.compress)])
def test_files_that_expand(tmp_path, ending, packed):
    """A file of some kilobytes is not read as eight megabytes."""
    path = tmp_path / f"sets.json{ending}"
    path.write_bytes(packed(b'{"a": ["b"]' + b" " * 8_000_000 + b"}"))
    with pytest.raises(InputError, match="expands to more than such files do"):
        read_substitute_lists(path)
