"""Noisy sums: exact norms of what single units add, whatever the weights, the law of the noise, the descent on them."""

import inspect
import itertools
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from randomgen import AESCounter
from scipy import stats

from deniable.persons import linear_training, noisy_sums
from deniable.persons.budget import NOISE_STEPS, Budget, Measurement
from deniable.persons.collection import group_rows
from deniable.persons.histograms import COUNT_MEASUREMENT, find_nominal_count, plan_count_measurement
from deniable.persons.linear_training import (
    STEPS,
    compute_contrasts,
    fit_private_weights,
    fit_public_weights,
    plan_linear_measurement,
    plan_linear_training,
    sum_residuals,
)
from deniable.persons.noisy_sums import ResidualSums, add_noise, measure_histogram
from tests.contracts.statistics import THRESHOLD
from tests.persons.collections import MAP, draw_reviews
from tests.refusals import refuses

DIMENSIONS = 40
BUDGET = Budget(1.0, 1e-6, "person", (Measurement("bins", 1.0, 5), *plan_count_measurement(None)))
WEIGHTS = st.one_of(
    st.floats(-1e3, 1e3), st.floats(allow_nan=True, allow_infinity=True), st.sampled_from([1e300, -1e300, 5e-324])
)
SPELLINGS = {
    "17": ["17", "17.0", "17.00", "17.", " 17\t", "1.7e+01", 17, 17.0, np.float32(17), np.int16(17), Decimal("17.0")],
    "é": ["é", "e\u0301", "\u00a0é "],
    "10000000000000000": ["1e+16", "1.0E16", "10000000000000000", 10**16, np.uint64(10**16)],
    "0": [0, "-0", "-0.0", -0.0, "0.", "0e+00"],
    "1e5": ["1e5"],
    "١": ["١"],
}
ROWS = st.lists(st.sampled_from([(name, one) for name, listed in SPELLINGS.items() for one in listed]), max_size=30)


def list_units(units):
    """Return the rows of every unit, as a set of tuples."""
    return {tuple(units.rows[first:last].tolist()) for first, last in itertools.pairwise(units.offsets.tolist())}


@settings(max_examples=30)
@given(ROWS, st.one_of(st.none(), st.integers(1, 5)))
def test_a_person_is_one_unit(rows, maximum):
    """However a person is written, a unit holds their first rows, in order, whoever else is there or left out."""
    names, spellings = [name for name, _ in rows], [one for _, one in rows]
    expected = {tuple([row for row, other in enumerate(names) if other == name][:maximum]) for name in {*names}}
    units = group_rows(len(rows), spellings, maximum)
    assert list_units(units) == expected
    assert (len(units), units.unit) == (len(expected), "person")
    for left_out in SPELLINGS:
        others = [row for row, name in enumerate(names) if name != left_out]
        smaller = group_rows(len(others), [spellings[row] for row in others], maximum)
        kept = {unit for unit in expected if names[unit[0]] != left_out}
        assert {tuple(others[row] for row in unit) for unit in list_units(smaller)} == kept


def test_records_are_units():
    """Without persons each row is a unit by itself; who names nobody, and columns of other lengths, are refused."""
    units = group_rows(3)
    assert (list_units(units), units.unit, len(group_rows(0))) == ({(0,), (1,), (2,)}, "record", 0)
    for person in (None, float("nan"), "", "\u2003", True, b"a", 1.5, 2.0**53, ("a",), Decimal("1.5")):
        with refuses("Persons: "):
            group_rows(3, ["a", person, "b"])
    with refuses("Got 2"):
        group_rows(3, ["a", "b"])
    with refuses("'maximum'"):
        group_rows(2, ["a", "b"], 0)


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


def check_contributions(lengths, seed, class_count, weights, bound):
    """Check that whoever is left out of a collection moves its sum by at most the bound, and by their own part."""
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


COLLECTIONS = (
    st.lists(st.integers(0, 12), min_size=1, max_size=8),
    st.integers(0, 10**6),
    st.integers(2, 6),
    st.lists(WEIGHTS, min_size=1, max_size=6),
    st.sampled_from([1, 7, 1 << 20, NOISE_STEPS, 1 << 44]),
)


@settings(max_examples=25)
@given(*COLLECTIONS)
def test_no_unit_adds_more_than_its_bound(lengths, seed, class_count, weights, bound):
    """For any weights, infinite and NaN ones too, the exact norm of D minus D' is at most B for every unit left out."""
    check_contributions(lengths, seed, class_count, weights, bound)


@pytest.mark.deep
@settings(max_examples=300)
@given(*COLLECTIONS)
def test_no_unit_adds_more_than_its_bound_in_many_collections(lengths, seed, class_count, weights, bound):
    """The same of many more collections."""
    check_contributions(lengths, seed, class_count, weights, bound)


