"""Noisy counts: shares on average true, declared domains, phrases that one unit alone hardly ever releases."""

import math

import mpmath
import numpy as np
import pytest
from randomgen import AESCounter
from scipy import stats

from deniable.persons.budget import NOISE_STEPS, Budget, Measurement
from deniable.persons.collection import Collection, group_rows
from deniable.persons.histograms import (
    LENGTH_EDGES,
    find_length_bins,
    measure_shares,
    normalize_shares,
    plan_histograms,
)
from deniable.persons.ngram_counts import compute_selection_threshold, measure_ngram_counts
from deniable.persons.options import SynthesisOptions
from tests.refusals import refuses

STARS = SynthesisOptions(epsilon=900.0, delta=1e-6, classes=("a", "b"), rows=1, domains={"stars": range(1, 4)})
CLEAR = Budget(900.0, 1e-6, "record", plan_histograms(2, STARS.domains))
"""So large a budget that the noise is a small part of a row."""


def test_shares_are_the_nearest_ones():
    """Counts with a positive sum become the nearest shares of that sum, as a search over thresholds finds them."""
    coins = np.random.default_rng(0)
    for _ in range(20):
        counts = coins.normal(2, 5, 12)
        shares = normalize_shares(counts)
        assert shares.min() >= 0
        assert shares.sum() == pytest.approx(1)
        if counts.sum() > 0:
            thresholds = np.linspace(0, counts.max(), 50_001)
            sums = np.maximum(counts - thresholds[:, None], 0).sum(axis=1)
            nearest = np.maximum(counts - thresholds[np.argmin(abs(sums - counts.sum()))], 0) / counts.sum()
            assert shares == pytest.approx(nearest, abs=2e-3)
    for nothing in ([0.0, 0.0], [-3.0, 1.0], [-1.0, -1.0]):
        assert normalize_shares(np.array(nothing)).tolist() == [0.5, 0.5]


def test_noise_of_empty_bins_makes_no_long_texts():
    """Few records with much noise keep their lengths: cut off at 0, two fifths would be in bins that are empty."""
    counts = np.zeros(47)
    counts[18] = 1_000.0
    noise = np.random.default_rng(1).normal(0, 40, (200, 47))
    shares = np.array([normalize_shares(row) for row in counts + noise])
    assert shares[:, 18].mean() > 0.85
    cut_off = np.maximum(counts + noise, 0)
    assert (cut_off[:, 18] / cut_off.sum(axis=1)).mean() < 0.6


def test_length_bins():
    """Every length is in one bin: an empty text in the first, and one beyond the last edge in the last."""
    bins = find_length_bins(["", "a", "a b", " ".join("a" * 100), " ".join("a" * 9_000)])
    assert bins.tolist()[:3] == [0, 0, 1]
    assert LENGTH_EDGES[bins[3]] <= 100 < LENGTH_EDGES[bins[3] + 1]
    assert bins[4] == len(LENGTH_EDGES) - 2


def test_measured_shares_are_near_the_true_ones():
    """With a large budget classes, lengths and columns by class are those of the records, others counted nowhere."""
    labels = np.array([0] * 300 + [1] * 100 + [-1] * 100)
    cells = ["1"] * 150 + [" 2 "] * 150 + ["3"] * 80 + [None] * 10 + ["4"] * 5 + ["zork"] * 5 + ["2"] * 100
    collection = Collection(["a b"] * 500, labels, columns={"stars": cells})
    classes, lengths, columns = measure_shares(CLEAR, collection, group_rows(500), STARS, AESCounter(key=3))
    assert classes == pytest.approx([0.75, 0.25], abs=0.01)
    assert lengths[1] == pytest.approx(1, abs=0.03)
    (shares,) = columns.values()
    assert shares == pytest.approx(np.array([[0.5, 0.5, 0], [0, 0, 1]]), abs=0.02)


TEXTS = ["red fox"] * 400 + ["blue fox"] * 300 + ["rare wolf"]
LABELS = np.array([0] * 400 + [1] * 300 + [1])


def measure(texts=TEXTS, labels=LABELS, keys_per_unit=3, epsilon=4.0, selection_delta=1e-6, seed=0, persons=None):
    """Return the counts of a release that holds nothing else."""
    unit = "record" if persons is None else "person"
    measurements = (Measurement("phrases", 1.0, keys_per_unit),)
    budget = Budget(epsilon, selection_delta + 1e-6, unit, measurements, selection_delta)
    units = group_rows(len(texts), persons)
    return measure_ngram_counts(budget, "phrases", texts, np.asarray(labels), units, AESCounter(key=seed))


