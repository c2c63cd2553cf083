"""Blocks of rows of distances."""

import numpy as np
import pytest

import deniable as dn
from tests.contracts import reference

METRICS = ("euclidean", "angular", *(pytest.param(m, marks=pytest.mark.deep) for m in ("manhattan", "chebyshev")))


def cloud(count, metric="euclidean", near=((5, 500), (63, 64), (9, 400))):
    """Return a space of random points; those numbered in ``near`` lie about 1e-9 or 1e-6 apart in pairs."""
    vectors = np.random.default_rng(count).normal(size=(count, 3))
    for number, other in near:
        if other < count:
            vectors[other] = vectors[number] + (1e-6 if number == 9 else 1e-9) * np.arange(1, 4)
    return dn.Space([f"w{number}" for number in range(count)], vectors, metric=metric)


def test_blocks_visit_every_row_once():
    """Blocks come in order, hold what a visit may overwrite, and do not depend on the number of workers."""
    space, points = cloud(600), np.arange(599, -1, -1)
    expected = space.distances(range(600))[points]
    for workers in (1, 2):
        visited = []

        def visit(first, distances, visited=visited):
            visited.append(first)
            held = distances.copy()
            distances[:] = -1.0
            return first, held

        blocks = space.map_row_blocks(visit, points, workers)
        assert [first for first, _ in blocks] == sorted(visited) == list(range(0, 600, 64))
        np.testing.assert_array_equal(np.concatenate([held for _, held in blocks]), expected)


@pytest.mark.parametrize("metric", METRICS)
def test_rows_hold_the_distances(metric):
    """Distances are those computed pair by pair, also of nearly equal vectors in two blocks, and 0 to itself."""
    space = cloud(600, metric)
    distances, expected = space.distances(range(600)), reference.distances(space.points, metric)
    assert np.abs(distances - expected).max() <= space.distance_error + 1e-14
    np.testing.assert_allclose(distances, expected, rtol=2e-3 if metric == "angular" else 1e-7)
    assert not distances.diagonal().any()


def test_extent_is_that_of_all_pairs():
    """Diameter and separation are the extremes over all pairs, across blocks."""
    space = cloud(600, near=((5, 550),))
    expected = reference.distances(space.points)
    assert space.diameter == pytest.approx(expected.max(), rel=1e-12)
    assert space.separation == pytest.approx(expected[5, 550], rel=1e-6)
