"""Geodesic distances, against a graph built edge by edge and searched by Floyd and Warshall."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deniable as dn
from deniable.core.cache import bypass_cache
from deniable.space.geodesic import CONVERSION, DEFAULT_NEIGHBOURS, MAX_NEIGHBOURS, UNIT, find_edges
from deniable.space.metrics import resolve_metric
from tests.cached import authentic, content, entries
from tests.contracts import reference


def make_space(vectors, neighbours=DEFAULT_NEIGHBOURS):
    """Return a space of some vectors under the metric with so many neighbours."""
    vectors = np.asarray(vectors, dtype=float)
    return dn.Space([f"w{number}" for number in range(len(vectors))], vectors, metric=dn.Metric.geodesic(neighbours))


def make_clusters(sizes, seed=0):
    """Return vectors in clusters that are far from each other."""
    generator = np.random.default_rng(seed)
    centres = 100 * generator.normal(size=(len(sizes), 3))
    return np.concatenate([c + generator.normal(size=(size, 3)) for c, size in zip(centres, sizes, strict=True)])


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Return an empty cache folder of the test's own."""
    monkeypatch.setenv("DENIABLE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.parametrize(
    ("vectors", "neighbours"),
    [
        (np.random.default_rng(1).normal(size=(120, 5)), 10),
        (np.random.default_rng(2).normal(size=(120, 5)), 1),
        (np.random.default_rng(3).normal(size=(30, 2)), 29),
        (make_clusters([40, 13, 12, 11, 2, 1]), 10),
        (make_clusters([5, 5, 5, 5, 5, 5]), 2),
        (np.indices((6, 6)).reshape(2, -1).T, 3),
        (np.arange(300)[:, None], 2),
        (1e-9 * np.random.default_rng(4).normal(size=(50, 3)), 4),
        (1e4 * np.random.default_rng(5).normal(size=(50, 3)), 4),
        (np.arange(2)[:, None], 1),
    ],
    ids=[
        "cloud",
        "one neighbour",
        "all others",
        "clusters",
        "equal clusters",
        "lattice",
        "line",
        "tiny",
        "huge",
        "pair",
    ],
)
def test_distances_are_lengths_of_shortest_paths(vectors, neighbours):
    """Whatever the points, all distances are exactly those of the graph that the definition gives."""
    space = make_space(vectors, neighbours)
    np.testing.assert_array_equal(space.distances(range(len(vectors))), reference.geodesic(vectors, neighbours))


def test_equal_vectors_are_one_point():
    """The nodes of the graph are points: words of equal vectors are at distance 0, and do not use up neighbours."""
    vectors = np.repeat(np.random.default_rng(6).normal(size=(20, 3)), 3, axis=0)
    space = make_space(vectors, 4)
    assert len(space.points) == 20
    assert space.distance("w0", "w2") == 0
    np.testing.assert_array_equal(space.distances(range(20)), reference.geodesic(space.points, 4))


def test_extent_and_neighbours():
    """Separation, diameter, single distances and the nearest words follow from the same paths."""
    vectors = make_clusters([40, 30])
    space, expected = make_space(vectors), reference.geodesic(vectors)
    assert space.diameter == expected.max()
    assert space.separation == expected[expected > 0].min()
    assert space.distance("w3", "w60") == space.distance("w60", "w3") == expected[3, 60]
    assert [distance for _, distance in space.neighbours("w5", 8)] == np.sort(expected[5])[1:9].tolist()


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
    """One worker and two find the same edges and the same distances."""
    vectors = np.random.default_rng(7).normal(size=(700, 6))
    space = make_space(vectors)

    def visit(_, distances):
        return distances.copy()

    rows = [np.concatenate(space.map_row_blocks(visit, range(700), workers)) for workers in (1, 2)]
    np.testing.assert_array_equal(rows[0], rows[1])
    tiles = [space.map_tiles(lambda rows, columns, tile: (rows, columns, tile.copy()), workers) for workers in (1, 2)]
    for (rows_one, columns_one, one), (rows_two, columns_two, two) in zip(*tiles, strict=True):
        assert (rows_one, columns_one) == (rows_two, columns_two)
        np.testing.assert_array_equal(one, two)
        np.testing.assert_array_equal(one, rows[0][rows_one, columns_one])


@pytest.mark.parametrize("neighbours", [0, -1, 2.0, "10", None, True, MAX_NEIGHBOURS + 1])
def test_bad_number_of_neighbours_is_refused(neighbours):
    """The number of neighbours is an integer from 1 to 1,000, or refused in one line."""
    with pytest.raises(dn.InputError) as caught:
        dn.Metric.geodesic(neighbours)
    expected = "The 'neighbours' parameter of Metric.geodesic must be an int from 1 to 1,000."
    assert str(caught.value) == f"{expected} Got {neighbours!r}."


