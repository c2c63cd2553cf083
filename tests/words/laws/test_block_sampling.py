"""Draws by block sums and by whole rows: the same, whatever is stored."""

import pickle

import numpy as np
import pytest

import deniable as dn
from deniable.core import cache
from deniable.words.laws import ExponentialKernel, ExponentialLaw, block_sampling
from deniable.words.laws.block_sampling import BlockSampler
from deniable.words.laws.tables import sample_from_tables

COUNT = 600


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Return an empty cache folder of this test's own."""
    monkeypatch.setenv("DENIABLE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def space():
    """Return a space of 600 points."""
    return dn.Space([f"w{i}" for i in range(COUNT)], np.random.default_rng(0).normal(size=(COUNT, 5)))


KERNEL = ExponentialKernel(1.2)


def make_sampler(space):
    """Return a sampler as a process makes it."""
    return BlockSampler(space, space.panels, KERNEL, lambda _, distances: KERNEL.rows(distances))


def make_tokens(count):
    """Return points and bits, some points often."""
    generator = np.random.default_rng(count)
    points = np.minimum(generator.geometric(0.02, size=count), COUNT - 1).astype(np.int32)
    return points, generator.integers(2**64, size=count, dtype=np.uint64)


def draw_by_rows(space, points, bits):
    """Return what whole rows give."""
    return sample_from_tables(space, lambda _, distances: KERNEL.rows(distances), points, bits)


@pytest.mark.parametrize("count", [0, 1, 5, 2000, 50_000])
@pytest.mark.parametrize("prepared", [False, True])
@pytest.mark.parametrize("workers", [1, 2])
def test_draws_are_those_of_rows(space, count, prepared, workers):
    """One token or many, frequent words or rare, with and without block sums: the outputs are those of whole rows."""
    sampler = make_sampler(space)
    if prepared:
        sampler.prepare(workers)
    points, bits = make_tokens(count)
    np.testing.assert_array_equal(sampler.sample(points, bits, workers), draw_by_rows(space, points, bits))


def test_one_word_many_times(space):
    """A batch of one word, many times, is drawn as from its whole row."""
    sampler = make_sampler(space)
    sampler.prepare()
    points, bits = np.full(500, 7, dtype=np.int32), make_tokens(500)[1]
    np.testing.assert_array_equal(sampler.sample(points, bits), draw_by_rows(space, points, bits))


def test_sums_of_all_points_are_stored_or_none(space, folder):
    """A few words leave nothing in the cache; enough of them, over several calls, the sums of every word at once."""
    sampler = make_sampler(space)
    points = np.arange(COUNT, dtype=np.int32)
    bits = np.arange(COUNT, dtype=np.uint64) << np.uint64(50)
    for start in (0, 50, 100):
        sampler.sample(points[start : start + 50], bits[start : start + 50])
        assert not list(folder.glob("blocks-*"))
    sampler.sample(points[:50], bits[:50])
    (file,) = folder.glob("blocks-*")
    assert file.stat().st_size > 8 * COUNT * 3


def test_stored_sums_serve_other_processes(space, folder, monkeypatch):
    """A second sampler computes none, and draws the same."""
    make_sampler(space).prepare()
    assert list(folder.glob("blocks-*"))
    monkeypatch.setattr(block_sampling, "compute_block_sums", None)
    sampler = make_sampler(space)
    sampler.prepare()
    points, bits = make_tokens(100)
    np.testing.assert_array_equal(sampler.sample(points, bits), draw_by_rows(space, points, bits))


def test_damaged_sums_are_not_drawn_from(space, folder):
    """Where the file was changed, whole rows are drawn from, and the file goes."""
    make_sampler(space).prepare()
    (file,) = folder.glob("blocks-*")
    data = bytearray(file.read_bytes())
    data[-8 * COUNT * 3 :] = bytes(8 * COUNT * 3)
    file.write_bytes(data)
    sampler = make_sampler(space)
    points, bits = make_tokens(2000)
    np.testing.assert_array_equal(sampler.sample(points, bits), draw_by_rows(space, points, bits))
    assert not file.exists() or file.read_bytes() != data


def test_sums_that_another_arithmetic_made_are_not_drawn_from(space):
    """A table that does not belong to the law, though genuine, changes no output: its blocks do not add up."""
    other = BlockSampler(space, space.panels, ExponentialKernel(1.3), lambda _, distances: KERNEL.rows(distances))
    other.prepare()
    sampler = make_sampler(space)
    sampler._sums = block_sampling.BlockSums(space.panels, KERNEL, other._sums.table)
    points, bits = make_tokens(2000)
    np.testing.assert_array_equal(sampler.sample(points, bits), draw_by_rows(space, points, bits))


def test_without_a_cache_sums_stay_in_memory(space, folder):
    """Nothing is written where the cache is bypassed, and draws are the same."""
    with cache.bypass_cache():
        sampler = make_sampler(space)
        sampler.prepare()
        points, bits = make_tokens(2000)
        np.testing.assert_array_equal(sampler.sample(points, bits), draw_by_rows(space, points, bits))
    assert not folder.exists()


def test_pickles_hold_no_sums(space):
    """A law's pickle is as small after its block sums were computed as before."""
    law = ExponentialLaw(space, KERNEL)
    size = len(pickle.dumps(law))
    law.prepare_draws()
    assert len(pickle.dumps(law)) == size
