"""N_w and S_w, drawn and expected: each against the other, and against counts by hand."""

import math

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from tests.refusals import refuses

THRESHOLD = 1e-6
"""Chance of a false alarm."""
SUBJECTS = {
    "tem": lambda space: dn.TEM(space, epsilon=2.0),
    "calibrated": lambda space: dn.CalibratedExponential(space, epsilon=1.5),
    "tight": lambda space: dn.TightExponential(space, epsilon=3.0),
    "truncated-gumbel": lambda space: dn.TruncatedGumbel(space, epsilon=1e6),
}
FIRST_PLAIN = ["tem", *(pytest.param(name, marks=pytest.mark.deep) for name in [*SUBJECTS][1:])]


def p_unchanged(found, factor=1.0):
    """Return the p-value of all N_w, which are binomial, under the expectations times a factor."""
    shares = np.clip(found.expected_unchanged * factor / found.runs, 0, 1)
    spread = math.sqrt((found.runs * shares * (1 - shares)).sum())
    return 2 * stats.norm.sf(abs(found.unchanged.sum() - found.runs * shares.sum()) / spread)


def p_distinct(found, factor=1.0):
    """Return a bound on the p-value of all S_w.

    The indicators that an output is seen are negatively associated, so that the variance of their sum is at
    most the sum of theirs, which is at most the mean number seen.
    """
    expected = factor * found.expected_distinct
    return 2 * stats.norm.sf(abs(found.distinct.sum() - expected.sum()) / math.sqrt(expected.sum()))


@pytest.mark.parametrize("name", FIRST_PLAIN)
def test_draws_agree_with_expectations(small_space, name):
    """What is drawn agrees with what the law expects, and would not with expectations 30 % off."""
    found = dn.measure.measure_deniability(SUBJECTS[name](small_space), runs=200, seed=1)
    assert p_unchanged(found) > THRESHOLD
    assert p_distinct(found) > THRESHOLD
    for factor in (0.7, 1.3):
        assert p_unchanged(found, factor) < THRESHOLD
        assert p_distinct(found, factor) < THRESHOLD


@pytest.mark.parametrize("name", SUBJECTS)
def test_expectations_against_the_law(twin_space, name):
    """E N_w and E S_w are those of the law of every word, words that share a point included."""
    mechanism, runs = SUBJECTS[name](twin_space), 50
    result = dn.measure.measure_deniability(mechanism, runs=runs, seed=0)
    laws = np.array([mechanism.probabilities(word) for word in twin_space.words])
    assert result.expected_unchanged == pytest.approx(runs * np.diagonal(laws), rel=1e-8)
    assert result.expected_distinct == pytest.approx((1 - (1 - laws) ** runs).sum(axis=1), rel=1e-8)


def test_small_probabilities_are_not_lost(small_space):
    """Words that are next to never drawn count with their tiny share, and certain ones with exactly one."""
    sure = dn.measure.measure_deniability(dn.TEM(small_space, epsilon=1e6, gamma=math.inf), runs=1_000, seed=0)
    assert (sure.unchanged == 1_000).all()
    assert (sure.distinct == 1).all()
    # Every other word has the least entry of the integer table: 2^24 of 2^62.
    assert sure.expected_distinct - 1 == pytest.approx(59 * 1_000 * 2.0**-38, rel=1e-5)


def test_counts_by_hand(twin_space, monkeypatch):
    """Counts are those of the drawn words, one row of runs for each word."""
    table = np.array([[5, 5, 2, 5], [0, 1, 2, 3], [7, 7, 7, 7]], dtype=np.int32)
    monkeypatch.setattr(dn.TEM, "draw_words", lambda *_: table.ravel().copy())
    words = [twin_space.words[number] for number in (5, 4, 7)]
    result = dn.measure.measure_deniability(dn.TEM(twin_space, epsilon=1.0), words, runs=4)
    assert result.words == tuple(words)
    assert result.unchanged.tolist() == [3, 0, 4]
    assert result.distinct.tolist() == [2, 4, 1]


def test_a_mechanism_without_a_law(small_space):
    """Multivariate Laplace has counts but no expectations; its noise leaves all or no words at the extremes."""
    quiet, loud = (
        dn.measure.measure_deniability(dn.MultivariateLaplace(small_space, epsilon=epsilon), runs=20, seed=3)
        for epsilon in (1e5, 0.5)
    )
    assert (quiet.expected_unchanged, quiet.expected_distinct) == (None, None)
    assert (quiet.unchanged == 20).all()
    assert loud.unchanged.mean() < 10
    assert loud.distinct.mean() > 5


def test_seeds_workers_and_other_words(small_space):
    """A seed fixes what a word becomes, whatever words and workers there are; without one it varies."""
    for mechanism in (SUBJECTS["tem"](small_space), dn.MultivariateLaplace(small_space, epsilon=3.0)):
        whole = dn.measure.measure_deniability(mechanism, runs=30, seed=5, workers=2)
        part = dn.measure.measure_deniability(mechanism, small_space.words[10:40][::-1], runs=30, seed=5, workers=1)
        assert (part.unchanged[::-1] == whole.unchanged[10:40]).all()
        assert (part.distinct[::-1] == whole.distinct[10:40]).all()
        others = [dn.measure.measure_deniability(mechanism, runs=30, seed=seed).distinct for seed in (6, None, None)]
        assert len({counts.tobytes() for counts in (whole.distinct, *others)}) == 4


def test_one_run_of_one_word(small_space):
    """A word is named as the space spells it, and a single run returns one word."""
    one = dn.measure.measure_deniability(SUBJECTS["tem"](small_space), [small_space.words[3].upper()], runs=1, seed=0)
    assert one.words == (small_space.words[3],)
    assert one.distinct.tolist() == [1]
    assert one.expected_distinct == pytest.approx(1)


@pytest.mark.parametrize(
    ("words", "runs", "value"),
    [
        (["nowhere"], 10, "'nowhere'"),
        ([], 10, []),
        ("baran", 10, "'baran'"),
        (["baran"], 0, 0),
        (["baran"], 2.0, 2.0),
        (["baran"], True, True),
        (["baran"], 10**8, 10**8),
    ],
)
def test_what_is_refused(small_space, words, runs, value):
    """Words and runs that make no sense are refused."""
    with refuses(value):
        dn.measure.measure_deniability(dn.TEM(small_space, epsilon=1.0), words, runs=runs)