@pytest.mark.parametrize("class_count", [2, 10, pytest.param(50, marks=pytest.mark.deep)])
def test_clipped_units_reach_their_bound(class_count):
    """A unit beyond the clipping norm adds B to a millionth, one below it its share of B."""
    contrasts = compute_contrasts(class_count)  # orthonormal columns that sum to 0
    np.testing.assert_allclose(contrasts.T @ contrasts, np.eye(class_count - 1), atol=1e-12)
    np.testing.assert_allclose(contrasts.sum(axis=0), 0, atol=1e-12)
    arrays = make_rows([30] * 20, class_count=class_count)
    weights = np.random.default_rng(1).normal(size=(DIMENSIONS, class_count - 1))
    for clip, low, high in ((1e-3, 1 - 2e-6, 1), (20.0, 0, 0.99)):
        total = sum_units(arrays, ["me"] * 20, weights, clip)
        assert has_norm_within(total, NOISE_STEPS)
        assert low <= np.linalg.norm(total.astype(float)) / NOISE_STEPS <= high


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


def test_rows_of_no_class_and_of_many(monkeypatch):
    """Rows of no class add nothing, thousands of one person no more than a bound; workers change nothing."""
    arrays, weights = make_rows([5, 5]), np.ones((DIMENSIONS, 2))
    alone = sum_units(take_rows(arrays, np.array([0])), ["me"], weights)
    for label in (-1, 3, 1 << 40):
        with_other = (*arrays[:3], np.array([arrays[3][0], label]))
        assert (sum_units(with_other, ["me", "me"], weights) == alone).all()
    count = 20_000
    many = make_rows([3] * 100)
    repeated = (np.arange(count + 1) * 3, *(np.tile(part, count // 100) for part in many[1:]))
    assert has_norm_within(sum_units(repeated, ["me"] * count, weights, clip=1.75), NOISE_STEPS)
    sums = []
    for workers in (1, 7):
        monkeypatch.setattr(noisy_sums, "count_cores", lambda number=workers: number)
        sums.append(sum_units(many, None, weights))
    assert (sums[0] == sums[1]).all()


@pytest.mark.parametrize("kind", ["record", "person"])
def test_one_unit_of_real_texts_moves_a_sum_within_its_bound(kind):
    """Leaving out one record or person moves the weights' first sum by at most B, in exact integers, for real texts."""
    texts, codes = draw_reviews(60)
    rows, weights = MAP.extract_features(texts), np.random.default_rng(0).normal(size=(len(MAP), 1))
    owners = [*range(60)] if kind == "record" else [row % 7 for row in range(60)]
    arrays = rows.indptr, rows.indices, rows.data
    whole = sum_units((*arrays, codes), owners, weights)
    for owner in {*owners}:
        without = np.where(np.array(owners) == owner, -1, codes)  # a row without a class adds nothing
        moved = whole - sum_units((*arrays, without), owners, weights)
        assert np.any(moved != 0)
        assert has_norm_within(moved, NOISE_STEPS)


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.integers(-2, 6), st.sampled_from("abc")), min_size=1, max_size=40), st.integers(1, 1 << 42)
)
@example([(0, "a")], 1 << 42)
@example([(number, "a") for number in (0, 0, 1, 2, 3)], (1 << 42) - 1)
def test_histograms_are_clipped_exactly(rows, bound):
    """The counts of each person add at most B to a histogram, to 2^-39 their scaled counts; others add nothing."""
    budget = Budget(1.0, 1e-6, "person", (Measurement("bins", 1.0, 5),))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Budget, "compute_norm_bound", lambda *_: bound)
        patch.setattr(noisy_sums, "add_noise", lambda sums, _: sums.astype(object))
        for person in {person for _, person in rows}:
            bins = np.array([one for one, other in rows if other == person])
            units = group_rows(len(bins), ["me"] * len(bins))
            sums = [round(one * bound) for one in measure_histogram(budget, "bins", bins, units, 5, None)]
            counts = np.bincount(bins[(bins >= 0) & (bins < 5)], minlength=5)
            assert has_norm_within(sums, bound)
            expected = counts * bound / max(np.linalg.norm(counts), 1.0)
            np.testing.assert_allclose(np.array(sums, dtype=float), expected, rtol=2.0**-38, atol=1.0)


def check_normal(noise):
    """Check that noise in its stated deviations fits the normal law, and none 30 % off on either side."""
    assert stats.kstest(noise, "norm").pvalue > THRESHOLD
    for factor in (0.7, 1.3):
        assert stats.kstest(noise / factor, "norm").pvalue < THRESHOLD


