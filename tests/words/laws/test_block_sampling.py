"""Draws by block sums and by whole rows: the same, whatever is stored."""

import pickle

import numpy as np
import pytest

import deniable as dn
from tests.contracts.statistics import streams

COUNT = 600
KERNEL = dn.laws.ExponentialKernel(1.2)


@pytest.fixture(autouse=True)
def folder(own_cache_folder):
    """Return an empty cache folder of this test's own."""
    return own_cache_folder


@pytest.fixture(scope="module")
def space():
    """Return a space of 600 points."""
    return dn.Space([f"w{i}" for i in range(COUNT)], np.random.default_rng(0).normal(size=(COUNT, 5)))


def make_points(count):
    """Return points, some often."""
    points = np.random.default_rng(count).geometric(0.02, size=count)
    return np.minimum(points, COUNT - 1).astype(np.int32)


def check(law, points, workers=None):
    """Compare draws with those of whole rows."""
    rows = dn.laws.TabulatedLaw(law.space, lambda _, distances: KERNEL.rows(distances))
    source = streams(len(points), "blocks")
    np.testing.assert_array_equal(law.sample(points, source, workers), rows.sample(points, source))


@pytest.mark.parametrize("count", [1, 2000, pytest.param(50_000, marks=pytest.mark.deep)])
@pytest.mark.parametrize("prepared", [False, True])
def test_draws_are_those_of_rows(space, count, prepared):
    """One token or many, frequent words or rare, with and without block sums: the outputs are those of whole rows."""
    for workers in (1, 2):
        law = dn.laws.ExponentialLaw(space, KERNEL)
        if prepared:
            size = len(pickle.dumps(law))
            law.prepare_draws(workers)
            assert len(pickle.dumps(law)) == size
        check(law, make_points(count), workers)
        check(law, np.full(count, 7, dtype=np.int32), workers)


def test_sums_of_all_points_are_stored_or_none(space, folder):
    """A few words leave nothing in the cache; enough of them, over several calls, the sums of every word at once."""
    law, points = dn.laws.ExponentialLaw(space, KERNEL), np.arange(COUNT, dtype=np.int32)
    for start in (0, 50, 100):
        check(law, points[start : start + 50])
        assert not list(folder.glob("blocks-*"))
    check(law, points[:50])
    (file,) = folder.glob("blocks-*")
    assert file.stat().st_size > 8 * COUNT * 3
    before = file.stat().st_mtime_ns
    again = dn.laws.ExponentialLaw(space, KERNEL)  # as another process makes it
    again.prepare_draws()
    check(again, make_points(100))
    assert file.stat().st_mtime_ns == before


def test_damaged_sums_are_not_drawn_from(space, folder):
    """Where the file was changed, whole rows are drawn from, and the file goes."""
    dn.laws.ExponentialLaw(space, KERNEL).prepare_draws()
    (file,) = folder.glob("blocks-*")
    data = bytearray(file.read_bytes())
    data[-8 * COUNT * 3 :] = bytes(8 * COUNT * 3)
    file.write_bytes(data)
    check(dn.laws.ExponentialLaw(space, KERNEL), make_points(2000))
    assert not file.exists() or file.read_bytes() != data


def test_without_a_cache_sums_stay_in_memory(space, tmp_path, monkeypatch):
    """Where the cache folder cannot be made draws are the same."""
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("DENIABLE_CACHE", str(tmp_path / "file"))
    law = dn.laws.ExponentialLaw(space, KERNEL)
    law.prepare_draws()
    check(law, make_points(2000))
