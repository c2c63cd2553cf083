"""Noisy sums: exact norms of what single units add, whatever the weights, and the law of the noise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from deniable.persons import noisy_sums as module
from deniable.persons.budget import NOISE_STEPS, Budget, Measurement
from deniable.persons.collection import group_rows
from deniable.persons.linear_training import compute_contrasts
from deniable.persons.noisy_sums import ResidualSums, add_noise, measure_histogram
from deniable.vectors.discrete_noise import make_noise_generator
from tests.contracts.statistics import THRESHOLD

DIMENSIONS = 40
BUDGET = Budget(1.0, 1e-6, "person", (Measurement("bins", 1.0, 5),))
WEIGHTS = st.one_of(
    st.floats(-1e3, 1e3), st.floats(allow_nan=True, allow_infinity=True), st.sampled_from([1e300, -1e300, 5e-324])
)


def make_rows(lengths, seed=0, class_count=3):
    """Return sparse rows of norm 1 with so many features each (none for 0), and their classes."""
    coins = np.random.default_rng(seed)
    columns = [np.sort(coins.choice(DIMENSIONS, size, replace=False)) for size in lengths]
    values = [coins.normal(size=size) for size in lengths]
    values = [part / np.linalg.norm(part) for part in values]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    labels = coins.integers(0, class_count, len(lengths))
    return offsets, np.concatenate(columns).astype(np.int64), np.concatenate(values), labels


def take_rows(arrays, kept):
    """Return some of the sparse rows."""
    offsets, columns, values, labels = arrays
    places = np.concatenate([np.arange(0), *(np.arange(offsets[row], offsets[row + 1]) for row in kept)]).astype(int)
    lengths = [offsets[row + 1] - offsets[row] for row in kept]
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), columns[places], values[places], labels[kept]


def sum_units(arrays, persons, weights, clip=0.7, bound=NOISE_STEPS):
    """Return the sum over units as exact integers."""
    sums = ResidualSums(*arrays, group_rows(len(arrays[3]), persons), compute_contrasts(weights.shape[1] + 1))
    return sums.sum_gradients(weights, clip, bound).astype(object)


def has_norm_within(vector, bound):
    """Say whether an integer vector's l2 norm is at most a bound, in exact arithmetic."""
    return sum(int(number) ** 2 for number in np.ravel(vector)) <= bound**2


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 12), min_size=1, max_size=8),
    st.integers(0, 10**6),
    st.integers(2, 6),
    st.lists(WEIGHTS, min_size=1, max_size=6),
    st.sampled_from([1, 7, 1 << 20, NOISE_STEPS, 1 << 44]),
)
def test_no_unit_adds_more_than_its_bound(lengths, seed, class_count, weights, bound):
    """For any weights, infinite and NaN ones too, the exact norm of D minus D' is at most B for every unit left out."""
    coins = np.random.default_rng(seed)
    arrays = make_rows(lengths, seed, class_count)
    matrix = coins.choice(weights, (DIMENSIONS, class_count - 1))
    persons = coins.integers(0, 3, len(lengths)).tolist()
    whole = sum_units(arrays, persons, matrix, bound=bound)
    for person in {*persons}:
        kept = np.array([row for row, one in enumerate(persons) if one != person], dtype=int)
        others = sum_units(take_rows(arrays, kept), [persons[row] for row in kept], matrix, bound=bound)
        mine = np.array([row for row, one in enumerate(persons) if one == person])
        alone = sum_units(take_rows(arrays, mine), None if len(mine) == 1 else ["me"] * len(mine), matrix, bound=bound)
        assert has_norm_within(whole - others, bound)
        assert (whole - others == alone).all()  # what one adds is the same to the last bit, whoever else is there


@pytest.mark.parametrize("class_count", [2, 3, 10, 50])
def test_clipped_units_reach_their_bound(class_count):
    """A unit beyond the clipping norm adds B to a millionth, one below it its share of B."""
    arrays = make_rows([30] * 20, class_count=class_count)
    weights = np.random.default_rng(1).normal(size=(DIMENSIONS, class_count - 1))
    for clip, share in ((1e-3, 1.0), (20.0, None)):
        total = sum_units(arrays, ["me"] * 20, weights, clip).astype(float)
        assert has_norm_within(total.astype(object).astype(int), NOISE_STEPS)
        norm = np.linalg.norm(total) / NOISE_STEPS
        if share:
            assert norm == pytest.approx(share, abs=2e-6)
        else:
            assert norm < 0.99


