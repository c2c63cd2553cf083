"""Estimates: their intervals hold the value, stay within bounds, and cover the true number as often as they say."""

import decimal
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from deniable.measure.intervals import (
    Estimate,
    as_exact_estimate,
    estimate_by_bootstrap,
    estimate_clustered_mean,
    estimate_clustered_share,
    estimate_mean,
    estimate_paired_difference,
    estimate_share,
)
from tests.refusals import refuses

NUMBERS = st.floats(-1e6, 1e6)


@st.composite
def clusters(draw):
    """Return successes and trials of some clusters, at least one with a trial."""
    trials = draw(st.lists(st.integers(0, 40), min_size=1, max_size=12).filter(any))
    return [draw(st.integers(0, count)) for count in trials], trials


@settings(max_examples=30)
@given(clusters(), st.floats(0.5, 0.999))
def test_shares_hold_their_values(counts, confidence):
    """The interval of a share, over trials or clusters, holds it, lies in [0, 1], and is never a single point."""
    for found, count in (
        (estimate_share(sum(counts[0]), sum(counts[1]), confidence), sum(counts[1])),
        (estimate_clustered_share(*counts), sum(trials > 0 for trials in counts[1])),
    ):
        assert 0 <= found.low <= found.value <= found.high <= 1
        assert found.low < found.high
        assert found.value == pytest.approx(sum(counts[0]) / sum(counts[1]))
        assert found.count == count


@settings(max_examples=30)
@given(clusters())
def test_bootstraps_hold_their_values(counts):
    """The interval of a bootstrap holds the ratio, stays within bounds, and is no point where all clusters agree."""
    found = estimate_by_bootstrap(*counts, (0.0, 1.0))
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert found.value == pytest.approx(sum(counts[0]) / sum(counts[1]))
    assert found.count == sum(trials > 0 for trials in counts[1])
    same = estimate_by_bootstrap([0] * 20, [3] * 20, (-1.0, 1.0))
    assert -0.2 < same.low < same.value == 0 < same.high < 0.2
    with refuses("at least 1"):
        estimate_by_bootstrap([0], [0], (0.0, 1.0))


def test_bootstraps_cover_the_true_mean():
    """Of 300 samples of 40 clusters that are unlike, about 95 % have the true mean in their interval."""
    generator = np.random.default_rng(0)
    covered = 0
    for _ in range(300):
        sizes = generator.integers(5, 30, 40)
        rates = generator.beta(2, 4, 40)  # a mean of one third
        found = estimate_by_bootstrap(generator.binomial(sizes, rates), sizes, (0.0, 1.0))
        covered += found.low <= 1 / 3 <= found.high
    assert 0.88 < covered / 300 < 0.99


@settings(max_examples=30)
@given(st.lists(st.tuples(NUMBERS, st.integers(1, 50)), min_size=1, max_size=30))
def test_means_hold_their_values(given_clusters):
    """The interval of a mean, over values or clusters, holds it, and is cut off where it is told to."""
    values, _ = zip(*given_clusters, strict=True)
    for found in (estimate_mean(values), estimate_clustered_mean(*zip(*given_clusters, strict=True))):
        assert found.low <= found.value <= found.high
    cut = estimate_mean(np.clip(values, 0, 1), bounds=(0.0, 1.0))
    assert 0 <= cut.low <= cut.value + 1e-12
    assert cut.value - 1e-12 <= cut.high <= 1


@settings(max_examples=30)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_paired_difference_holds_its_value(pairs):
    """The interval of a difference holds it, lies in [-1, 1], is no point, and turns round with the two."""
    first, second = zip(*pairs, strict=True)
    found, turned = estimate_paired_difference(first, second), estimate_paired_difference(second, first)
    assert -1 <= found.low <= found.value <= found.high <= 1
    assert found.low < found.high
    assert (turned.value, turned.low, turned.high) == pytest.approx((-found.value, -found.high, -found.low), abs=1e-7)


@pytest.mark.parametrize(("both", "gained", "lost", "neither"), [(50, 12, 5, 20), (3, 9, 1, 2)])
def test_paired_difference_by_likelihood(both, gained, lost, neither):
    """At the ends of the interval the score, with the likelihood maximised numerically, is the normal quantile."""
    count = both + gained + lost + neither
    first = np.repeat([True, True, False, False], [both, gained, lost, neither])
    second = np.repeat([True, False, True, False], [both, gained, lost, neither])
    found = estimate_paired_difference(first, second)
    for end in (found.low, found.high):

        def surprise(rest, end=end):
            shares = rest + end, rest, 1 - 2 * rest - end
            return -float(np.dot([gained, lost, both + neither], np.log(shares)))

        room = max(0.0, -end) + 1e-12, (1 - end) / 2 - 1e-12
        rest = optimize.minimize_scalar(surprise, bounds=room, method="bounded", options={"xatol": 1e-12}).x
        score = (gained - lost - count * end) / np.sqrt(count * (2 * rest + end - end**2))
        assert abs(score) == pytest.approx(stats.norm.ppf(0.975), rel=1e-4)


def test_known_intervals():
    """By hand: no success of 20, a mean of three, full agreement, and one cluster alone."""
    assert estimate_share(0, 20).high == pytest.approx(1 - 0.025 ** (1 / 20))
    half = stats.t.ppf(0.975, 2) / np.sqrt(3)
    assert estimate_mean([1, 2, 3]) == Estimate(
        2.0, pytest.approx(2 - half), pytest.approx(2 + half), 0.95, 3, "Student's t"
    )
    assert (estimate_mean([7]).low, estimate_mean([7]).high) == (-np.inf, np.inf)
    square = stats.norm.ppf(0.975) ** 2
    assert estimate_paired_difference([True] * 30, [True] * 30).high == pytest.approx(square / (30 + square))
    assert (estimate_clustered_mean([3], [2]).low, estimate_clustered_mean([3], [2]).value) == (-np.inf, 1.5)
    assert as_exact_estimate(0.3) == Estimate(0.3, 0.3, 0.3, 1.0, 0, "exact")


