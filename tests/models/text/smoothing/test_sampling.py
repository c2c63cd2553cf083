"""Votes over noisy texts: their law, what they depend on, and what is refused."""

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.core.randomness import Streams, derive_key_from_seed
from deniable.models.text.documents import concatenate_texts
from deniable.models.text.smoothing import sampling
from deniable.models.text.smoothing.sampling import count_votes, draw_noisy_versions
from tests.models.text.smoothing.toy import chances, mean_scorer, tables

KEY = derive_key_from_seed(1)
DRAWS = {"selection": 50, "estimation": 5000}


@pytest.fixture(scope="module")
def table():
    """Return scores (60, 3) of words."""
    return np.random.default_rng(5).normal(size=(60, 3))


def counted(found):
    """Return the votes of each purpose as lists."""
    return {purpose: [one.votes.tolist() for one in held] for purpose, held in found.items()}


@pytest.mark.parametrize("kind", [dn.TEM, dn.CalibratedExponential, dn.TightExponential])
def test_votes_have_the_law_of_the_tables(small_space, table, kind):
    """Votes fit the chances that follow from the integer tables, by a chi-square test, for every text of some."""
    subject = kind(small_space, epsilon=2.0)
    exact = chances(subject, table, 2)
    held = concatenate_texts([[3, 3], [10, 41], [59, 0], [7, 22]])
    for text, tally in zip(
        held, count_votes(subject, mean_scorer(table), held, DRAWS, key=KEY)["estimation"], strict=True
    ):
        assert tally.draws == tally.votes.sum() == 5000
        assert stats.chisquare(tally.votes, 5000 * exact[tuple(text)]).pvalue > 1e-6


def test_simulated_mechanisms_vote_too(small_space, table):
    """A mechanism without tables is sampled by its own draws, with the votes that its draws of words give."""
    subject = dn.MultivariateLaplace(small_space, epsilon=2.0)
    tally = count_votes(subject, mean_scorer(table), concatenate_texts([[3]]), {"estimation": 20_000}, key=KEY)[
        "estimation"
    ][0]
    drawn = subject.sample([small_space.words[3]] * 20_000)
    expected = np.bincount(table[[small_space.index_of(word) for word in drawn]].argmax(axis=1), minlength=3)
    assert stats.chi2_contingency([tally.votes, expected]).pvalue > 1e-6


def test_purposes_are_independent(small_space):
    """Draws that choose and draws that estimate do not repeat each other, and another key gives others."""
    subject, seen = dn.TEM(small_space, epsilon=0.5), []

    def watched(held, rows):
        seen.append(held.words.copy())
        return np.zeros((len(rows), 2), dtype=np.float32)

    text = concatenate_texts([[1, 2, 3, 4, 5, 6]])
    for key in (KEY, derive_key_from_seed(2)):
        count_votes(subject, watched, text, {"selection": 100, "estimation": 100}, key=key)
    (first, again) = (one.reshape(2, 100, 6) for one in seen)
    for one, other in ((first[0], first[1]), (first[0], again[0]), (first[1], again[1])):
        assert (one == other).mean() < 0.2


@pytest.mark.parametrize("workers", [1, 2])
def test_votes_do_not_depend_on_batches(small_space, table, monkeypatch, workers):
    """Windows, calls of the classifier, threads and the other texts change nothing."""
    subject, scorer = dn.TEM(small_space, epsilon=1.0), mean_scorer(table)
    held = concatenate_texts([[3, 3, 9], [10], [59, 0], [10]])
    draws = {"selection": 50, "estimation": 9000}
    whole = count_votes(subject, scorer, held, draws, key=KEY)
    monkeypatch.setattr(sampling, "_WORDS_PER_WINDOW", 1000)
    monkeypatch.setattr(sampling, "_TEXTS_PER_CALL", 7)
    some = count_votes(subject, scorer, held.take(np.array([2, 1])), draws, key=KEY, workers=workers)
    for purpose, found in counted(some).items():
        assert found == [counted(whole)[purpose][row] for row in (2, 1)]
    assert counted(whole)["estimation"][1] == counted(whole)["estimation"][3]


