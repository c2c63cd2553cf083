"""The curve of an attack, its area and its low end."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

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
def test_area_and_interval(ties):
    """The area is that of scikit-learn, ties one half; its interval DeLong's, pair by pair, on the logit scale."""
    inner, outer = scores(1, ties=ties)
    truth = np.repeat([1, 0], [len(inner), len(outer)])
    found = compute_roc(inner, outer).auc
    assert found.value == pytest.approx(roc_auc_score(truth, np.concatenate([inner, outer])))
    won = (inner[:, None] > outer) + 0.5 * (inner[:, None] == outer)
    area = won.mean()
    error = np.sqrt(won.mean(axis=1).var(ddof=1) / len(inner) + won.mean(axis=0).var(ddof=1) / len(outer))
    middle, half = np.log(area / (1 - area)), 1.959964 * error / (area * (1 - area))
    assert found.method == "DeLong"
    assert (found.low, found.high) == pytest.approx(tuple(1 / (1 + np.exp(-middle + np.array([half, -half])))))


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


@pytest.mark.deep
def test_interval_covers_the_true_area():
    """In 300 simulations the 95 % interval holds the true area as often as it says, neither less nor more."""
    true = stats.norm.cdf(1.2 / np.sqrt(2))
    found = [compute_roc(*scores(seed, 100, 60, shift=1.2)).auc for seed in range(300)]
    assert stats.binomtest(sum(one.low <= true <= one.high for one in found), 300, 0.95).pvalue > 1e-6


@pytest.mark.deep
@pytest.mark.parametrize("effect", [0.0, 1.0])
def test_interval_over_records_covers_the_true_area(effect):
    """The same for scores that come in records, without and with a signal."""
    drawn = (clustered(np.random.default_rng(seed), 60, 6, effect) for seed in range(300))
    found = [compute_roc(inner, outer, groups=groups).auc for inner, outer, groups in drawn]
    # Members and others of different records: normal, with variance 5 each. A pair within one record loses the
    # variance of the record; it is one of 60 pairs.
    across, within = stats.norm.cdf(effect / np.sqrt(10)), stats.norm.cdf(effect / np.sqrt(2))
    true = (59 * across + within) / 60
    assert stats.binomtest(sum(one.low <= true <= one.high for one in found), 300, 0.95).pvalue > 1e-6


@pytest.mark.parametrize("ties", [False, True])
def test_share_found_is_the_best_threshold(ties):
    """The share found at a rate is the highest that any threshold gives without passing that rate."""
    inner, outer = scores(5, 2_000, 3_000, ties=ties)
    for rate, estimate in compute_roc(inner, outer).tpr.items():
        best = max((inner > threshold).mean() for threshold in np.unique(outer) if (outer > threshold).mean() <= rate)
        assert estimate.value == best
        wanted = stats.binomtest(round(best * 2_000), 2_000).proportion_ci(method="exact")
        assert (estimate.low, estimate.high) == pytest.approx((wanted.low, wanted.high))


@pytest.mark.parametrize(("others", "seen"), [(999, False), (1_000, True)])
def test_rate_is_seen_from_its_inverse_on(others, seen):
    """One false positive among 1,000 is a rate of 0.1 %; among 999 none is allowed, and the estimate says so."""
    inner, outer = np.arange(1_000.0) + 0.5, np.arange(1.0 * others)
    estimate = compute_roc(inner, outer).tpr[0.001]
    assert ("zero false positives" not in estimate.method) == seen
    threshold = outer[-2] if seen else outer[-1]
    assert estimate.value == (inner > threshold).mean()


def test_rate_counts_records_not_scores():
    """Sixteen scores each of 100 records do not show a rate of 0.1 %, and the interval is over the records."""
    inner, outer, groups = clustered(np.random.default_rng(7), 100, 32, effect=1.0)
    found = compute_roc(inner, outer, groups=groups)
    assert "100 non-members" in found.tpr[0.001].method
    assert found.tpr[0.01].count == 100
    assert (found.members, found.others, found.records) == (1_600, 1_600, 100)


@pytest.mark.parametrize("count", [5, 2_000])
def test_curve_rises_from_nothing_to_all(count):
    """The curve is monotone, ends at both corners, has at most 200 points of thresholds, and keeps the area."""
    inner, outer = scores(8, count, count)
    found = compute_roc(inner, outer)
    false_positives, true_positives = np.array(found.false_positive_rates), np.array(found.true_positive_rates)
    assert len(false_positives) == len(true_positives) <= 200
    assert (false_positives[0], true_positives[0], false_positives[-1], true_positives[-1]) == (0, 0, 1, 1)
    assert (np.diff(false_positives) >= 0).all()
    assert (np.diff(true_positives) >= 0).all()
    thresholds = np.concatenate([inner, outer, [np.inf]])
    met = {((outer >= threshold).mean(), (inner >= threshold).mean()) for threshold in thresholds}
    assert set(zip(found.false_positive_rates, found.true_positive_rates, strict=True)) <= met
    assert np.trapezoid(true_positives, false_positives) == pytest.approx(found.auc.value, abs=1e-3)


@pytest.mark.parametrize(("inner", "area"), [(np.full(20, 2.0), 1.0), (np.full(20, 1.0), 0.5), (np.zeros(20), 0.0)])
def test_scores_without_spread_get_an_interval(inner, area):
    """A perfect, blind or always wrong attack gets an interval that holds its area and is no single point."""
    found = compute_roc(inner, np.ones(30)).auc
    assert found.low <= found.value == area <= found.high
    assert found.high - found.low > 0.1
    assert found.count == 20


def test_one_score_on_each_side():
    """Two scores say almost nothing, and the interval says so."""
    found = compute_roc([1.0], [0.0]).auc
    assert (found.value, found.low, found.high) == (1.0, pytest.approx(0.025), 1.0)
