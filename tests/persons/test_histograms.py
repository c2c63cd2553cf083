"""Noisy histograms: shares on average true, domains as they are declared, and values outside counted nowhere."""

import numpy as np
import pytest

from deniable.core.errors import InputError
from deniable.persons.budget import Budget
from deniable.persons.collection import group_rows
from deniable.persons.histograms import (
    LENGTH_EDGES,
    ColumnDomain,
    find_length_bins,
    measure_class_shares,
    measure_column_shares,
    measure_length_shares,
    normalize_shares,
    parse_domain,
    plan_histograms,
)
from deniable.vectors.discrete_noise import make_noise_generator

STARS = parse_domain("stars=1..3")
CLEAR = Budget(900.0, 1e-6, "record", plan_histograms(2, (STARS,)))
"""So large a budget that the noise is a small part of a row."""


def test_shares_are_the_nearest_ones():
    """Counts with a positive sum become the nearest shares of that sum, as a search over thresholds finds them."""
    coins = np.random.default_rng(0)
    for _ in range(50):
        counts = coins.normal(2, 5, 12)
        shares = normalize_shares(counts)
        assert shares.min() >= 0
        assert shares.sum() == pytest.approx(1)
        if counts.sum() > 0:
            thresholds = np.linspace(0, counts.max(), 200_001)
            sums = np.maximum(counts - thresholds[:, None], 0).sum(axis=1)
            nearest = np.maximum(counts - thresholds[np.argmin(abs(sums - counts.sum()))], 0) / counts.sum()
            assert shares == pytest.approx(nearest, abs=1e-3)


@pytest.mark.parametrize("counts", [[0.0, 0.0], [-3.0, 1.0], [-1.0, -1.0]])
def test_shares_of_nothing(counts):
    """Where the noise leaves no positive sum all shares are equal."""
    assert normalize_shares(np.array(counts)).tolist() == [0.5, 0.5]


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
    texts = ["", "a", "a b", " ".join("a" * 100), " ".join("a" * 9_000)]
    bins = find_length_bins(texts)
    assert bins.tolist()[:3] == [0, 0, 1]
    assert LENGTH_EDGES[bins[3]] <= 100 < LENGTH_EDGES[bins[3] + 1]
    assert bins[4] == len(LENGTH_EDGES) - 2


def test_measured_shares_are_near_the_true_ones():
    """With a large budget classes, lengths and columns by class are those of the records, others counted nowhere."""
    labels = np.array([0] * 300 + [1] * 100)
    cells = ["1"] * 150 + [" 2 "] * 150 + ["3"] * 80 + [None] * 10 + ["4"] * 5 + ["zork"] * 5
    units = group_rows(400)
    generator = make_noise_generator(3)
    assert measure_class_shares(CLEAR, labels, units, 2, generator) == pytest.approx([0.75, 0.25], abs=0.01)
    lengths = measure_length_shares(CLEAR, ["a b"] * 400, units, generator)
    assert lengths[1] == pytest.approx(1, abs=0.03)
    shares = measure_column_shares(CLEAR, STARS, cells, labels, units, 2, generator)
    assert shares == pytest.approx(np.array([[0.5, 0.5, 0], [0, 0, 1]]), abs=0.02)


def test_a_label_that_is_no_class_counts_nowhere():
    """A record of no class adds nothing to a column, whatever its value."""
    shares = measure_column_shares(
        CLEAR, STARS, ["1"] * 60 + ["3"] * 60, np.array([0] * 60 + [-1] * 60), group_rows(120), 2,
        make_noise_generator(3),
    )  # fmt: skip
    assert shares[0] == pytest.approx([1, 0, 0], abs=0.02)


@pytest.mark.parametrize(
    ("text", "name", "values", "is_integer"),
    [
        ("stars=1..3", "stars", ("1", "2", "3"), True),
        ("t=-1..1", "t", ("-1", "0", "1"), True),
        ("city=Köln, Łódź,東京", "city", ("Köln", "Łódź", "東京"), False),
        ("a b=x=1,y", "a b", ("x=1", "y"), False),
        ("n=1,2", "n", ("1", "2"), False),
        ('city="Paris, Texas", Rome', "city", ("Paris, Texas", "Rome"), False),
        ('inch="5"" disk",3', "inch", ('5" disk', "3"), False),
    ],
)
def test_domains(text, name, values, is_integer):
    """A domain is a span of integers, or a list of values with commas between them."""
    assert parse_domain(text) == ColumnDomain(name, values, is_integer)


def test_values_by_their_numbers():
    """Values of a span are integers, others texts."""
    assert STARS.take_values(np.array([2, 0])) == [3, 1]
    assert ColumnDomain("n", ("1", "2")).take_values(np.array([1])) == ["2"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("stars", "NAME=LOW..HIGH or NAME=A,B,... Got 'stars'"),
        ("=1..5", "Got '=1..5'"),
        ("stars=", "Got 'stars='"),
        ("stars=5..1", "from a lower to a higher number. Got 'stars=5..1'"),
        ("stars=1..1", "from a lower to a higher number"),
        ("stars=0..10000", "more than 10,000 values"),
        ("stars=1", "must be 2 to 10,000 different values. Got 1"),
        ("stars=a,b,a", "The domain of 'stars' names 'a' twice"),
        ("stars=a,,b", "The domain of 'stars' must list names"),
        ('stars=a,"b', "The domain of 'stars' 'a,\"b' is no list such as a,b"),
    ],
)
def test_refused_domains(text, problem):
    """A domain that is written otherwise, or lists too few, too many or equal values, is refused in one line."""
    with pytest.raises(InputError) as error:
        parse_domain(text)
    assert problem in str(error.value)
    assert "\n" not in str(error.value)
