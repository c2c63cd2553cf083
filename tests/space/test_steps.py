"""Distance in steps: against breadth-first search, and the spaces that count steps."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from tests.cached import authentic, content, entries
from tests.contracts import reference
from tests.refusals import refuses


def make_words(count):
    """Return so many words."""
    return [f"w{number}" for number in range(count)]


def make_space(count, neighbours=4, reach=5, *, classes=0, clusters=1, seed=0):
    """Return a space of random points' near words, of which three in each hidden class."""
    generator = np.random.default_rng(seed)
    points = generator.normal(size=(count, 2)) + 1000 * (np.arange(count) % clusters)[:, None]
    hide = [dn.WordClass(f"c{k}", frozenset(f"w{word}" for word in range(3 * k, 3 * k + 3))) for k in range(classes)]
    near = np.array(reference.near_words(points, "euclidean", 8))
    return dn.Space(make_words(count), near=near, metric=dn.Metric.steps(neighbours, reach), hide=hide)


CASES = {
    "cloud": {"count": 150},
    "two neighbours": {"count": 90, "neighbours": 2, "reach": 8},
    "near": {"count": 150, "reach": 2},
    "all joined": {"count": 13, "neighbours": 12},
    "clusters": {"count": 120, "clusters": 4},
    "classes": {"count": 100, "classes": 2},
    "far classes": {"count": 200, "classes": 1, "neighbours": 2, "reach": 8},
    "bits": {"count": 64, "neighbours": 2, "reach": 8},
    "one word": {"count": 4, "classes": 1},
    "only classes": {"count": 6, "classes": 2},
    "two words": {"count": 2},
}


@pytest.fixture(params=CASES)
def counted(request):
    """Return a space that counts steps, and its distances by breadth-first search."""
    space = make_space(**CASES[request.param])
    graph = space.graph
    return space, reference.steps(graph.neighbours.tolist(), graph.class_count, graph.reach)


def test_distances_are_those_of_a_search(counted):
    """Rows, rings, their sizes, diameter and separation are those that a breadth-first search finds."""
    space, expected = counted
    graph, points = space.graph, np.arange(space.point_count)
    np.testing.assert_array_equal(space.distances(points), expected)
    levels = graph.find_levels(points[::-1])
    assert levels.dtype == np.uint8
    np.testing.assert_array_equal(graph.steps[levels], expected[::-1])
    words, census = graph.word_count, np.zeros((len(points), graph.reach + 2), dtype=int)
    for ring in range(graph.reach + 1):
        census[:words, ring] = (expected[:words, :words] == ring).sum(axis=1)
    census[:words, -1], census[words:, -1], census[words:, 0] = graph.class_count, len(points) - 1, 1
    np.testing.assert_array_equal(graph.counts, census)
    assert space.distance_error == 0.0
    assert space.diameter == expected.max()
    assert space.separation == expected[expected > 0].min()


def test_steps_are_a_metric(counted):
    """Distances are whole, symmetric, zero at the point alone, and obey the triangle inequality without rounding."""
    space, _ = counted
    distances = space.distances(range(space.point_count))
    assert (distances == np.floor(distances)).all()
    assert ((distances > 0) == ~np.eye(len(distances), dtype=bool)).all()
    np.testing.assert_array_equal(distances, distances.T)
    assert all((distances <= distances[:, middle, None] + distances[middle]).all() for middle in range(len(distances)))


def test_near_words_of_vectors():
    """Without lists near words are found among the vectors, by cosine or by distance; of equal ones the first."""
    vectors = np.random.default_rng(2).normal(size=(150, 4)) + 1.0
    vectors[7] = 0.0
    spaces = {by: dn.Space(make_words(150), vectors, metric=dn.Metric.steps(by=by)) for by in ("cosine", "euclidean")}
    for by, space in spaces.items():
        graph = reference.regular_graph(reference.near_words(vectors, by), 12, 64)
        assert space.graph.neighbours.tolist() == graph
    default = dn.Space(make_words(150), vectors, metric="steps")
    np.testing.assert_array_equal(default.graph.neighbours, spaces["cosine"].graph.neighbours)
    np.testing.assert_array_equal(default.vectors, vectors)
    assert len({space.fingerprint for space in (default, *spaces.values())}) == 3
    lattice = dn.Space(make_words(36), np.indices((6, 6)).reshape(2, -1).T, metric=dn.Metric.steps(4, by="euclidean"))
    graph = reference.regular_graph(reference.near_words(lattice.vectors, "euclidean"), 4, 35)
    assert lattice.graph.neighbours.tolist() == graph


