"""Bounds on squared distances from float32 products."""

import numpy as np
import pytest

import deniable as dn
from deniable.space.blocks import TILE_SIZE
from deniable.space.squares import SquareBounds, measure_euclidean


def make_points(count, dimensions, offset=0.0, scale=1.0, seed=1):
    """Return points around an offset from the origin, some of them nearly equal."""
    points = np.random.default_rng(seed).normal(size=(count, dimensions))
    points[1] = points[0] + 1e-9
    points[3] = points[2] + 1e-4
    points[4] *= 30.0
    return scale * (points + offset)


@pytest.mark.parametrize("dimensions", [1, 3, 50, 300])
@pytest.mark.parametrize(("offset", "scale"), [(0.0, 1.0), (1e4, 1.0), (0.0, 1e-30), (-5.0, 1e30)])
def test_bounds_hold_and_are_near(dimensions, offset, scale):
    """No bound exceeds the square that it bounds, or lies farther below it than the gaps say."""
    points = make_points(200, dimensions, offset, scale)
    bounds = SquareBounds(points)
    tile = np.empty((200, 200), dtype=np.float32)
    bounds.fill_tile(slice(0, 200), slice(0, 200), tile)
    exact = (((points[:, None] - points[None]).astype(np.longdouble) / bounds.unit) ** 2).sum(axis=2)
    below = exact - tile
    assert below.min() >= 0
    assert (below <= bounds.gaps[:, None] + bounds.gaps).all()
    assert bounds.gaps.max() <= 1e-4 * (dimensions + 10) / 60 * exact.max()


def test_a_larger_error_would_be_noticed():
    """Bounds moved up by the gaps between them and the squares exceed some of these."""
    points = make_points(200, 50)
    bounds = SquareBounds(points)
    tile = np.empty((200, 200), dtype=np.float32)
    bounds.fill_tile(slice(0, 200), slice(0, 200), tile)
    exact = (((points[:, None] - points[None]) / bounds.unit) ** 2).sum(axis=2)
    assert (tile + bounds.gaps[:, None] + bounds.gaps > exact).all()
    assert (tile + 0.7 * (bounds.gaps[:, None] + bounds.gaps) > exact).any()


@pytest.mark.parametrize("count", [2, TILE_SIZE, 1100])
@pytest.mark.parametrize("workers", [1, 2])
def test_tiles_visit_every_pair_once(count, workers):
    """Tiles of squares are those of the distances, taken in order, with 0 on the diagonal."""
    points = np.random.default_rng(3).normal(size=(count, 4))
    space = dn.Space([f"w{number}" for number in range(count)], points)
    unit, gap = space.square_bounds.unit, 2 * space.square_bounds.gaps.max()
    tiles = []
    space.fold_square_tiles(lambda rows, columns, tile: (rows, columns, tile.copy()), tiles.append, workers)
    expected = space.map_tiles(lambda rows, columns, tile: (rows, columns, tile.copy()), workers)
    for (rows, columns, squares), (expected_rows, expected_columns, distances) in zip(tiles, expected, strict=True):
        assert (rows, columns) == (expected_rows, expected_columns)
        assert np.abs(squares - (distances / unit) ** 2).max() <= gap
        if rows == columns:
            assert not squares.diagonal().any()


@pytest.mark.parametrize("metric", ["manhattan", "angular", "geodesic"])
def test_other_distances_have_no_bounds(metric):
    """Where the distances are not Euclidean there are no bounds, and that is said."""
    space = dn.Space(
        [f"w{number}" for number in range(20)], np.random.default_rng(4).normal(size=(20, 3)), metric=metric
    )
    assert space.square_bounds is None
    with pytest.raises(dn.NotTractable, match=f"No bounds on squares are known under the metric {metric}"):
        space.fold_square_tiles(lambda *_: None, lambda _: None)


def test_distance_of_two_vectors():
    """The distance from differences is that of nearly equal vectors too."""
    one = np.array([3.0, 4.0, 1e6])
    assert measure_euclidean(one, np.array([0.0, 0.0, 1e6])) == 5.0
    assert measure_euclidean(one, one + np.array([0.0, 0.0, 2.0**-20])) == 2.0**-20
