"""Running sums of tables at the ends of blocks: those of whole tables, and draws from them."""

import math

import numpy as np
import pytest

import deniable as dn
from deniable.core.stored_table import StoredTable
from deniable.words.laws import ExponentialKernel, block_sums
from deniable.words.laws.tables import build_integer_tables, sample_from_tables

COUNT = 700


@pytest.fixture(scope="module")
def space():
    """Return a space of 700 points, two of them so close that their distance comes from differences."""
    vectors = np.random.default_rng(0).normal(size=(COUNT, 7))
    vectors[300] = vectors[4] + 1e-9
    return dn.Space([f"w{i}" for i in range(COUNT)], vectors)


def kernels():
    """Return kernels with and without cutoff and weights."""
    weights = np.random.default_rng(1).uniform(0.01, 5, COUNT)
    zeros = np.where(np.arange(COUNT) % 3, weights, 0.0)
    return [
        ExponentialKernel(1.5),
        ExponentialKernel(40.0),
        ExponentialKernel(1.5, 2.0),
        ExponentialKernel(2.0, math.inf, weights),
        ExponentialKernel(2.0, 3.0, zeros),
    ]


@pytest.mark.parametrize("kernel", kernels())
@pytest.mark.parametrize("max_blocks", [200, 2])
@pytest.mark.parametrize("workers", [1, 2])
def test_sums_are_those_of_whole_tables(space, kernel, max_blocks, workers, monkeypatch):
    """At the end of every block the sum is, to the last unit, that of the whole row's table."""
    monkeypatch.setattr(block_sums, "_MAX_BLOCKS", max_blocks)
    table = block_sums.compute_block_sums(space, kernel, kernel.normalisers(space), workers)
    tables = build_integer_tables(kernel.rows(space.distances(range(COUNT))))
    width = block_sums.compute_block_width(COUNT)
    assert width == (256 if max_blocks == 200 else 512)
    ends = np.minimum(np.arange(width, COUNT + width, width), COUNT) - 1
    np.testing.assert_array_equal(table[:, :-3], tables[:, ends])
    assert table.shape[1] == block_sums.count_table_columns(COUNT)


@pytest.mark.parametrize("kernel", kernels())
@pytest.mark.parametrize("max_blocks", [200, 2])
def test_draws_are_those_of_whole_rows(space, kernel, max_blocks, monkeypatch):
    """The same bits give the same output by one block as by the whole row, at the ends of the range too."""
    monkeypatch.setattr(block_sums, "_MAX_BLOCKS", max_blocks)
    table = block_sums.compute_block_sums(space, kernel, kernel.normalisers(space))
    sums = block_sums.BlockSums(space.panels, kernel, StoredTable(table))
    generator = np.random.default_rng(3)
    points = generator.integers(COUNT, size=5000).astype(np.int32)
    bits = generator.integers(2**64, size=5000, dtype=np.uint64)
    bits[:2] = 0, 2**64 - 1
    out = np.empty(5000, dtype=np.int32)
    assert not len(sums.draw(points, bits, np.argsort(points), out))
    expected = sample_from_tables(space, lambda _, distances: kernel.rows(distances), points, bits)
    np.testing.assert_array_equal(out, expected)


def test_threads_share_the_draws(space, monkeypatch):
    """Many tokens are drawn by several threads, and come out as by one."""
    monkeypatch.setattr(block_sums, "_TOKENS_PER_THREAD", 100)
    kernel = kernels()[0]
    table = StoredTable(block_sums.compute_block_sums(space, kernel, kernel.normalisers(space)))
    sums = block_sums.BlockSums(space.panels, kernel, table)
    generator = np.random.default_rng(4)
    points = generator.integers(COUNT, size=1000).astype(np.int32)
    bits = generator.integers(2**64, size=1000, dtype=np.uint64)
    outs = [np.empty(1000, dtype=np.int32) for _ in range(2)]
    for workers, out in zip((1, 2), outs, strict=True):
        assert not len(sums.draw(points, bits, np.arange(1000), out, workers))
    np.testing.assert_array_equal(*outs)


def test_wrong_sums_are_noticed(space):
    """A block that does not add up to its stored sum is returned, and no other."""
    kernel = kernels()[0]
    table = block_sums.compute_block_sums(space, kernel, kernel.normalisers(space))
    table[5, 1] += 1
    sums = block_sums.BlockSums(space.panels, kernel, StoredTable(table))
    points = np.repeat(np.arange(10, dtype=np.int32), 3)
    bits = np.tile((np.array([0.0, 0.5, 0.9999]) * 2.0**64).astype(np.uint64), 10)
    wrong = sums.draw(points, bits, np.arange(30), np.empty(30, dtype=np.int32))
    assert set(points[wrong]) == {5}
    assert len(wrong) < 3