def test_lists_go_before_vectors():
    """Given both, the lists count, unless the metric is by vectors; a distance of vectors takes no lists."""
    vectors, words = np.random.default_rng(3).normal(size=(40, 3)), make_words(40)
    near = np.random.default_rng(4).permuted(np.tile(np.arange(40), (40, 1)), axis=1)[:, :20]
    alone, both = dn.Space(words, near=near), dn.Space(words, vectors, near=near)
    np.testing.assert_array_equal(both.graph.neighbours, alone.graph.neighbours)
    assert (alone.metric.name, both.metric.name) == ("steps", "steps")
    assert repr(alone) == "Space(40 words, steps, given in memory)"
    np.testing.assert_array_equal(both.vectors, vectors)
    by_vectors = dn.Space(words, vectors, near=near, metric="steps(by=cosine)")
    assert not np.array_equal(by_vectors.graph.neighbours, alone.graph.neighbours)
    flat = dn.Space(words, vectors, near=near, metric="euclidean")
    assert flat.graph is None
    assert flat.fingerprint == dn.Space(words, vectors).fingerprint
    with refuses("no vectors"):
        _ = alone.vectors
    for metric in ("euclidean", "steps(by=cosine)"):
        with refuses("no vectors"):
            dn.Space(words, near=near, metric=metric)


@pytest.mark.parametrize(
    ("near", "value"),
    [
        ([1, 0, 0], "(3,)"),
        ([[1], [0]], "(2, 1)"),
        (np.zeros((3, 0), dtype=int), "(3, 0)"),
        (np.zeros((3, 2, 1), dtype=int), "(3, 2, 1)"),
        ([[1.0], [0.0], [0.0]], "float64"),
        ([[True], [False], [False]], "bool"),
        ([["1"], ["0"], ["0"]], "<U1"),
        ([[1], [3], [0]], "3 in row 1"),
        ([[1], [0], [-2]], "-2 in row 2"),
        ([[1], [0, 2], [0]], "inhomogeneous"),
        (np.array([[1], [2**64 - 1], [0]], dtype=np.uint64), "18446744073709551615 in row 1"),
        (np.array([[1], [0], [2**40]]), "1099511627776 in row 2"),
    ],
)
def test_what_are_no_lists(near, value):
    """Lists of another shape, of what are no integers, and with numbers of no word, are refused."""
    with refuses(value):
        dn.Space(["a", "b", "c"], near=near)


def test_too_few_words_for_a_space():
    """A space has lists or vectors, and two points: a word of its own and a class will do, or two classes."""
    with refuses("near words"):
        dn.Space(["a", "b"])
    for words, near in ((["a"], [[-1]]), (["a", "A"], [[1], [0]]), ([], np.zeros((0, 2), dtype=int))):
        with refuses("two words"):
            dn.Space(words, near=near)
    with refuses("two words"):
        dn.Space(["a", "b"], [[1.0], [1.0]], metric="steps")
    pair = dn.Space(["a", "b"], near=[[-1], [-1]])
    assert pair.distance("a", "b") == 1.0


def test_words_at_one_vector_are_one_point():
    """Words with equal vectors share a point, whose near words are those of the vector; the words are as many."""
    vectors = np.random.default_rng(5).normal(size=(30, 3))
    doubled = dn.Space(make_words(60), np.repeat(vectors, 2, axis=0), metric=dn.Metric.steps(4))
    single = dn.Space(make_words(30), vectors, metric=dn.Metric.steps(4))
    assert doubled.point_by_word.tolist() == np.repeat(np.arange(30), 2).tolist()
    np.testing.assert_array_equal(doubled.graph.neighbours, single.graph.neighbours)
    assert doubled.distance("w4", "w5") == 0.0


def test_words_that_fold_to_one_are_renumbered():
    """Of words that fold to one form the first stands with its list, in which the others are read as it."""
    words = ["one", "two", "TWO", "three", "", "four", "Four"]
    near = [[2, 6], [3, -1], [5, 5], [4, 1], [0, 0], [2, 4], [0, 0]]
    space = dn.Space(words, near=near, metric=dn.Metric.steps(2))
    near = [[1, 3], [2, -1], [-1, 1], [1, -1]]
    expected = dn.Space(["one", "two", "three", "four"], near=near, metric="steps(neighbours=2)")
    assert space.words == expected.words
    assert space.fingerprint == expected.fingerprint


def test_hidden_classes_lie_eight_steps_away():
    """A class is eight steps from every word and class; its words are one point, the last; the rest is a graph."""
    space = make_space(40, classes=2)
    distances = space.distances(range(space.point_count))
    assert space.graph.class_count == 3  # with that of addresses
    assert space.point_count == 40 - 6 + 3
    assert space.distance("w0", "w1") == 0.0
    assert space.distance("w0", "w3") == space.distance("w0", "w20") == 8.0
    np.testing.assert_array_equal(np.unique(distances[-1]), [0, 8])
    assert space.unknown_word == "w6"
    assert space.diameter == 8.0


class TestFingerprint:
    """The fingerprint names the graph, and what it was made of where that is more than the graph."""

    def test_lists_degree_reach_and_nearness_change_it(self):
        """Other lists, another degree, another reach, other words and other classes make another space."""
        options = [{}, {"seed": 1}, {"neighbours": 6}, {"reach": 4}, {"classes": 1}, {"count": 41}]
        spaces = [make_space(**{"count": 40, **option}) for option in options]
        assert len({space.fingerprint for space in spaces}) == len(spaces)
        assert make_space(40).fingerprint == spaces[0].fingerprint

    def test_draws_follow_the_graph_alone(self):
        """Lists that give one graph give one space: what is behind the lists' first words does not count."""
        ring = [[(word + step) % 20 for step in (1, -1)] for word in range(20)]
        longer = [[*row, -1, -1] for row in ring]
        spaces = [dn.Space(make_words(20), near=near, metric=dn.Metric.steps(2)) for near in (ring, longer)]
        assert spaces[0].fingerprint == spaces[1].fingerprint


