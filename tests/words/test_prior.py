"""How frequent words are: Zipf's law, counts in memory, and files of public counts."""

import codecs
from collections import Counter

import numpy as np
import pytest

import deniable as dn
from tests.refusals import refuses


@pytest.fixture
def counts(tmp_path):
    """Return a function that writes a file of counts and gives its path."""

    def write(content, name="counts.txt"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def shares(prior, space):
    """Return the words with a positive probability."""
    return {space.words[number]: prior.weights[number] for number in np.flatnonzero(prior.weights)}


def test_a_prior_in_any_form(small_space):
    """None is Zipf's law; counts by word are folded and added up; any sequence of numbers, and a prior, is itself."""
    mechanism, ranks = dn.TEM(small_space, epsilon=1.0), np.arange(1, 61)
    assert dn.recovery(mechanism) == pytest.approx(dn.recovery(mechanism, 1 / ranks), rel=1e-12)
    by_word, numbers = Counter({"BARAN": 2, "baran": 1, "supen": 1, "nonesuch": 100}), np.zeros(60)
    numbers[[small_space.index_of("baran"), small_space.index_of("supen")]] = 0.75, 0.25
    expected = dn.recovery(mechanism, numbers)
    for given in (by_word, numbers.tolist(), tuple(4 * numbers), numbers.astype(np.float32), dn.Prior(numbers, "mine")):
        assert dn.recovery(mechanism, given) == pytest.approx(expected, rel=1e-12)
    assert dn.Prior(numbers, "mine").blind_success == 0.75


@pytest.mark.parametrize("separator", ["\t", " ", ", ", " , "])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_files_of_counts(counts, small_space, separator, end):
    """A word and its count stand on a line, whatever lies between, in quotes too; equal words add, blank lines pass."""
    rows = [("BARAN", "2"), ('"supen"', '"1.5"'), ("baran", "1e0"), ("", "")]
    path = counts(codecs.BOM_UTF8 + end.join(separator.join(row) if row[0] else "" for row in rows).encode())
    prior = dn.read_prior(path, small_space)
    assert shares(prior, small_space) == {"baran": pytest.approx(2 / 3), "supen": pytest.approx(1 / 3)}
    assert prior.name == "the counts of 'counts.txt'"
    assert prior.notes == ()


def test_what_is_left_out_is_counted_and_named(counts, small_space):
    """Words that the space lacks and lines without a count are left out, counted and named; the rest is used."""
    strangers = "".join(f"stranger{number} 5\n" for number in range(7))
    wrong = "alone\nbaran -1\nbaran nan\nbaran inf\nbaran many\n7\n,3\n"
    prior = dn.read_prior(counts(f"word,count\nbaran 4\n{strangers}{wrong}"), small_space)
    assert shares(prior, small_space) == {"baran": 1.0}
    words, lines = prior.notes
    assert "stranger4 and 2 more" in words
    assert "1, 10, 11, 12, 13 and 3 more" in lines


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"nonesuch 4\n",
        b"baran 0\n",
        b"baran 1e308\nbaran 1e308\n",
        b"baran 1e308\nsupen 1e308\n",
        b"\xff\xfeb\x00",
        b"\x00\x01\x02\x00",
        None,
        "folder",
    ],
)
def test_files_that_hold_no_counts(counts, tmp_path, small_space, content):
    """A file that is none, or that leaves nothing to count, is refused in one line that names it."""
    path = tmp_path if content == "folder" else tmp_path / "none.txt" if content is None else counts(content)
    with refuses(path.name):
        dn.read_prior(path, small_space)


def test_recovery_and_kept_words_under_a_file_of_counts(counts, small_space):
    """Recovery, outcomes and kept words are those of the same counts in memory, for a law and for a simulation."""
    prior = dn.read_prior(counts("baran 3\nsupen 1\n"), small_space)
    given = {"baran": 3, "supen": 1}
    for kind in (dn.TEM, dn.MultivariateLaplace):
        mechanism = kind(small_space, epsilon=2.0)
        assert (
            mechanism.expected_kept_share(prior)
            == mechanism.expected_kept_share(given)
            != mechanism.expected_kept_share()
        )
    mechanism = dn.TEM(small_space, epsilon=2.0)
    assert dn.recovery(mechanism, prior) == dn.recovery(mechanism, given)
    outcomes = mechanism.outcomes(prior)
    assert (outcomes.kept, outcomes.guessed) == (
        mechanism.expected_kept_share(prior).value,
        dn.recovery(mechanism, prior),
    )


def test_nothing_under_a_prior_of_private_texts_is_cached(small_space, own_cache_folder):
    """A cache file's name would hold a digest of private word counts: none is written."""
    mechanism = dn.TEM(small_space, epsilon=1.37)
    mechanism.expected_kept_share()
    before = set(own_cache_folder.rglob("*"))
    weights = np.arange(60.0) / 1770
    for private in (weights, {"baran": 17, "supen": 4}, dn.Prior(weights, "private counts", is_public=False)):
        mechanism.expected_kept_share(private)
    assert set(own_cache_folder.rglob("*")) == before
    mechanism.expected_kept_share(dn.Prior(weights, "public counts"))
    assert set(own_cache_folder.rglob("*")) > before