def test_noise_has_its_parameter():
    """Sums, histograms and numbers of units have fresh noise of the promised deviation on every coordinate."""
    sums = np.arange(4_000, dtype=np.int64).reshape(1_000, 4) << 40
    noise = np.ravel(add_noise(sums, AESCounter(key=6)) - sums) / NOISE_STEPS
    check_normal(noise)
    assert len(np.unique(noise)) == 4_000
    bins, generator = np.array([0, 0, 1, 4]), AESCounter(key=5)
    draws = [measure_histogram(BUDGET, "bins", bins, group_rows(4), 5, generator) - [2, 1, 0, 0, 1] for _ in range(400)]
    check_normal(np.ravel(draws) * BUDGET.compute_norm_bound("bins") / NOISE_STEPS)
    units = group_rows(3_000, [row // 3 for row in range(3_000)])  # a person with many rows counts once
    values = np.array([find_nominal_count(None, BUDGET, units, generator) for _ in range(2_000)])
    noise = values - 1_000 + np.random.default_rng(0).uniform(-0.5, 0.5, 2_000)
    check_normal(noise * BUDGET.compute_norm_bound(COUNT_MEASUREMENT) / NOISE_STEPS)


def test_nominal_numbers():
    """A declared number is taken as it is and costs nothing; a measured one is at least 1, whatever the noise."""
    assert plan_count_measurement(7) == ()
    assert find_nominal_count(7, BUDGET, group_rows(100), AESCounter(key=0)) == 7
    values = [find_nominal_count(None, BUDGET, group_rows(0), AESCounter(key=seed)) for seed in range(20)]
    assert min(values) == 1 < max(values)


TEXTS, CODES = draw_reviews(60)
FEATURES = MAP.extract_features(TEXTS)


def make_budget(epsilon=4.0, unit="record"):
    """Return a budget for the descent alone."""
    return Budget(epsilon, 1e-6, unit, (plan_linear_measurement(len(MAP), 2),))


def test_the_plan_knows_public_numbers_alone():
    """The plan takes a budget and a nominal number; the noise is s C / B, and the step small where noise is large."""
    assert list(inspect.signature(plan_linear_training).parameters) == ["budget", "nominal_count"]
    measurement = plan_linear_measurement(len(MAP), 5)
    assert (measurement.coordinates, measurement.sums) == (4 * len(MAP), STEPS)
    budget = make_budget()
    plan = plan_linear_training(budget, 1_000)
    assert plan.noise == pytest.approx(NOISE_STEPS / budget.compute_norm_bound("classifier") * plan.clip)
    rates = [plan_linear_training(make_budget(one), count).rate for one, count in ((1, 500), (4, 500), (4, 5e7))]
    assert rates == sorted(rates)
    assert rates[-1] == 512
    assert plan_linear_training(make_budget(unit="person"), 1_000).clip > plan.clip


@pytest.mark.parametrize(
    "start", [np.zeros((len(MAP), 1)), np.random.default_rng(4).normal(size=(len(MAP), 1))], ids=["zeros", "given"]
)
def test_every_step_follows_the_formula(monkeypatch, start):
    """The weights are those of the documented formula from T noisy sums, as many as the budget counts."""
    budget, count, units, shapes, progress = make_budget(), 70.0, group_rows(len(TEXTS)), [], []
    before = start.copy()

    def note_noise(sums, generator):
        shapes.append(sums.shape)
        return add_noise(sums, generator)

    monkeypatch.setattr(linear_training, "add_noise", note_noise)
    sums = sum_residuals(FEATURES, CODES, units, 2)
    found = fit_private_weights(
        sums, start, MAP, budget, count, AESCounter(key=9), lambda done, total: progress.append((done, total))
    )
    assert sum(rows * columns for rows, columns in shapes) == budget.coordinates
    assert progress == [(step, STEPS) for step in range(1, STEPS + 1)]
    plan, generator = plan_linear_training(budget, count), AESCounter(key=9)
    bound = budget.compute_norm_bound("classifier")
    weights, visited = start, []
    for _ in range(STEPS):
        noisy_sum = add_noise(sums.sum_gradients(weights, plan.clip, bound), generator)
        weights = weights + plan.rate / count * MAP.condition(noisy_sum * (plan.clip / bound))
        visited.append(weights)
    np.testing.assert_allclose(found, np.mean(visited[STEPS // 2 :], axis=0), rtol=1e-9, atol=1e-12)
    assert np.array_equal(start, before)  # left as it was


def test_public_weights_learn():
    """Weights learned in the open tell the classes of other texts apart."""
    weights = fit_public_weights(FEATURES, CODES, MAP, 2)
    texts, codes = draw_reviews(200, seed=5)
    rows = MAP.extract_features(texts)
    scores = rows @ weights[:, 0]
    assert np.mean((scores * compute_contrasts(2)[1, 0] > 0) == (codes == 1)) > 0.9