def test_unclipped_sums_are_the_gradient():
    """Without clipping the sums are A^T (e_y - softmax) times the features, as computed with matrices."""
    arrays = make_rows([9, 3, 12, 1])
    weights = np.random.default_rng(2).normal(size=(DIMENSIONS, 2))
    dense = np.zeros((4, DIMENSIONS))
    for row in range(4):
        part = slice(arrays[0][row], arrays[0][row + 1])
        dense[row, arrays[1][part]] = arrays[2][part]
    contrasts = compute_contrasts(3)
    scores = np.exp(dense @ weights @ contrasts.T)
    residuals = (np.eye(3)[arrays[3]] - scores / scores.sum(axis=1, keepdims=True)) @ contrasts
    expected = dense.T @ residuals
    for persons in (None, ["a", "a", "b", "b"]):
        found = sum_units(arrays, persons, weights, clip=10.0).astype(float) * 10.0 / NOISE_STEPS
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_one_person_with_a_hundred_thousand_rows():
    """So many rows of one person add no more than one bound."""
    arrays = make_rows([3] * 100_000)
    weights = np.random.default_rng(3).normal(size=(DIMENSIONS, 2))
    assert has_norm_within(sum_units(arrays, ["me"] * 100_000, weights, clip=1.75), NOISE_STEPS)


def test_rows_of_no_class_add_nothing():
    """A row whose class is none of the K adds nothing to its person's sum."""
    arrays = make_rows([5, 5])
    weights = np.ones((DIMENSIONS, 2))
    alone = sum_units(take_rows(arrays, np.array([0])), ["me"], weights)
    for label in (-1, 3, 1 << 40):
        with_other = (*arrays[:3], np.array([arrays[3][0], label]))
        assert (sum_units(with_other, ["me", "me"], weights) == alone).all()


def test_workers_change_nothing(monkeypatch):
    """One worker or seven give the same integers."""
    arrays, weights = make_rows([6] * 50), np.ones((DIMENSIONS, 2))
    sums = []
    for workers in (1, 7):
        monkeypatch.setattr(module, "count_cores", lambda count=workers: count)
        sums.append(sum_units(arrays, None, weights))
    assert (sums[0] == sums[1]).all()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-2, 6), st.sampled_from("abc")), min_size=1, max_size=40), st.integers(1, 1 << 42)
)
def test_histograms_are_clipped_exactly(rows, bound):
    """The counts of each person add at most B to a histogram, to 2^-39 their scaled counts; others add nothing."""
    bins, persons = np.array([one for one, _ in rows]), [person for _, person in rows]
    for person in {*persons}:
        mine = np.array([row for row, one in enumerate(persons) if one == person])
        sums = np.zeros(5, dtype=np.int64)
        units = group_rows(len(mine), ["me"] * len(mine))
        module._sum_histograms(bins[mine], units.rows, units.offsets, float(bound), sums, np.zeros(5))
        counts = np.bincount(bins[mine][(bins[mine] >= 0) & (bins[mine] < 5)], minlength=5)
        assert has_norm_within(sums, bound)
        np.testing.assert_allclose(sums, counts * bound / max(np.linalg.norm(counts), 1.0), rtol=2.0**-39, atol=1.0)


def test_noise_of_a_histogram_has_the_promised_deviation():
    """The noise of a histogram fits the normal law of deviation s / B in rows, and none 30 % off on either side."""
    bins, units = np.array([0, 0, 1, 4]), group_rows(4)
    generator = make_noise_generator(5)
    draws = [measure_histogram(BUDGET, "bins", bins, units, 5, generator) - [2, 1, 0, 0, 1] for _ in range(400)]
    deviation = NOISE_STEPS / BUDGET.compute_norm_bound("bins")
    noise = np.ravel(draws) / deviation
    assert stats.kstest(noise, "norm").pvalue > THRESHOLD
    for factor in (0.7, 1.3):
        assert stats.kstest(noise / factor, "norm").pvalue < THRESHOLD


def test_noise_of_sums_has_its_parameter():
    """Sums are the true ones plus discrete Gaussian noise of parameter s, fresh on every coordinate."""
    sums = np.arange(4_000, dtype=np.int64).reshape(1_000, 4) << 40
    noise = np.ravel(add_noise(sums, make_noise_generator(6)) - sums) / NOISE_STEPS
    assert stats.kstest(noise, "norm").pvalue > THRESHOLD
    for factor in (0.7, 1.3):
        assert stats.kstest(noise / factor, "norm").pvalue < THRESHOLD
    assert len(np.unique(noise)) == 4_000