def test_equal_clusters_keep_a_width():
    """Clusters with one and the same share, whatever their sizes, have the interval of as many single trials."""
    found = estimate_clustered_share([1, 3, 7, 49], [3, 9, 21, 147])
    assert (found.method, found.count) == ("Clopper-Pearson", 4)
    assert estimate_clustered_share([5, 5], [5, 5]).low == pytest.approx(0.025**0.5)


def test_empty_clusters_count_for_nothing():
    """A cluster without trials changes nothing."""
    assert estimate_clustered_share([1, 0, 2, 0], [4, 0, 3, 0]) == estimate_clustered_share([1, 2], [4, 3])
    assert estimate_clustered_mean([1, 0, 2], [4, 0, 3]) == estimate_clustered_mean([1, 2], [4, 3])


def covered(truth, estimates):
    """Return how many intervals hold the truth."""
    return sum(found.low <= truth <= found.high for found in estimates)


def bounds(count, low, high):
    """Return what a count of that many trials stays within but for one case in a million."""
    return stats.binom.ppf(5e-7, count, low), stats.binom.ppf(1 - 5e-7, count, high)


@pytest.mark.parametrize("runs", [300, pytest.param(2000, marks=pytest.mark.deep)])
def test_coverage_over_clusters(runs):
    """Shares and means over clusters cover the truth as often as they say; taking words for independent does not."""
    rng = np.random.default_rng(7)
    trials = rng.integers(5, 60, size=(runs, 40))
    hits = rng.binomial(trials, rng.beta(2, 3, size=trials.shape))
    low, high = bounds(runs, 0.93, 0.965)
    assert low <= covered(0.4, [estimate_clustered_share(*pair) for pair in zip(hits, trials, strict=True)]) <= high
    assert low <= covered(0.4, [estimate_clustered_mean(*pair) for pair in zip(hits, trials, strict=True)]) <= high
    naive = [estimate_share(int(h.sum()), int(t.sum())) for h, t in zip(hits[:300], trials, strict=False)]
    assert covered(0.4, naive) < 0.75 * 300 < low * 300 / runs


@pytest.mark.parametrize("runs", [200, pytest.param(1000, marks=pytest.mark.deep)])
def test_coverage_of_a_paired_difference(runs):
    """A difference of shares covers the truth as often as it says, also where the two mostly agree."""
    rng = np.random.default_rng(8)
    for gained, lost, count in ((0.2, 0.1, 80), (0.03, 0.01, 200)):
        draws = rng.choice(3, p=[gained, lost, 1 - gained - lost], size=(runs, count))
        found = [estimate_paired_difference(row == 0, row == 1) for row in draws]
        low, high = bounds(runs, 0.935, 0.975)
        assert low <= covered(gained - lost, found) <= high


def test_nothing_to_estimate_from():
    """Without any trial each is refused in one line."""
    for refused in (
        lambda: estimate_share(0, 0),
        lambda: estimate_mean([]),
        lambda: estimate_clustered_share([0, 0], [0, 0]),
        lambda: estimate_clustered_mean([], []),
        lambda: estimate_paired_difference([], []),
    ):
        with refuses("Got 0"):
            refused()


def test_as_text():
    """An estimate is written with its interval, an exact number without one."""
    found = Estimate(0.25, 0.1234567, 0.5, 0.95, 10, "any")
    assert str(found) == "0.25 (0.1234 to 0.5)"
    assert found.format_percent() == found.format_success() == "25.0% (12.3 to 50.0)"
    assert found.format_decimals(2) == "0.25 (0.12 to 0.50)"
    exact = as_exact_estimate(0.25)
    assert [str(exact), exact.format_percent(), exact.format_decimals(2)] == ["0.25 (exact)", "25.0%", "0.25 (exact)"]


@settings(max_examples=30)
@given(st.integers(1, 10_000), st.integers(0, 10_000))
def test_intervals_are_shown_outward(count, hits):
    """As shown, an interval holds the one that was computed, and the number lies in it."""
    found = estimate_share(min(hits, count), count)
    for scale, text in (
        (1, str(found)),
        (100, found.format_percent().replace("%", "")),
        (1, found.format_decimals(3)),
    ):
        value, low, high = map(decimal.Decimal, re.fullmatch(r"(\S+) \((\S+) to (\S+)\)", text).groups())
        assert low <= scale * decimal.Decimal(repr(found.low)) <= scale * decimal.Decimal(repr(found.high)) <= high
        assert low <= value <= high


@settings(max_examples=30)
@given(st.floats(0, 1))
def test_an_exact_success_is_rounded_up(share):
    """No guesser names more than what is shown of an exact success."""
    shown = decimal.Decimal(as_exact_estimate(share).format_success().removesuffix("%"))
    assert 0 <= shown - 100 * decimal.Decimal(repr(share)) <= decimal.Decimal("0.1")


def test_a_difference_of_minus_one():
    """Rounding does not spoil the interval where one side is always right and the other never."""
    for count in (4, 5, 9, 100, 10_000):
        found = estimate_paired_difference(np.zeros(count, dtype=bool), np.ones(count, dtype=bool))
        assert found.value == found.low == -1
        assert -1 < found.high < 0
