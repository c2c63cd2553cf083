"""Integer tables, draws from them, and the shares computed from a law."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import deniable as dn
from deniable.words.laws import tables
from tests.refusals import refuses


def as_row(weights):
    """Return weights as a row of probabilities."""
    row = np.array(weights, dtype=float)
    return row / row.sum()


ROWS = st.one_of(
    st.lists(st.floats(0, 1), min_size=1, max_size=40),
    st.lists(st.floats(0, 400).map(lambda x: math.exp(-x)), min_size=1, max_size=40),
    st.lists(st.sampled_from([0.0, 1e-300, 1e-18, 0.5, 1.0]), min_size=1, max_size=40),
).filter(lambda weights: sum(weights) > 0)


def running_sums(rows):
    """Return the running sums (k, n) of the tables of rows."""
    return np.cumsum(tables.compute_table_entries(rows), axis=1)


def reference_table(row):
    """Return the entries of the integer table in Python's own unbounded integers."""
    room = float(2**62 - len(row) * 2**24)
    entries = [2**24 + int(room * float(p)) for p in row]
    entries[int(np.argmax(row))] += 2**62 - sum(entries)
    return entries


@settings(max_examples=40)
@given(ROWS)
@example([1.0])
@example([0.0, 1.0, 0.0])
@example([1.0] * 7)
def test_table_is_the_one_of_unbounded_integers(weights):
    """The running sums are, to the last unit, those of the definition in Python integers."""
    row = as_row(weights)
    sums = running_sums(row[None])[0]
    assert sums.tolist() == list(itertools.accumulate(reference_table(row)))


@settings(max_examples=40)
@given(ROWS)
def test_table_is_a_floored_distribution(weights):
    """Entries sum to exactly 2^62, none is below the floor, larger probabilities have larger entries."""
    row = as_row(weights)
    sums = running_sums(row[None])[0]
    entries = np.diff(sums, prepend=0)
    assert sums[-1] == 2**62
    assert entries.min() >= tables.TABLE_FLOOR == 2**24
    rest = np.delete(np.arange(len(row)), np.argmax(entries))
    order = rest[np.argsort(row[rest], kind="stable")]
    assert (np.diff(entries[order]) >= 0).all()
    mixture = row * (1 - len(row) * 2**-38) + 2**-38
    assert np.abs(entries / 2**62 - mixture).max() < 1e-15 * len(row)


@pytest.mark.deep
def test_tables_of_glove(glove):
    """The tables of 50,000 words sum to exactly 2^62 and leave no word out."""
    rows = dn.TEM(glove, epsilon=3.0).law.rows([0, 1, 49_999])
    sums = running_sums(rows)
    assert sums[:, -1].tolist() == [2**62] * 3
    assert np.diff(sums, axis=1, prepend=0).min() >= tables.TABLE_FLOOR
    assert sums[0].tolist() == list(itertools.accumulate(reference_table(rows[0])))


@pytest.fixture(scope="module")
def line():
    """Return four words on a line."""
    return dn.Space(["a", "b", "c", "d"], [[0.0], [1.0], [2.5], [4.0]])


def exponential_rows(points, distances):
    """Return the exponential law at scale 1 without cutoff."""
    del points
    return dn.laws.ExponentialKernel(1.0)(None, distances)


@settings(max_examples=40)
@given(bits=st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=50), seed=st.integers(0, 100))
def test_draw_follows_the_running_sums(line, bits, seed):
    """The word drawn is the first whose running sum exceeds the upper 62 bits, whatever the order of tokens."""
    points = np.random.default_rng(seed).integers(4, size=len(bits)).astype(np.int32)
    law = dn.laws.TabulatedLaw(line, exponential_rows)
    drawn = tables.sample_from_tables(law, points, np.array(bits, dtype=np.uint64))
    sums = running_sums(exponential_rows(range(4), line.distances(range(4)))).tolist()
    expected = [next(y for y in range(4) if bit >> 2 < sums[point][y]) for point, bit in zip(points, bits, strict=True)]
    assert drawn.tolist() == expected
    assert drawn.dtype == np.int32


def test_draw_at_the_edges(line):
    """The least and the largest number draw the first and the last word; each sum begins the next word."""
    sums = running_sums(exponential_rows(range(4), line.distances(range(4))))[1]
    bits = [0, 2**64 - 1, *(4 * int(total) - 1 for total in sums[:3]), *(4 * int(total) for total in sums[:3])]
    points = np.ones(len(bits), dtype=np.int32)
    law = dn.laws.TabulatedLaw(line, exponential_rows)
    drawn = tables.sample_from_tables(law, points, np.array(bits, dtype=np.uint64))
    assert drawn.tolist() == [0, 3, 0, 1, 2, 1, 2, 3]


@pytest.mark.parametrize("count", [1, 37, 5000])
@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])
def test_many_draws_of_one_word(small_space, count, scale):
    """However often a row is drawn from, and however steep it is, each draw is where a binary search finds it."""
    family = dn.laws.ExponentialKernel(scale)
    bits = np.random.default_rng(count).integers(2**64, size=count, dtype=np.uint64)
    sums = running_sums(family(None, small_space.distances([7])))[0]
    # Every running sum, and the number before it, besides.
    bits = np.concatenate([bits, *(4 * (sums[:-1] - before).astype(np.uint64) for before in (0, 1))])
    law = dn.laws.ExponentialLaw(small_space, family)
    drawn = tables.sample_from_tables(law, np.full(len(bits), 7, dtype=np.int32), bits)
    expected = np.searchsorted(sums, (bits >> np.uint64(2)).astype(np.int64), side="right")
    np.testing.assert_array_equal(drawn, expected)


def test_draw_covers_several_blocks():
    """Every token gets its own point's law where the points fill several blocks; no tokens get none."""
    space = dn.Space([f"w{number}" for number in range(150)], 100.0 * np.arange(150)[:, None])
    points = np.random.default_rng(0).integers(150, size=2000).astype(np.int32)
    bits = np.random.default_rng(1).integers(2**63, size=2000, dtype=np.uint64)
    for end in (0, 2000):
        for workers in (1, 2):
            drawn = tables.sample_from_tables(
                dn.laws.TabulatedLaw(space, exponential_rows), points[:end], bits[:end], workers
            )
            np.testing.assert_array_equal(drawn, points[:end])


@pytest.mark.parametrize(
    "row",
    [
        [0.5] * 12,
        [0.5] * 10,  # sums to 5: the residue of the table is 0 in 64 bits
        [0.0] * 12,
        [1.1, -0.1],
        [math.nan] * 3,
        [math.inf, 0.0],
        [1e300, 0.0],
        [0.5, 0.4999],
    ],
)
def test_no_table_of_what_is_no_distribution(line, row):
    """Neither a table is made, nor a word drawn, of numbers that are no probabilities."""
    with refuses("distribution"):
        running_sums(np.array([row]))
    four = np.resize(row, 4) if row != [0.5] * 10 else np.array([1.25] * 4)
    with refuses("distribution"):
        law = dn.laws.TabulatedLaw(line, lambda _, d: np.resize(four, d.shape))
        tables.sample_from_tables(law, np.zeros(3, dtype=np.int32), np.zeros(3, dtype=np.uint64))