def test_frequent_phrases_are_released_and_rare_ones_are_not():
    """Words and phrases of many records come out by class and alphabet, with counts near the true ones.

    Rows of label -1 leave no trace, however many they are.
    """
    counts = measure(["grey owl"] * 500 + TEXTS, np.concatenate([np.full(500, -1), LABELS]))
    keys = list(zip(counts.codes.tolist(), counts.ngrams, strict=True))
    assert keys == [
        *((0, ngram) for ngram in (("fox",), ("red",), ("red", "fox"))),
        *((1, ngram) for ngram in (("blue",), ("blue", "fox"), ("fox",))),
    ]
    np.testing.assert_allclose(counts.counts, [400] * 3 + [300] * 3, atol=6 * counts.deviation)
    assert np.all(counts.counts >= counts.threshold)


@pytest.mark.parametrize("keys_per_unit", [1, 3, 100])
@pytest.mark.parametrize("selection_delta", [0.3, 1e-3, 1e-12])
def test_the_threshold_is_the_least_that_the_bound_allows(keys_per_unit, selection_delta):
    """The union bound with the stated tail holds at the threshold in 50 digits, and fails a thousandth below it."""
    weight = NOISE_STEPS // 7
    threshold = compute_selection_threshold(weight, keys_per_unit, selection_delta)

    def bound_probability(distance):
        with mpmath.workdps(50):
            return keys_per_unit * mpmath.ncdf(-mpmath.mpf(distance - 1) / NOISE_STEPS)

    assert bound_probability(threshold - weight) <= selection_delta
    if threshold > weight + 1:
        assert bound_probability(int((threshold - weight) * 0.999)) > selection_delta


def test_tails_of_discrete_noise_are_below_the_stated_bound():
    """For small parameters, where discreteness counts most, P[Z >= t] <= 1 - Phi((t - 1) / s) for all t >= 1."""
    for sigma in (1, 3, 20):
        values = np.arange(-40 * sigma, 40 * sigma + 1)
        law = np.exp(-(values**2) / (2 * sigma**2))
        law /= law.sum()
        for t in range(1, 8 * sigma):
            assert law[values >= t].sum() <= stats.norm.sf((t - 1) / sigma)


@pytest.mark.parametrize("count", [5_000, pytest.param(10_000, marks=pytest.mark.deep)])
def test_keys_of_one_unit_pass_as_rarely_as_granted(count):
    """Among lone units with three keys a tenth pass where a tenth is granted, not 30 % more or less."""
    # A class without other records for each unit: whether any of its keys is released.
    counts = measure(["lone wolf"] * count, np.arange(count), epsilon=1.0, selection_delta=0.1)
    passed = len({*counts.codes.tolist()})
    # The three keys are independent, so that the union bound is met up to its square.
    expected = 1 - (1 - 0.1 / 3) ** 3
    assert stats.binomtest(passed, count, expected).pvalue > 1e-6
    assert stats.binomtest(passed, count, 0.7 * expected).pvalue < 1e-5
    assert stats.binomtest(passed, count, 1.3 * expected).pvalue < 1e-5


def test_a_unit_never_counts_more_than_its_keys():
    """A person of many records moves the counts by at most the bound in l2 norm, whatever it writes."""
    budget = Budget(4.0, 2e-6, "record", (Measurement("phrases", 1.0, 7),), 1e-6)
    bound, weight = budget.compute_norm_bound("phrases"), round(NOISE_STEPS / measure(keys_per_unit=7).deviation)
    assert 7 * weight**2 <= bound**2 < 7 * (weight + 1) ** 2
    texts = [f"word{number} word{number + 1} word{number + 2}" for number in range(50)]
    # With a threshold far below zero every key that is counted shows.
    options = {"labels": np.zeros(50, dtype=int), "keys_per_unit": 7, "epsilon": 100.0, "selection_delta": 0.99}
    assert len(measure(texts, persons=["ann"] * 50, **options).ngrams) <= 7
    assert len(measure(texts, **options).ngrams) > 50


def test_the_keys_of_a_unit_are_a_uniform_choice():
    """Each word of a long text is counted equally often; a choice that prefers first words is rejected."""
    words = [f"w{number}" for number in range(10)]
    counts = measure([" ".join(words)] * 2_000, np.zeros(2_000, dtype=int), keys_per_unit=5, epsilon=100.0)
    singles = np.array([c for c, ngram in zip(counts.counts, counts.ngrams, strict=True) if len(ngram) == 1])
    assert len(singles) == 10
    # 10 words, 9 pairs and 8 triples share five keys of each record.
    expected = 2_000 * 5 / 27
    assert np.abs(singles - expected).max() < 6 * (math.sqrt(expected) + counts.deviation) < 0.35 * expected
    assert counts.deviation < 1


def test_parameters_outside_their_domain_are_refused():
    """No keys, and a probability outside (0, 1), are refused in one line."""
    for keys_per_unit, selection_delta in ((0, 1e-6), (3, 0.0), (3, 1.0), (3, math.nan)):
        with refuses("'keys_per_unit'" if keys_per_unit == 0 else "'selection_delta'"):
            compute_selection_threshold(1, keys_per_unit, selection_delta)
