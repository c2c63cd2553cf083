"""How frequent words are: Zipf's law, counts in memory, and files of public counts."""

import codecs
import math
from collections import Counter

import numpy as np
import pytest

import deniable as dn
from deniable.words.prior import Prior, build_prior, compute_zipf_prior, read_prior


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


def test_default_prior_is_zipf(small_space):
    """Where no prior is given words follow 1 / rank, and the prior says so."""
    prior = build_prior(small_space)
    np.testing.assert_allclose(prior.weights[0] / prior.weights, np.arange(1, 61))
    assert prior.name == "Zipf's law by the space's ranks"
    assert prior.blind_success == prior.weights[0]
    assert prior.is_public


def test_counts_by_word(small_space):
    """Counts by word are folded, added up and normalised; words that the space lacks are left out."""
    prior = build_prior(small_space, Counter({"BARAN": 2, "baran": 1, "supen": 1, "nonesuch": 100}))
    assert shares(prior, small_space) == {"baran": 0.75, "supen": 0.25}


def test_counts_in_the_order_of_the_words(small_space):
    """One number for each word, of any kind of sequence, is normalised."""
    counts = list(range(60))
    expected = np.arange(60) / 1770
    for given in (counts, tuple(counts), np.array(counts), np.array(counts, dtype=np.float32)):
        np.testing.assert_allclose(build_prior(small_space, given).weights, expected, rtol=1e-15)


def test_a_prior_stays_itself_and_fits_its_space(small_space, twin_space):
    """A prior is taken as it is, and refused for a space of another size."""
    prior = build_prior(small_space, {"baran": 1}, "mine")
    assert build_prior(small_space, prior) is prior
    assert prior.name == "mine"
    with pytest.raises(dn.InputError, match="one number for each of 12 words"):
        build_prior(twin_space, prior)


@pytest.mark.parametrize("separator", ["\t", " ", ",", ", ", "  \t ", " , "])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_files_of_counts(counts, small_space, separator, end):
    """A word and its count stand on a line, whatever lies between; counts of equal words add, and blank lines pass."""
    rows = [("BARAN", "2"), ("supen", "1.5"), ("baran", "1e0"), ("", "")]
    path = counts(codecs.BOM_UTF8 + end.join(separator.join(row) if row[0] else "" for row in rows).encode())
    prior = read_prior(path, small_space)
    assert shares(prior, small_space) == {"baran": pytest.approx(2 / 3), "supen": pytest.approx(1 / 3)}
    assert prior.name == "the counts of 'counts.txt'"
    assert prior.notes == ()


def test_quoted_cells(counts, small_space):
    """Cells may stand in quotes, as csv writers put them."""
    prior = read_prior(counts('"baran","3"\n"supen","1"\n'), small_space)
    assert shares(prior, small_space) == {"baran": 0.75, "supen": 0.25}


def test_what_is_left_out_is_counted_and_named(counts, small_space):
    """Words that the space lacks and lines without a count are left out, counted and named; the rest is used."""
    strangers = "".join(f"stranger{number} 5\n" for number in range(7))
    wrong = "alone\nbaran -1\nbaran nan\nbaran inf\nbaran many\n7\n,3\n"
    prior = read_prior(counts(f"word,count\nbaran 4\n{strangers}{wrong}"), small_space)
    assert shares(prior, small_space) == {"baran": 1.0}
    assert prior.notes == (
        "stranger0, stranger1, stranger2, stranger3, stranger4 and 2 more not in the vocabulary, left out",
        "no word and count of at least 0 in line 1, 10, 11, 12, 13 and 3 more, left out",
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "has no usable counts (none above 0 for a word of"),
        (b"nonesuch 4\n", "has no usable counts (none above 0 for a word of"),
        (b"baran 0\n", "has no usable counts (none above 0 for a word of"),
        (b"baran 1e308\nbaran 1e308\n", "has no usable counts (their sum is not finite)"),
        (b"baran 1e308\nsupen 1e308\n", "has no usable counts (their sum is not finite)"),
        (b"\xff\xfeb\x00", "is not UTF-8"),
        (b"\x00\x01\x02\x00", "has no usable counts"),
        (None, "cannot be read: No such file or directory"),
        ("folder", "cannot be read: Is a directory"),
    ],
)
def test_files_that_hold_no_counts(counts, tmp_path, small_space, content, message):
    """A file that is none, or that leaves nothing to count, is refused in one line that names it."""
    path = tmp_path if content == "folder" else tmp_path / "none.txt" if content is None else counts(content)
    with pytest.raises(dn.InputError) as caught:
        read_prior(path, small_space)
    assert message in str(caught.value)
    assert repr(str(path)) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_recovery_and_kept_words_under_a_file_of_counts(counts, small_space):
    """Recovery, outcomes and kept words are those of the same counts in memory, for a law and for a simulation."""
    prior = read_prior(counts("baran 3\nsupen 1\n"), small_space)
    given = {"baran": 3, "supen": 1}
    for kind in (dn.TEM, dn.MultivariateLaplace):
        mechanism = kind(small_space, epsilon=2.0)
        assert (
            mechanism.expected_kept_share(prior)
            == mechanism.expected_kept_share(given)
            != mechanism.expected_kept_share()
        )
    assert dn.recovery(mechanism := dn.TEM(small_space, epsilon=2.0), prior) == dn.recovery(mechanism, given)
    assert mechanism.outcomes(prior) == (mechanism.expected_kept_share(prior).value, dn.recovery(mechanism, prior))


@pytest.mark.parametrize("kind", [dn.TEM, dn.MultivariateLaplace])
def test_nothing_under_a_prior_of_private_texts_is_cached(small_space, own_cache_folder, kind):
    """A cache file's name would hold a digest of private word counts: none is written."""
    mechanism = kind(small_space, epsilon=1.37)
    mechanism.expected_kept_share()
    before = set(own_cache_folder.rglob("*"))
    private = build_prior(small_space, {"baran": 17, "supen": 4}, is_public=False)
    mechanism.expected_kept_share(private)
    assert set(own_cache_folder.rglob("*")) == before
    mechanism.expected_kept_share(Prior(private.weights, "public counts"))
    assert set(own_cache_folder.rglob("*")) > before


def test_a_prior_is_never_negative_or_without_bound(small_space):
    """A prior made by hand is checked where it is used."""
    with pytest.raises(dn.InputError, match="finite counts of at least 0"):
        dn.recovery(dn.TEM(small_space, epsilon=1.0), Prior(np.full(60, math.nan), "none"))


def test_zipf_is_one_over_rank():
    """The public prior falls as one over rank and sums to 1."""
    prior = compute_zipf_prior(1000)
    assert prior.sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(prior[0] / prior, np.arange(1, 1001), rtol=1e-12)
