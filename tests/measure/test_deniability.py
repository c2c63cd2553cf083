"""N_w and S_w, drawn and expected: each against the other, and against counts by hand."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.core.errors import InputError
from deniable.measure import deniability as module
from deniable.measure.deniability import measure_deniability
from tests.contracts.statistics import THRESHOLD

RUNS = 200
SUBJECTS = {
    "tem": lambda space: dn.TEM(space, epsilon=2.0),
    "calibrated": lambda space: dn.CalibratedExponential(space, epsilon=1.5),
    "tight": lambda space: dn.TightExponential(space, epsilon=3.0),
    "truncated-gumbel": lambda space: dn.TruncatedGumbel(space, epsilon=1e6),
}


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


@pytest.fixture(scope="module")
def found(small_space):
    """Return what each mechanism with a law does to all words of a small space."""
    return {name: measure_deniability(make(small_space), runs=RUNS, seed=1) for name, make in SUBJECTS.items()}


@pytest.mark.parametrize("name", SUBJECTS)
def test_draws_agree_with_expectations(found, name):
    """What is drawn agrees with what the law expects, and would not with expectations 30 % off."""
    assert p_unchanged(found[name]) > THRESHOLD
    assert p_distinct(found[name]) > THRESHOLD
    for factor in (0.7, 1.3):
        assert p_unchanged(found[name], factor) < THRESHOLD
        assert p_distinct(found[name], factor) < THRESHOLD


@pytest.mark.parametrize("name", SUBJECTS)
@pytest.mark.parametrize("place", ["small_space", "twin_space"])
def test_expectations_against_the_law(request, name, place):
    """E N_w and E S_w are those of the law of every word, words that share a point included."""
    mechanism = SUBJECTS[name](request.getfixturevalue(place))
    space, runs = mechanism.space, 50
    result = measure_deniability(mechanism, runs=runs, seed=0)
    laws = np.array([mechanism.probabilities(word) for word in space.words])
    assert result.expected_unchanged == pytest.approx(runs * np.diagonal(laws), rel=1e-8)
    assert result.expected_distinct == pytest.approx((1 - (1 - laws) ** runs).sum(axis=1), rel=1e-8)


def test_small_probabilities_are_not_lost(small_space):
    """Words that are next to never drawn count with their tiny share, and certain ones with exactly one."""
    sure = measure_deniability(dn.TEM(small_space, epsilon=1e6, gamma=math.inf), runs=1_000, seed=0)
    assert (sure.unchanged == 1_000).all()
    assert (sure.distinct == 1).all()
    # Every other word has the least entry of the integer table: 2^24 of 2^62.
    assert sure.expected_distinct - 1 == pytest.approx(59 * 1_000 * 2.0**-38, rel=1e-5)


def test_counts_by_hand(twin_space, monkeypatch):
    """Counts are those of the drawn words, one row of runs for each word."""
    mechanism = dn.TEM(twin_space, epsilon=1.0)
    table = np.array([[5, 5, 2, 5], [0, 1, 2, 3], [7, 7, 7, 7]], dtype=np.int32)
    monkeypatch.setattr(dn.TEM, "draw_words", lambda *_: table.ravel().copy())
    words = [twin_space.words[number] for number in (5, 4, 7)]
    result = measure_deniability(mechanism, words, runs=4)
    assert result.words == tuple(words)
    assert result.unchanged.tolist() == [3, 0, 4]
    assert result.distinct.tolist() == [2, 4, 1]
    assert result.mean_unchanged.value == pytest.approx(7 / 3)
    assert result.mean_distinct.value == pytest.approx(7 / 3)
    assert result.std_distinct == pytest.approx(math.sqrt(7 / 3))
    assert result.std_unchanged == pytest.approx(math.sqrt(13 / 3))


def test_a_mechanism_without_a_law(small_space):
    """Multivariate Laplace has counts but no expectations; its noise leaves all or no words at the extremes."""
    quiet = measure_deniability(dn.MultivariateLaplace(small_space, epsilon=1e5), runs=20, seed=3)
    assert (quiet.expected_unchanged, quiet.expected_distinct, quiet.mean_expected_distinct) == (None,) * 3
    assert (quiet.unchanged == 20).all()
    loud = measure_deniability(dn.MultivariateLaplace(small_space, epsilon=0.5), runs=20, seed=3)
    assert loud.mean_unchanged.high < 10
    assert loud.mean_distinct.low > 5


def test_an_integral_out_of_reach(small_space, monkeypatch):
    """A law by quadrature is left out where it takes too long or is not accurate enough, a closed one never."""
    words = small_space.words[:2]
    monkeypatch.setattr("deniable.published.truncated_gumbel.mechanism.MAX_TABULATED_POINTS", 0)
    gumbel, tem = (SUBJECTS[name](small_space) for name in ("truncated-gumbel", "tem"))
    assert measure_deniability(gumbel, words, runs=3).expected_distinct is not None

    def inaccurate(*_):
        raise dn.NotTractable("two grids differ")

    monkeypatch.setattr(dn.TruncatedGumbel, "rows", inaccurate)
    assert measure_deniability(gumbel, words, runs=3).expected_distinct is None
    monkeypatch.undo()
    monkeypatch.setattr(module, "MAX_QUADRATURE_POINTS", 10)
    assert measure_deniability(gumbel, words, runs=3).expected_distinct is None
    assert measure_deniability(tem, words, runs=3).expected_distinct is not None


def test_seeds_chunks_workers_and_other_words(small_space, monkeypatch):
    """A seed fixes what a word becomes, whatever words, chunks and workers there are; without one it varies."""
    for make in (SUBJECTS["tem"], lambda space: dn.MultivariateLaplace(space, epsilon=3.0)):
        mechanism = make(small_space)
        whole = measure_deniability(mechanism, runs=30, seed=5, workers=2)
        monkeypatch.setattr(module, "_DRAWS_AT_A_TIME", 100)
        part = measure_deniability(mechanism, small_space.words[10:40][::-1], runs=30, seed=5, workers=1)
        monkeypatch.undo()
        assert (part.unchanged[::-1] == whole.unchanged[10:40]).all()
        assert (part.distinct[::-1] == whole.distinct[10:40]).all()
        assert (measure_deniability(mechanism, runs=30, seed=6).distinct != whole.distinct).any()
        assert (
            measure_deniability(mechanism, runs=30).distinct != measure_deniability(mechanism, runs=30).distinct
        ).any()


def test_means(found):
    """Means are exact where law and all words are at hand, else they come with an interval over words."""
    tem = found["tem"]
    assert tem.mean_expected_distinct.count == 0
    assert tem.mean_expected_distinct.value == tem.expected_distinct.mean()
    assert tem.mean_distinct.count == 60
    sample = dataclasses.replace(tem, is_whole_space=False)
    estimate = sample.mean_expected_unchanged
    assert estimate.count == 60
    assert estimate.low < tem.mean_expected_unchanged.value < estimate.high


def test_one_word(small_space):
    """One word alone has no spread, and no interval; capitals do not matter."""
    result = measure_deniability(dn.TEM(small_space, epsilon=2.0), [small_space.words[3].upper()], runs=1, seed=0)
    assert result.words == (small_space.words[3],)
    assert (result.std_distinct, result.std_unchanged) == (0, 0)
    assert result.distinct.tolist() == [1]
    assert result.mean_distinct.high == math.inf
    assert result.expected_distinct == pytest.approx(1)


@pytest.mark.parametrize(
    ("words", "runs", "message"),
    [
        (["nowhere"], 10, "'nowhere' is not one of the 60 words"),
        (["baran", "BARAN"], 10, "has 'baran' twice"),
        ([], 10, "is empty"),
        ("baran", 10, "must be a list of words, or None for all. Got 'baran'"),
        (["baran"], 0, "The 'runs' parameter of measure_deniability must be an int from 1 to 10,000,000. Got 0"),
        (["baran"], 2.0, "Got 2.0"),
        (["baran"], True, "Got True"),
        (["baran"], 10**8, "Got 100000000"),
    ],
)
def test_what_is_refused(small_space, words, runs, message):
    """Words and runs that make no sense are refused in one line that says which."""
    with pytest.raises(InputError) as caught:
        measure_deniability(dn.TEM(small_space, epsilon=1.0), words, runs=runs)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
