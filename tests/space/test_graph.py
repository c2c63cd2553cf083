"""Searches from many points at once, against those of scipy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csgraph, csr_array

import deniable as dn
from deniable.space.graph import MAX_PATH, Graph


def random_graph(count, edge_count, longest, seed):
    """Return the edges (m, 2) of a connected graph, a random tree and more, and their lengths (m,)."""
    generator = np.random.default_rng(seed)
    tree = np.stack([generator.integers(np.arange(1, count)), np.arange(1, count)], axis=1)
    more = np.sort(generator.integers(count, size=(edge_count, 2)), axis=1)
    ends = np.unique(np.concatenate([tree, more[more[:, 0] < more[:, 1]]]), axis=0)
    return generator.permutation(ends), generator.integers(1, longest, size=len(ends), endpoint=True)


def search_all(count, ends, lengths, width):
    """Return the lengths (n, n) of shortest paths, from ``width`` points at a time."""
    graph = Graph(count, ends, lengths)
    searches = [graph.search(np.arange(count)[at : at + width]) for at in range(0, count, width)]
    return np.concatenate(searches, axis=1)[graph.place_of]


@given(
    count=st.integers(2, 40),
    edge_count=st.integers(0, 100),
    longest=st.sampled_from([1, 3, 400, 20_000, 10**7]),
    width=st.sampled_from([1, 7, 64]),
    seed=st.integers(0, 9),
)
def test_lengths_are_those_of_shortest_paths(count, edge_count, longest, width, seed):
    """Whatever the graph, the lengths and the number of sources, every path is a shortest one."""
    ends, lengths = random_graph(count, edge_count, longest, seed)
    matrix = csr_array((lengths, (ends[:, 0], ends[:, 1])), shape=(count, count))
    expected = csgraph.dijkstra(matrix, directed=False)
    np.testing.assert_array_equal(search_all(count, ends, lengths, width), expected)


def test_path_of_many_steps():
    """A chain is searched from its middle to both ends, one step a time."""
    count = 3000
    ends = np.stack([np.arange(count - 1), np.arange(1, count)], axis=1)
    lengths = Graph(count, ends, np.ones(count - 1, dtype=int))
    searched = lengths.search(np.array([1000, 0]))[lengths.place_of]
    np.testing.assert_array_equal(searched[:, 0], abs(np.arange(count) - 1000))
    np.testing.assert_array_equal(searched[:, 1], np.arange(count))


def test_lengths_fit_their_type():
    """Short paths are searched in int16, longer ones in int32, and those beyond it are refused in one line."""
    ends = np.array([[0, 1], [1, 2]])
    for longest, kind in ((10_000, np.int16), (20_000, np.int32), (MAX_PATH // 4, np.int32)):
        graph = Graph(3, ends, np.array([longest, 1]))
        searched = graph.search(np.array([0]))
        assert searched.dtype == kind
        assert searched[graph.place_of][:, 0].tolist() == [0, longest, longest + 1]
    with pytest.raises(dn.InputError, match=r"^Under the geodesic metric paths are at most .* scale them down\.$"):
        Graph(3, ends, np.array([MAX_PATH, 1]))
