"""The curve of an attack, its area and its low end."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

from deniable import InputError
from deniable.measure.roc import compute_roc


def scores(seed, members=60, others=80, shift=0.8, ties=False):
    """Return scores of both sides."""
    rng = np.random.default_rng(seed)
    inner, outer = rng.normal(shift, size=members), rng.normal(size=others)
    return (inner.round(), outer.round()) if ties else (inner, outer)


def mann_whitney(inner, outer):
    """Return the area from Mann and Whitney's statistic."""
    return stats.mannwhitneyu(inner, outer).statistic / (len(inner) * len(outer))


def clustered(rng, records, models, effect=0.0):
    """Return scores and groups of records that each of several models saw or not, alike within a record."""
    members = np.zeros((models, records), dtype=bool)
    for record in range(records):
        members[rng.permutation(models)[: models // 2], record] = True
    found = rng.normal(size=records) * 2 + rng.normal(size=(models, records)) + effect * members
    names = np.broadcast_to(np.arange(records), members.shape)
    return found[members], found[~members], (names[members], names[~members])


@pytest.mark.parametrize("ties", [False, True])
def test_area_is_scikit_learns(ties):
    """The area is that of scikit-learn, with ties counted one half."""
    inner, outer = scores(1, ties=ties)
    truth = np.repeat([1, 0], [len(inner), len(outer)])
    assert compute_roc(inner, outer).auc.value == pytest.approx(roc_auc_score(truth, np.concatenate([inner, outer])))


@pytest.mark.parametrize("ties", [False, True])
def test_interval_is_delongs(ties):
    """Without groups the interval is that of DeLong's placements, computed pair by pair, on the logit scale."""
    inner, outer = scores(2, ties=ties)
    won = (inner[:, None] > outer) + 0.5 * (inner[:, None] == outer)
    area = won.mean()
    error = np.sqrt(won.mean(axis=1).var(ddof=1) / len(inner) + won.mean(axis=0).var(ddof=1) / len(outer))
    middle, half = np.log(area / (1 - area)), 1.959964 * error / (area * (1 - area))
    found = compute_roc(inner, outer).auc
    assert found.method == "DeLong"
    assert (found.low, found.high) == pytest.approx(tuple(1 / (1 + np.exp(-middle + np.array([half, -half])))))


def test_interval_agrees_with_a_bootstrap():
    """The interval is about as wide as that of a bootstrap of both sides."""
    inner, outer = scores(3, 150, 150)
    rng = np.random.default_rng(0)
    drawn = [mann_whitney(rng.choice(inner, len(inner)), rng.choice(outer, len(outer))) for _ in range(300)]
    found = compute_roc(inner, outer).auc
    assert found.high - found.low == pytest.approx(2 * 1.96 * np.std(drawn), rel=0.2)


def test_interval_over_records_agrees_with_a_bootstrap_of_records():
    """With groups the interval is about as wide as that of a bootstrap of records, and far from that over scores."""
    rng = np.random.default_rng(4)
    inner, outer, (in_groups, out_groups) = clustered(rng, 80, 8, effect=0.5)
    found = compute_roc(inner, outer, groups=(in_groups, out_groups)).auc
    drawn = []
    for _ in range(300):
        times = np.bincount(rng.integers(80, size=80), minlength=80)
        drawn.append(mann_whitney(np.repeat(inner, times[in_groups]), np.repeat(outer, times[out_groups])))
    naive = compute_roc(inner, outer).auc
    assert found.value == pytest.approx(naive.value)
    assert found.high - found.low == pytest.approx(2 * 1.96 * np.std(drawn), rel=0.2)
    assert (found.high - found.low) < 0.75 * (naive.high - naive.low)
    assert found.count == 80


def coverage(draw, true):
    """Return in how many of 300 draws the interval holds the true area."""
    return sum(found.low <= true <= found.high for found in (draw(seed).auc for seed in range(300)))


def test_interval_covers_the_true_area():
    """In 300 simulations the 95 % interval holds the true area as often as it says, neither less nor more."""
    true = stats.norm.cdf(1.2 / np.sqrt(2))
    held = coverage(lambda seed: compute_roc(*scores(seed, 100, 60, shift=1.2)), true)
    assert stats.binomtest(held, 300, 0.95).pvalue > 1e-6


@pytest.mark.parametrize("effect", [0.0, 1.0])
def test_interval_over_records_covers_the_true_area(effect):
    """The same for scores that come in records, without and with a signal."""

    def draw(seed):
        inner, outer, groups = clustered(np.random.default_rng(seed), 60, 6, effect)
        return compute_roc(inner, outer, groups=groups)

    # Members and others of different records: normal, with variance 5 each. A pair within one record loses the
    # variance of the record; it is one of 60 pairs.
    across, within = stats.norm.cdf(effect / np.sqrt(10)), stats.norm.cdf(effect / np.sqrt(2))
    true = (59 * across + within) / 60
    assert stats.binomtest(coverage(draw, true), 300, 0.95).pvalue > 1e-6


@pytest.mark.parametrize("ties", [False, True])
def test_share_found_is_the_best_threshold(ties):
    """The share found at a rate is the highest that any threshold gives without passing that rate."""
    inner, outer = scores(5, 2_000, 3_000, ties=ties)
    found = compute_roc(inner, outer)
    for rate, estimate in found.tpr.items():
        best = max((inner > threshold).mean() for threshold in np.unique(outer) if (outer > threshold).mean() <= rate)
        assert estimate.value == best
        wanted = stats.binomtest(round(best * 2_000), 2_000).proportion_ci(method="exact")
        assert (estimate.low, estimate.high) == pytest.approx((wanted.low, wanted.high))
        assert estimate.method == "Clopper-Pearson, given the threshold"


def test_rate_that_cannot_be_seen_is_said_so():
    """With fewer non-members than the rate needs, the share is the one without false positives, and says it."""
    inner, outer = scores(6, 500, 150)
    found = compute_roc(inner, outer).tpr
    assert found[0.001].value == (inner > outer.max()).mean()
    assert found[0.001].method.endswith("at zero false positives, as 150 non-members cannot show a rate of 0.001")
    assert found[0.01].method.endswith("given the threshold")


@pytest.mark.parametrize(("others", "seen"), [(999, False), (1_000, True)])
def test_rate_is_seen_from_its_inverse_on(others, seen):
    """One false positive among 1,000 is a rate of 0.1 %, and none is allowed among 999."""
    inner, outer = np.arange(1_000.0) + 0.5, np.arange(1.0 * others)
    estimate = compute_roc(inner, outer).tpr[0.001]
    assert ("zero false positives" not in estimate.method) == seen
    threshold = outer[-2] if seen else outer[-1]
    assert estimate.value == (inner > threshold).mean()


def test_rate_counts_records_not_scores():
    """Sixteen scores each of 100 records do not show a rate of 0.1 %, and the interval is over the records."""
    inner, outer, groups = clustered(np.random.default_rng(7), 100, 32, effect=1.0)
    found = compute_roc(inner, outer, groups=groups)
    assert "100 non-members cannot show" in found.tpr[0.001].method
    assert found.tpr[0.01].count == 100
    assert (found.members, found.others, found.records) == (1_600, 1_600, 100)


@pytest.mark.parametrize("count", [5, 2_000])
def test_curve_rises_from_nothing_to_all(count):
    """The curve is monotone, ends at both corners, has at most 200 points, and each is met by some threshold."""
    inner, outer = scores(8, count, count)
    found = compute_roc(inner, outer)
    false_positives, true_positives = np.array(found.false_positive_rates), np.array(found.true_positive_rates)
    assert len(false_positives) == len(true_positives) <= 200
    assert (false_positives[0], true_positives[0]) == (0, 0)
    assert (false_positives[-1], true_positives[-1]) == (1, 1)
    assert (np.diff(false_positives) >= 0).all()
    assert (np.diff(true_positives) >= 0).all()
    thresholds = np.concatenate([inner, outer, [np.inf]])
    met = {((outer >= threshold).mean(), (inner >= threshold).mean()) for threshold in thresholds}
    assert set(zip(found.false_positive_rates, found.true_positive_rates, strict=True)) <= met


def test_thinned_curve_keeps_the_area():
    """The area under the thinned curve is the area of the whole one to within a thousandth."""
    found = compute_roc(*scores(9, 3_000, 3_000))
    assert np.trapezoid(found.true_positive_rates, found.false_positive_rates) == pytest.approx(
        found.auc.value, abs=1e-3
    )


@pytest.mark.parametrize(("inner", "area"), [(np.full(20, 2.0), 1.0), (np.full(20, 1.0), 0.5), (np.zeros(20), 0.0)])
def test_scores_without_spread_get_an_interval(inner, area):
    """A perfect, blind or always wrong attack gets an interval that holds its area and is no single point."""
    found = compute_roc(inner, np.ones(30)).auc
    assert found.value == area
    assert found.low <= area <= found.high
    assert found.high - found.low > 0.1
    assert found.method == "Clopper-Pearson over disjoint pairs"
    assert found.count == 20


def test_one_score_on_each_side():
    """Two scores say almost nothing, and the interval says so."""
    found = compute_roc([1.0], [0.0]).auc
    assert (found.value, found.low, found.high) == (1.0, pytest.approx(0.025), 1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: compute_roc([], [1.0]), "'in_scores'"),
        (lambda: compute_roc([1.0], [np.nan]), "'out_scores'"),
        (lambda: compute_roc([[1.0]], [1.0]), "'in_scores'"),
        (lambda: compute_roc([1.0], [1.0], confidence=1.0), "'confidence'"),
        (lambda: compute_roc([1.0, 2.0], [1.0], groups=([0], [1])), "2 and 1. Got 1 and 1"),
    ],
)
def test_bad_scores_are_refused(call, message):
    """Scores that cannot be ranked and groups that do not fit are refused in one line."""
    with pytest.raises(InputError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
