"""Noisy counts of phrases: the bound on contributions, the threshold, the noise, what is released."""

import math

import mpmath
import numpy as np
import pytest
from scipy import stats

from deniable.core.errors import InputError
from deniable.persons.budget import NOISE_STEPS, Budget
from deniable.persons.collection import group_rows
from deniable.persons.ngram_counts import (
    compute_selection_threshold,
    format_ngram_counts,
    measure_ngram_counts,
    plan_ngram_measurement,
)
from deniable.vectors.discrete_noise import make_noise_generator

TEXTS = ["red fox"] * 400 + ["blue fox"] * 300 + ["rare wolf"]
LABELS = np.array([0] * 400 + [1] * 300 + [1])


def measure(texts=TEXTS, labels=LABELS, keys_per_unit=3, epsilon=4.0, selection_delta=1e-6, seed=0, persons=None):
    """Return the counts of a release that holds nothing else."""
    budget = Budget(
        epsilon,
        selection_delta + 1e-6,
        "record" if persons is None else "person",
        (plan_ngram_measurement("phrases", 1.0, keys_per_unit),),
        selection_delta,
    )
    units = group_rows(len(texts), persons)
    generator = make_noise_generator(seed)
    return measure_ngram_counts(budget, "phrases", texts, np.asarray(labels), units, generator)


def test_frequent_phrases_are_released_and_rare_ones_are_not():
    """Words and phrases of many records come out by class and alphabet, with counts near the true ones."""
    counts = measure()
    keys = list(zip(counts.codes.tolist(), counts.ngrams, strict=True))
    assert keys == [
        (0, ("fox",)),
        (0, ("red",)),
        (0, ("red", "fox")),
        *((1, n) for n in (("blue",), ("blue", "fox"), ("fox",))),
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


@pytest.mark.parametrize("sigma", [1, 3, 20])
def test_tails_of_discrete_noise_are_below_the_stated_bound(sigma):
    """For small parameters, where discreteness counts most, P[Z >= t] <= 1 - Phi((t - 1) / s) for all t >= 1."""
    values = np.arange(-40 * sigma, 40 * sigma + 1)
    law = np.exp(-(values**2) / (2 * sigma**2))
    law /= law.sum()
    for t in range(1, 8 * sigma):
        assert law[values >= t].sum() <= stats.norm.sf((t - 1) / sigma)


def test_keys_of_one_unit_pass_as_rarely_as_granted():
    """Among 10,000 lone units with three keys a tenth pass where a tenth is granted, not 30 % more or less."""
    # A class without other records for each unit: whether any of its keys is released.
    texts = ["lone wolf"] * 10_000
    counts = measure(texts, np.arange(10_000), epsilon=1.0, selection_delta=0.1)
    passed = len({*counts.codes.tolist()})
    # The three keys are independent, so that the union bound is met up to its square.
    expected = 1 - (1 - 0.1 / 3) ** 3
    assert stats.binomtest(passed, 10_000, expected).pvalue > 1e-6
    assert stats.binomtest(passed, 10_000, 0.7 * expected).pvalue < 1e-6
    assert stats.binomtest(passed, 10_000, 1.3 * expected).pvalue < 1e-6
    assert passed / 10_000 < 0.1 + 0.02


def test_a_unit_never_counts_more_than_its_keys():
    """A person of many records moves the counts by at most the bound in l2 norm, whatever it writes."""
    budget = Budget(1.0, 1e-6, "person", (plan_ngram_measurement("phrases", 1.0, 7),))
    bound = budget.compute_norm_bound("phrases")
    weight = math.isqrt(bound**2 // 7)
    assert 7 * weight**2 <= bound**2 < 7 * (weight + 1) ** 2
    texts = [f"word{number} word{number + 1} word{number + 2}" for number in range(50)]
    # With a threshold far below zero every key that is counted shows.
    options = {"labels": np.zeros(50, dtype=int), "keys_per_unit": 7, "epsilon": 100.0, "selection_delta": 0.99}
    assert len(measure(texts, persons=["ann"] * 50, **options).ngrams) <= 7
    assert len(measure(texts, **options).ngrams) > 50


def test_the_keys_of_a_unit_are_a_uniform_choice():
    """Each word of a long text is counted equally often; a choice that prefers first words is rejected."""
    words = [f"w{number}" for number in range(10)]
    counts = measure([" ".join(words)] * 4_000, np.zeros(4_000, dtype=int), keys_per_unit=5, epsilon=100.0)
    singles = np.array([c for c, ngram in zip(counts.counts, counts.ngrams, strict=True) if len(ngram) == 1])
    assert len(singles) == 10
    # 10 words, 9 pairs and 8 triples share five keys of each record.
    expected = 4_000 * 5 / 27
    assert np.abs(singles - expected).max() < 6 * (math.sqrt(expected) + counts.deviation)
    assert counts.deviation < 1


def test_records_without_a_class_count_nothing():
    """Rows of label -1 leave no trace, however many they are."""
    counts = measure(["grey owl"] * 500 + TEXTS, np.concatenate([np.full(500, -1), LABELS]))
    assert not any("owl" in ngram for ngram in counts.ngrams)
    assert any("fox" in ngram for ngram in counts.ngrams)


def test_a_table_has_a_row_for_each_phrase():
    """The table names class, phrase and count, quoted where a phrase holds a comma."""
    texts = ["red, fox"] * 500
    counts = measure(texts, np.zeros(500, dtype=int), keys_per_unit=6)
    lines = format_ngram_counts(counts, ["animals"]).split("\r\n")
    assert lines[0] == "class,ngram,count"
    assert len(lines) == len(counts.ngrams) + 2
    assert any(line.startswith('animals,"red , fox",') for line in lines)


def test_parameters_outside_their_domain_are_refused():
    """No keys, and a probability outside (0, 1), are refused in one line."""
    with pytest.raises(InputError, match="keys_per_unit"):
        compute_selection_threshold(1, 0, 1e-6)
    for selection_delta in (0.0, 1.0, math.nan):
        with pytest.raises(InputError, match="selection_delta"):
            compute_selection_threshold(1, 3, selection_delta)
