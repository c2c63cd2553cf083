"""Tiles of distances."""

import numpy as np
import pytest

import deniable as dn
from deniable.space.blocks import TILE_SIZE
from tests.contracts import reference

METRICS = ("euclidean", "manhattan", "chebyshev", "angular")


def cloud(count, metric="euclidean", dimensions=3, near=((5, 700), (TILE_SIZE - 1, TILE_SIZE), (9, 900))):
    """Return a space of random points; those numbered in ``near`` lie about 1e-9 or 1e-6 apart in pairs."""
    vectors = np.random.default_rng(count).normal(size=(count, dimensions))
    for number, other in near:
        if other < count:
            vectors[other] = vectors[number] + (1e-6 if number == 9 else 1e-9) * np.arange(1, dimensions + 1)
    return dn.Space([f"w{number}" for number in range(count)], vectors, metric=metric)


def gather(space, workers=None):
    """Return the distances (n, n) that tiles hold, and how often each place was visited."""
    count = len(space.points)
    distances, visits = np.full((count, count), np.nan), np.zeros((count, count), dtype=int)

    def visit(rows, columns, tile):
        assert tile.shape == (rows.stop - rows.start, columns.stop - columns.start)
        distances[rows, columns] = tile
        visits[rows, columns] += 1
        held = tile.copy()
        tile[:] = -1.0
        return rows, columns, held

    for rows, columns, held in space.map_tiles(visit, workers):
        np.testing.assert_array_equal(distances[rows, columns], held)
    return distances, visits


@pytest.mark.parametrize("count", [2, 511, 512, 513, 1100])
@pytest.mark.parametrize("workers", [1, 2])
def test_tiles_visit_every_pair_once(count, workers):
    """Each pair right of the diagonal comes once; left of it only the rest of a tile on the diagonal."""
    distances, visits = gather(cloud(count), workers)
    run = np.arange(count) // TILE_SIZE
    np.testing.assert_array_equal(visits, (run[:, None] <= run[None, :]).astype(int))
    assert (distances.diagonal() == 0).all()


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("count", [511, 512, 513, 1100])
def test_tiles_hold_the_distances(metric, count):
    """Distances are those computed pair by pair, also of nearly equal vectors in two tiles."""
    space = cloud(count, metric)
    distances, visits = gather(space)
    expected = reference.distances(space.points, metric)
    seen = visits > 0
    assert np.abs(distances - expected)[seen].max() <= space.distance_error + 1e-14
    np.testing.assert_allclose(distances[seen], expected[seen], rtol=2e-3 if metric == "angular" else 1e-7)
    rows = space.distances(range(count))
    assert np.abs(distances - rows)[seen].max() <= 2 * space.distance_error


@pytest.mark.parametrize("metric", METRICS)
def test_tiles_do_not_depend_on_workers(metric):
    """One worker and two fill the tiles alike to the last bit."""
    space = cloud(1100, metric)
    np.testing.assert_array_equal(gather(space, 1)[0], gather(space, 2)[0])


def test_extent_is_that_of_all_pairs():
    """Diameter and separation are the extremes over all pairs, across tiles."""
    space = cloud(1100, near=((5, 700),))
    expected = reference.distances(space.points)
    assert space.diameter == pytest.approx(expected.max(), rel=1e-12)
    assert space.separation == pytest.approx(expected[5, 700], rel=1e-6)