def test_more_draws_begin_with_the_fewer(small_space, table):
    """What is drawn first does not depend on how much is drawn after it."""
    subject = dn.TEM(small_space, epsilon=1.0)
    seen = []

    def watched(held, rows):
        seen.append(held.words.copy())
        return mean_scorer(table)(held, rows)

    for draws in (4096, 5000):
        count_votes(subject, watched, concatenate_texts([[3, 9]]), {"estimation": draws}, key=KEY)
    np.testing.assert_array_equal(np.concatenate(seen[2:])[: 2 * 4096], np.concatenate(seen[:2]))


def test_rows_say_whose_versions_they_are(small_space):
    """The classifier is told for every version the number of its text, whose length it has."""
    lengths = [3, 1, 5]
    held = concatenate_texts([np.arange(length) for length in lengths])
    counts = np.zeros(3, dtype=int)

    def watched(some, rows):
        assert some.lengths.tolist() == [lengths[row] for row in rows]
        np.add.at(counts, rows, 1)
        return np.eye(3, dtype=np.float32)[rows]

    found = count_votes(dn.TEM(small_space, epsilon=1.0), watched, held, {"one": 10, "other": 5000}, key=KEY)
    assert counts.tolist() == [5010] * 3
    assert counted(found)["one"] == [[10, 0, 0], [0, 10, 0], [0, 0, 10]]


def test_versions_are_draws_of_the_mechanism(twin_space):
    """Versions are what the mechanism draws for the text again and again, twins included."""
    subject = dn.TEM(twin_space, epsilon=1.0)
    held, starts = concatenate_texts([[0, 5, 11], [7]]), [bytes(16), bytes(15) + b"\1"]
    found = draw_noisy_versions(subject, held, [4, 2], Streams(KEY, starts, []))
    direct = subject.draw_words(np.array([*[0, 5, 11] * 4, 7, 7], dtype=np.int32), Streams(KEY, starts, [12, 2]))
    np.testing.assert_array_equal(found.words, direct)
    assert found.lengths.tolist() == [3] * 4 + [1] * 2


def test_rows_of_the_law_sum_to_one(small_space):
    """The tables that the tests enumerate are laws."""
    np.testing.assert_allclose(tables(dn.TEM(small_space, epsilon=1.0)).sum(axis=1), 1, rtol=1e-12)


def test_no_texts(small_space, table):
    """No texts have no votes."""
    found = count_votes(dn.TEM(small_space, epsilon=1.0), mean_scorer(table), concatenate_texts([]), DRAWS, key=KEY)
    assert found == {"selection": [], "estimation": []}


@pytest.mark.parametrize("draws", [0, -1, True, 1.5])
def test_bad_draws_are_refused(small_space, table, draws):
    """A number of draws that is no integer of at least 1 is refused."""
    with pytest.raises(dn.InputError, match="draws of the estimation"):
        count_votes(
            dn.TEM(small_space, epsilon=1.0),
            mean_scorer(table),
            concatenate_texts([[1]]),
            {"estimation": draws},
            key=KEY,
        )


@pytest.mark.parametrize("logits", [np.zeros((3, 1)), np.zeros(3), np.zeros((2, 2)), np.full((3, 2), np.nan)])
def test_bad_logits_are_refused(small_space, logits):
    """Logits of another shape, of one class, or that are not numbers are refused."""
    with pytest.raises(dn.InputError, match="logits"):
        count_votes(
            dn.TEM(small_space, epsilon=1.0), lambda *_: logits, concatenate_texts([[1]]), {"estimation": 3}, key=KEY
        )


def test_text_without_words_is_refused(small_space, table):
    """A text without words is named."""
    with pytest.raises(dn.InputError, match="Text 2 has no words"):
        count_votes(dn.TEM(small_space, epsilon=1.0), mean_scorer(table), concatenate_texts([[1], []]), DRAWS, key=KEY)
