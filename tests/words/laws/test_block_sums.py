"""Running sums of tables at the ends of blocks: those of whole tables, and draws from them."""

import math

import numpy as np
import pytest

import deniable as dn
from deniable.words.laws import block_sums

COUNT = 700
WEIGHTS = np.random.default_rng(1).uniform(0.01, 5, COUNT)
KERNELS = [
    dn.laws.ExponentialKernel(1.5),
    dn.laws.ExponentialKernel(2.0, 3.0, np.where(np.arange(COUNT) % 3, WEIGHTS, 0.0)),
    dn.laws.ExponentialKernel(40.0),
    dn.laws.ExponentialKernel(2.0, math.inf, WEIGHTS),
]
CASES = [pytest.param(kernel, marks=[pytest.mark.deep] if at > 1 else []) for at, kernel in enumerate(KERNELS)]


@pytest.fixture(scope="module")
def space():
    """Return a space of 700 points, two of them so close that their distance comes from differences."""
    vectors = np.random.default_rng(0).normal(size=(COUNT, 7))
    vectors[300] = vectors[4] + 1e-9
    return dn.Space([f"w{i}" for i in range(COUNT)], vectors)


def make_sums(space, kernel, table):
    """Return block sums over a table that is in memory."""
    return block_sums.BlockSums(space.panels, kernel, block_sums.StoredTable(table))


@pytest.mark.parametrize("kernel", CASES)
@pytest.mark.parametrize("max_blocks", [200, 2])
def test_sums_and_draws_are_those_of_whole_tables(space, kernel, max_blocks, monkeypatch):
    """Every block's sum is that of the whole row's table; the same bits draw the same output, by any threads."""
    monkeypatch.setattr(block_sums, "_MAX_BLOCKS", max_blocks)
    monkeypatch.setattr(block_sums, "_TOKENS_PER_THREAD", 1000)
    tables = np.cumsum(dn.laws.ExponentialLaw(space, kernel).tables(np.arange(COUNT)), axis=1)
    width = block_sums.compute_block_width(COUNT)
    assert width == (256 if max_blocks == 200 else 512)
    ends = np.minimum(np.arange(width, COUNT + width, width), COUNT) - 1
    generator = np.random.default_rng(3)
    points = generator.integers(COUNT, size=5000).astype(np.int32)
    bits = generator.integers(2**64, size=5000, dtype=np.uint64)
    bits[:2] = 0, 2**64 - 1
    numbers = (bits >> np.uint64(2)).astype(np.int64)
    expected = [
        np.searchsorted(tables[point], number, side="right") for point, number in zip(points, numbers, strict=True)
    ]
    for workers in (1, 2):
        table = block_sums.compute_block_sums(space, kernel, kernel.normalisers(space), workers)
        np.testing.assert_array_equal(table[:, :-3], tables[:, ends])
        assert table.shape[1] == block_sums.count_table_columns(COUNT)
        out = np.empty(5000, dtype=np.int32)
        assert not len(make_sums(space, kernel, table).draw(points, bits, np.argsort(points), out, workers))
        np.testing.assert_array_equal(out, expected)


def test_wrong_sums_are_noticed(space):
    """A block that does not add up to its stored sum is returned, and no other."""
    kernel = KERNELS[0]
    table = block_sums.compute_block_sums(space, kernel, kernel.normalisers(space))
    table[5, 1] += 1
    points = np.repeat(np.arange(10, dtype=np.int32), 3)
    bits = np.tile((np.array([0.0, 0.5, 0.9999]) * 2.0**64).astype(np.uint64), 10)
    wrong = make_sums(space, kernel, table).draw(points, bits, np.arange(30), np.empty(30, dtype=np.int32))
    assert set(points[wrong]) == {5}
    assert len(wrong) < 3
