"""Tiles of distances, and of bounds on their squares."""

import numpy as np
import pytest

import deniable as dn
from tests.contracts import reference
from tests.refusals import refuses

TILE_SIZE = 512
METRICS = ("euclidean", "angular", *(pytest.param(m, marks=pytest.mark.deep) for m in ("manhattan", "chebyshev")))


def cloud(count, metric="euclidean", near=((5, 500), (TILE_SIZE - 1, TILE_SIZE), (9, 400))):
    """Return a space of random points; those numbered in ``near`` lie about 1e-9 or 1e-6 apart in pairs."""
    vectors = np.random.default_rng(count).normal(size=(count, 3))
    for number, other in near:
        if other < count:
            vectors[other] = vectors[number] + (1e-6 if number == 9 else 1e-9) * np.arange(1, 4)
    return dn.Space([f"w{number}" for number in range(count)], vectors, metric=metric)


def gather(space, workers=None):
    """Return the distances (n, n) that tiles hold, NaN where none was visited."""
    distances = np.full((space.point_count, space.point_count), np.nan)

    def visit(rows, columns, tile):
        assert tile.shape == (rows.stop - rows.start, columns.stop - columns.start)
        assert np.isnan(distances[rows, columns]).all()
        distances[rows, columns] = tile
        held = tile.copy()
        tile[:] = -1.0
        return rows, columns, held

    for rows, columns, held in space.map_tiles(visit, workers):
        np.testing.assert_array_equal(distances[rows, columns], held)
    return distances


@pytest.mark.parametrize("count", [2, 511, 512, 513])
def test_tiles_visit_every_pair_once(count):
    """Each pair right of the diagonal comes once, left of it only the rest of a tile on it; workers do not show."""
    space = cloud(count)
    distances = gather(space, 1)
    run = np.arange(count) // TILE_SIZE
    np.testing.assert_array_equal(~np.isnan(distances), run[:, None] <= run[None, :])
    assert (distances.diagonal() == 0).all()
    np.testing.assert_array_equal(gather(space, 2), distances)


@pytest.mark.parametrize("metric", METRICS)
def test_tiles_hold_the_distances(metric):
    """Distances are those computed pair by pair, also of nearly equal vectors in two tiles."""
    space = cloud(600, metric)
    distances, expected = gather(space), reference.distances(space.points, metric)
    seen = ~np.isnan(distances)
    assert np.abs(distances - expected)[seen].max() <= space.distance_error + 1e-14
    np.testing.assert_allclose(distances[seen], expected[seen], rtol=2e-3 if metric == "angular" else 1e-7)
    assert np.abs(distances - space.distances(range(600)))[seen].max() <= 2 * space.distance_error


def test_extent_is_that_of_all_pairs():
    """Diameter and separation are the extremes over all pairs, across tiles."""
    space = cloud(600, near=((5, 550),))
    expected = reference.distances(space.points)
    assert space.diameter == pytest.approx(expected.max(), rel=1e-12)
    assert space.separation == pytest.approx(expected[5, 550], rel=1e-6)


@pytest.mark.parametrize("dimensions", [3, 50, *(pytest.param(count, marks=pytest.mark.deep) for count in (1, 300))])
@pytest.mark.parametrize(("offset", "scale"), [(0.0, 1.0), (1e4, 1.0), (0.0, 1e-30), (-5.0, 1e30)])
def test_bounds_on_squares_hold_and_are_near(dimensions, offset, scale):
    """No bound exceeds the square that it bounds, or lies farther below it than the gaps say."""
    vectors = np.random.default_rng(1).normal(size=(200, dimensions))
    vectors[1], vectors[3], vectors[4] = vectors[0] + 1e-9, vectors[2] + 1e-4, 30 * vectors[4]
    space = dn.Space([f"w{number}" for number in range(200)], scale * (vectors + offset))
    bounds, count = space.square_bounds, space.point_count
    tile = np.empty((count, count), dtype=np.float32)
    bounds.fill_tile(slice(0, count), slice(0, count), tile)
    differences = (space.points[:, None] - space.points[None]).astype(np.longdouble)
    exact, gaps = ((differences / bounds.unit) ** 2).sum(axis=2), bounds.gaps[:, None] + bounds.gaps
    assert (exact - tile).min() >= 0
    assert (exact - tile <= gaps).all()
    assert bounds.gaps.max() <= 1e-4 * (dimensions + 10) / 60 * exact.max()
    if (dimensions, scale, offset) == (50, 1.0, 0.0):  # a larger error would be noticed
        assert (tile + gaps > exact).all()
        assert (tile + 0.7 * gaps > exact).any()


@pytest.mark.parametrize("workers", [1, 2])
def test_tiles_of_squares_visit_every_pair_once(workers):
    """Tiles of squares are those of the distances, taken in order, with 0 on the diagonal; other metrics have none."""
    space = cloud(700)
    unit, gap = space.square_bounds.unit, 2 * space.square_bounds.gaps.max()
    tiles = []
    space.fold_square_tiles(lambda rows, columns, tile: (rows, columns, tile.copy()), tiles.append, workers)
    expected = space.map_tiles(lambda rows, columns, tile: (rows, columns, tile.copy()), workers)
    for (rows, columns, squares), (expected_rows, expected_columns, distances) in zip(tiles, expected, strict=True):
        assert (rows, columns) == (expected_rows, expected_columns)
        assert np.abs(squares - (distances / unit) ** 2).max() <= gap
        if rows == columns:
            assert not squares.diagonal().any()
    for metric in ("manhattan", "steps"):
        other = cloud(20, metric)
        assert other.square_bounds is None
        with refuses(metric, dn.NotTractable):
            other.fold_square_tiles(lambda *_: None, lambda _: None)