class TestCopies:
    """Spaces that count steps are sent whole or as references."""

    def test_space_of_lists(self):
        """A pickled space of lists has the same distances, and nothing can be written to it."""
        space = make_space(60, classes=1)
        sent = pickle.loads(pickle.dumps(space))
        assert sent.fingerprint == space.fingerprint
        assert sent.metric == space.metric
        np.testing.assert_array_equal(sent.distances([3, 50]), space.distances([3, 50]))
        for array in (sent.point_by_word, sent.graph.neighbours, space.graph.neighbours):
            assert not array.flags.writeable

    def test_space_of_vectors(self, small_space):
        """One made of vectors keeps them, under any metric."""
        for metric in ("steps", "euclidean"):
            space = dn.Space(small_space.words, small_space.vectors, metric=metric)
            sent = pickle.loads(pickle.dumps(space))
            np.testing.assert_array_equal(sent.vectors, small_space.vectors)
            assert not sent.vectors.flags.writeable

    def test_glove_is_sent_as_a_reference(self, tmp_path):
        """Another process reads the default space itself, whatever it asks for first."""
        space = dn.Space.glove(300)
        data = pickle.dumps(space)
        assert len(data) < 1000
        (tmp_path / "space").write_bytes(data)
        script = """if True:
            import pickle, sys
            space = pickle.load(open(sys.argv[1], "rb"))
            print(space.vectors.shape, space.fingerprint, space.distance("he", "she"))"""
        command = [sys.executable, "-c", script, str(tmp_path / "space")]
        found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert found == f"{space.vectors.shape} {space.fingerprint} {space.distance('he', 'she')}\n"


class TestGlove:
    """The default space counts steps."""

    def test_vectors_are_read_when_asked_for(self):
        """Distances take no vectors; those that come are the words' own, and that of addresses where any are hidden."""
        for hide in ((), ("numbers",)):
            space = dn.Space.glove(300, hide=hide)
            before = space.fingerprint, space.diameter
            assert "vectors" not in vars(space)
            assert space.vectors.shape == (len(space), 50)
            flat = dn.Space.glove(300, metric="euclidean", hide=hide)
            assert flat.words == space.words
            np.testing.assert_array_equal(space.vectors, flat.vectors)
            assert not space.vectors.flags.writeable
            assert (dn.Space.glove(300, hide=hide).fingerprint, space.diameter) == before

    def test_near_words_by_vectors(self):
        """The default space may have its near words by the cosine of its own vectors."""
        space = dn.Space.glove(300, metric=dn.Metric.steps(by="cosine"), hide=())
        assert space.metric_name == "steps(by=cosine)"
        graph = reference.regular_graph(reference.near_words(space.vectors), 12, 64)
        assert space.graph.neighbours.tolist() == graph
        assert space.fingerprint != dn.Space.glove(300, hide=()).fingerprint

    @pytest.mark.deep
    def test_rings_of_glove(self, glove):
        """Rings of some words are those of a search, and all sum to the number of points."""
        graph = glove.graph
        assert (graph.counts.sum(axis=1) == 50_000).all()
        assert (graph.counts[:, 1] == 12).all()
        found = np.zeros(50_000, dtype=int) - 1
        front, found[777] = [777], 0
        for step in range(1, 5):
            front = [int(other) for other in np.unique(graph.neighbours[front]) if found[other] < 0]
            found[front] = step
        np.testing.assert_array_equal(glove.distances([777])[0], np.where(found < 0, 5, found))


def test_cached_graph_and_rings_are_read_or_found_anew(own_cache_folder):
    """Graph and rings are read again; what cannot be either is found anew."""
    expected = make_space(50).graph
    rings, neighbours = expected.counts, expected.neighbours
    files = entries(own_cache_folder)
    assert sorted(file.name.split("-")[0] for file in files) == ["graph", "rings"]
    true = {file: content(file) for file in files}
    for file in files:
        file.write_bytes(authentic(file, np.full(len(true[file]) // 8, np.nan).tobytes()))
        graph = make_space(50).graph
        np.testing.assert_array_equal(graph.neighbours, neighbours)
        np.testing.assert_array_equal(graph.counts, rings)
        assert {file: content(file) for file in files} == true


@settings(max_examples=25)
@given(
    count=st.integers(2, 90), neighbours=st.sampled_from([2, 4, 12]), reach=st.integers(2, 8), seed=st.integers(0, 9)
)
def test_any_graph_is_searched_to_its_reach(count, neighbours, reach, seed):
    """Whatever size, degree and reach, distances are those of a breadth-first search."""
    space = make_space(count, neighbours, reach, seed=seed)
    expected = reference.steps(space.graph.neighbours.tolist(), reach=reach)
    np.testing.assert_array_equal(space.distances(range(count)), expected)
