"""Geodesic distances, against a graph built edge by edge and searched by Floyd and Warshall."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from tests.cached import authentic, content, entries
from tests.contracts import reference
from tests.contracts.reference import CONVERSION, DEFAULT_NEIGHBOURS, UNIT
from tests.refusals import refuses


def make_space(vectors, neighbours=DEFAULT_NEIGHBOURS):
    """Return a space of some vectors under the metric with so many neighbours."""
    vectors = np.asarray(vectors, dtype=float)
    return dn.Space([f"w{number}" for number in range(len(vectors))], vectors, metric=dn.Metric.geodesic(neighbours))


def make_clusters(sizes, seed=0):
    """Return vectors in clusters that are far from each other."""
    generator = np.random.default_rng(seed)
    centres = 100 * generator.normal(size=(len(sizes), 3))
    return np.concatenate([c + generator.normal(size=(size, 3)) for c, size in zip(centres, sizes, strict=True)])


CASES = {
    "cloud": (np.random.default_rng(1).normal(size=(120, 5)), 10),
    "one neighbour": (np.random.default_rng(2).normal(size=(120, 5)), 1),
    "all others": (np.random.default_rng(3).normal(size=(30, 2)), 29),
    "clusters": (make_clusters([40, 13, 12, 11, 2, 1]), 10),
    "equal clusters": (make_clusters([5, 5, 5, 5, 5, 5]), 2),
    "lattice": (np.indices((6, 6)).reshape(2, -1).T, 3),
    "line": (np.arange(300)[:, None], 2),
    "long line": (1000 * np.arange(300)[:, None], 1),
    "tiny": (1e-9 * np.random.default_rng(4).normal(size=(50, 3)), 4),
    "huge": (1e4 * np.random.default_rng(5).normal(size=(50, 3)), 4),
    "pair": (np.arange(2)[:, None], 1),
    "twins": (np.repeat(np.random.default_rng(6).normal(size=(20, 3)), 3, axis=0), 4),
}


@pytest.mark.parametrize("name", CASES)
def test_distances_are_lengths_of_shortest_paths(name):
    """Whatever the points, twins among them, all distances are exactly those of the graph that the definition gives."""
    vectors, neighbours = CASES[name]
    space = make_space(vectors, neighbours)
    count = len(space.points)
    assert count == len(np.unique(vectors, axis=0))
    np.testing.assert_array_equal(space.distances(range(count)), reference.geodesic(space.points, neighbours))


def test_extent_and_neighbours():
    """Separation, diameter, single distances and the nearest words follow from the same paths."""
    vectors = make_clusters([40, 30])
    space, expected = make_space(vectors), reference.geodesic(vectors)
    assert space.diameter == expected.max()
    assert space.separation == expected[expected > 0].min()
    assert space.distance("w3", "w60") == space.distance("w60", "w3") == expected[3, 60]
    assert [distance for _, distance in space.neighbours("w5", 8)] == np.sort(expected[5])[1:9].tolist()


@settings(max_examples=30)
@given(seed=st.integers(0, 30), count=st.integers(5, 40), neighbours=st.integers(1, 4))
def test_distances_are_exact(seed, count, neighbours):
    """Distances are whole units, symmetric, and obey the triangle inequality without any rounding."""
    generator = np.random.default_rng(seed)
    space = make_space(generator.integers(-5, 6, size=(count, 2)) + generator.normal(size=(count, 2)), neighbours)
    distances = space.distances(range(len(space.points)))
    assert space.distance_error == 0
    assert (distances / UNIT == np.floor(distances / UNIT)).all()
    assert ((distances > 0) == ~np.eye(count, dtype=bool)).all()
    np.testing.assert_array_equal(distances, distances.T)
    assert (distances <= (distances[:, :, None] + distances[None]).min(axis=1)).all()


def test_edges_are_tight():
    """An edge joins two points, each once, and no path between them is shorter than it."""
    space = make_space(make_clusters([60, 30, 20]))
    distances = space.distances(range(len(space.points)))
    ends, lengths = space.edges
    assert (ends[:, 0] < ends[:, 1]).all()
    assert len(np.unique(ends, axis=0)) == len(ends)
    np.testing.assert_array_equal(distances[ends[:, 0], ends[:, 1]], lengths)
    euclidean = np.linalg.norm(space.points[ends[:, 0]] - space.points[ends[:, 1]], axis=1)
    np.testing.assert_allclose(lengths, CONVERSION * euclidean + UNIT / 2, rtol=0, atol=UNIT / 2 * (1 + 1e-9))
    assert dn.Space(space.words, space.vectors).edges is None


def test_results_do_not_depend_on_workers():
    """One worker and two find the same distances, by rows and by tiles."""
    space = make_space(np.random.default_rng(7).normal(size=(600, 6)))
    rows = [np.concatenate(space.map_row_blocks(lambda _, row: row.copy(), range(600), workers)) for workers in (1, 2)]
    np.testing.assert_array_equal(rows[0], rows[1])
    for workers in (1, 2):
        for place, tile in space.map_tiles(lambda rows, columns, tile: ((rows, columns), tile.copy()), workers):
            np.testing.assert_array_equal(tile, rows[0][place])


@pytest.mark.parametrize("neighbours", [0, -1, 2.0, "10", None, True, 1001])
def test_bad_number_of_neighbours_is_refused(neighbours):
    """The number of neighbours is an integer from 1 to 1,000."""
    with refuses(repr(neighbours)):
        dn.Metric.geodesic(neighbours)


def test_what_has_no_graph_is_refused():
    """Too few points for their neighbours, lengths and paths beyond 2^31 units, and other spellings of the name."""
    with refuses("neighbours=2"):
        make_space([[0.0], [1.0], [1.0], [2.0]], 3)
    assert make_space([[0.0], [1.0], [1.0], [2.0]], 2).distance("w0", "w3") == 2 * CONVERSION
    for vectors in ([[0.0], [1e90], [1.0]], [[0.0], [1.5e7 / CONVERSION], [3e7 / CONVERSION]]):
        with refuses("geodesic"):
            make_space(vectors, 1).distance("w0", "w2")
    for count in ("0", "007", "1001", str(DEFAULT_NEIGHBOURS), " 5", "\u0665"):
        with refuses(repr(f"{count}-neighbour geodesic")):
            dn.Space(["a", "b"], np.eye(2), metric=f"{count}-neighbour geodesic")


def test_metric_is_named():
    """Every number of neighbours makes one metric, that its name gives and a pickle keeps; an impostor has no name."""
    vectors = np.random.default_rng(0).normal(size=(20, 2))
    words = [f"w{number}" for number in range(20)]
    for neighbours in (1, 7, DEFAULT_NEIGHBOURS):
        metric = dn.Metric.geodesic(neighbours)
        assert metric.is_builtin
        assert dn.Space(words, vectors, metric=str(metric)).metric is metric
        assert pickle.loads(pickle.dumps(metric)) is metric
    assert str(dn.Metric.geodesic()) == "geodesic"
    impostor = dn.Metric("7-neighbour geodesic", dn.Metric.geodesic(8).measure)
    assert not impostor.is_builtin
    assert dn.Space(words, vectors, metric=impostor).fingerprint is None


def test_fingerprint_names_the_graph():
    """The number of neighbours is part of the fingerprint, and a pickled space is the same."""
    vectors = np.random.default_rng(8).normal(size=(40, 3))
    spaces = [make_space(vectors, neighbours) for neighbours in (5, 6, 39, DEFAULT_NEIGHBOURS)]
    assert len({space.fingerprint for space in spaces}) == 4
    again = pickle.loads(pickle.dumps(spaces[0]))
    assert again.fingerprint == spaces[0].fingerprint
    assert again.metric is spaces[0].metric
    np.testing.assert_array_equal(again.distances(range(40)), spaces[0].distances(range(40)))


DAMAGES = {
    "split": lambda edges: edges[edges[:, 1] < 10],
    "unsorted": lambda edges: edges[::-1],
    "repeated": lambda edges: np.concatenate([edges[:1], edges]),
    "reversed": lambda edges: edges[:, [1, 0, 2]],
    "zero": lambda edges: edges * [1, 1, 0],
    "negative": lambda edges: edges * [1, 1, -1],
    "broken": lambda edges: edges * [1, 1, 0.3],
    "nan": lambda edges: edges * [1, 1, np.nan],
    "long": lambda edges: edges * [1, 1, 1e300],
    "beyond": lambda edges: np.add(edges, [1, 1, 0]),
    "before": lambda edges: np.add(edges, [-1, -1, 0]),
    "none": lambda edges: edges[:0],
}


def test_graph_is_cached_and_what_is_no_graph_is_not_used(own_cache_folder):
    """Edges are read again; what cannot be the edges of a connected graph over the points is found anew."""
    vectors = np.random.default_rng(9).normal(size=(30, 3))
    expected = reference.geodesic(vectors)
    np.testing.assert_array_equal(make_space(vectors).distances(range(30)), expected)
    (path,) = entries(own_cache_folder)
    true, edges = content(path), np.frombuffer(content(path)).reshape(-1, 3)
    written = path.stat().st_mtime_ns
    np.testing.assert_array_equal(make_space(vectors).distances(range(30)), expected)
    assert path.stat().st_mtime_ns == written
    for damage in DAMAGES.values():
        path.write_bytes(authentic(path, np.ascontiguousarray(damage(edges), dtype=float).tobytes()))
        np.testing.assert_array_equal(make_space(vectors).distances(range(30)), expected)
        assert content(path) == true