@pytest.mark.parametrize(
    "name",
    [
        "0-neighbour geodesic",
        "007-neighbour geodesic",
        "1001-neighbour geodesic",
        "5-neighbour geodesic ",
        "5-neighbours geodesic",
        f"{DEFAULT_NEIGHBOURS}-neighbour geodesic",
        "\u0665-neighbour geodesic",
    ],
)
def test_other_spellings_name_nothing(name):
    """Each metric has one name; anything else is an unknown metric."""
    with pytest.raises(dn.InputError, match=r"must be one of euclidean, .*, geodesic, or a function"):
        resolve_metric(name)


def test_small_space_is_refused():
    """A space with no more points than neighbours is refused in one line when it is made."""
    with pytest.raises(dn.InputError) as caught:
        make_space([[0.0], [1.0], [1.0], [2.0]], 3)
    assert str(caught.value) == (
        "The 3-neighbour geodesic metric needs at least 4 words with different vectors. Got 3: add words, or join "
        "each to fewer, as with Metric.geodesic(neighbours=1)."
    )
    assert make_space([[0.0], [1.0], [1.0], [2.0]], 2).distance("w0", "w3") == 2 * CONVERSION


def test_vectors_too_far_apart_are_refused():
    """Lengths and paths beyond 2^31 units are refused in one line."""
    for vectors in ([[0.0], [1e90], [1.0]], [[0.0], [1.5e7 / CONVERSION], [3e7 / CONVERSION]]):
        with pytest.raises(dn.InputError, match=r"^Under the geodesic metric .*: scale them down\.$"):
            make_space(vectors, 1).distance("w0", "w2")


def test_metric_is_named():
    """Every number of neighbours makes one metric, that its name gives and that a pickle keeps."""
    assert dn.Metric.geodesic() is resolve_metric("geodesic") is dn.Metric.geodesic(DEFAULT_NEIGHBOURS)
    for neighbours in (1, 7, DEFAULT_NEIGHBOURS, MAX_NEIGHBOURS):
        metric = dn.Metric.geodesic(neighbours)
        assert metric.is_builtin
        assert resolve_metric(str(metric)) is metric
        assert pickle.loads(pickle.dumps(metric)) is metric
    assert dn.Metric.geodesic(7).name == "7-neighbour geodesic"


def test_one_of_its_name_is_not_it():
    """A metric of one's own under such a name is not taken for it."""
    impostor = dn.Metric("7-neighbour geodesic", dn.Metric.geodesic(8).measure)
    assert not impostor.is_builtin
    vectors = np.random.default_rng(0).normal(size=(20, 2))
    assert dn.Space([f"w{number}" for number in range(20)], vectors, metric=impostor).fingerprint is None


def test_pickled_space_is_the_same():
    """A space comes back with the same distances and the same fingerprint."""
    space = make_space(make_clusters([20, 15]), 7)
    again = pickle.loads(pickle.dumps(space))
    assert again.fingerprint == space.fingerprint
    assert again.metric is space.metric
    np.testing.assert_array_equal(again.distances(range(35)), space.distances(range(35)))


def test_fingerprint_names_the_graph(monkeypatch):
    """The number of neighbours and the edges are part of the fingerprint."""
    vectors = np.random.default_rng(8).normal(size=(40, 3))
    fingerprints = {make_space(vectors, neighbours).fingerprint for neighbours in (5, 6, 39, DEFAULT_NEIGHBOURS)}
    assert len(fingerprints) == 4
    assert make_space(vectors, 5).fingerprint in fingerprints
    monkeypatch.setattr("deniable.space.geodesic.CONVERSION", 0.5 * CONVERSION)
    assert make_space(vectors, 5).fingerprint not in fingerprints


def test_graph_is_cached(cache, monkeypatch):
    """The edges are found once, read afterwards, and not kept where nothing may be."""
    vectors = make_clusters([20, 15])
    with bypass_cache():
        first = make_space(vectors).edges
    assert not cache.exists()
    make_space(vectors).edges  # noqa: B018 - finds them
    assert [entry.name.split("-")[0] for entry in entries(cache)] == ["graph"]
    monkeypatch.setattr("deniable.space.geodesic.find_edges", None)
    for found, expected in zip(make_space(vectors).edges, first, strict=True):
        np.testing.assert_array_equal(found, expected)


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


@pytest.mark.parametrize("damage", DAMAGES)
def test_cached_array_that_is_no_graph_is_not_used(cache, damage):
    """What cannot be the edges of a connected graph over the points is found anew."""
    vectors = np.random.default_rng(9).normal(size=(30, 3))
    true_edges = find_edges(vectors, DEFAULT_NEIGHBOURS)
    make_space(vectors).edges  # noqa: B018 - keeps them
    (path,) = entries(cache)
    path.write_bytes(authentic(path, np.ascontiguousarray(DAMAGES[damage](true_edges), dtype=float).tobytes()))
    np.testing.assert_array_equal(make_space(vectors).distances(range(30)), reference.geodesic(vectors))
    assert content(path) == true_edges.astype(float).tobytes()
