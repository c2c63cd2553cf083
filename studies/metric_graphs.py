"""The graph of k nearest neighbours, joined both ways: lengths of its shortest paths, and steps on it.

What the regular graph of the package is compared with. Some words are near to many others here: their degrees differ.
"""

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.spatial.distance import cdist

from deniable.core.arrays import BoolArray, FloatArray, IntArray
from deniable.core.parallel import compile_loop, parallel_map
from deniable.space import Space
from deniable.space.near_lists import list_near_points
from deniable.space.steps import CLASS_STEPS
from studies.metric_laws import Steps, StoredDistances

NEIGHBOURS = 10
"""Nearest points that each point is joined to."""
UNIT = 2.0**-5
"""Of the length of an edge, the Euclidean distance of its ends."""
Nodes = npt.NDArray[np.int32]
_FARTHEST = np.iinfo(np.uint16).max
_POINTS_PER_TASK = 128


def store_path_lengths(space: Space, neighbours: int = NEIGHBOURS) -> StoredDistances:
    """Return the lengths of the shortest paths: the geodesic metric.

    Args:
        space: under the Euclidean metric; hidden classes are points like others.
        neighbours: k.
    """
    graph = _join_nearest(space.points, np.ones(space.point_count, dtype=np.bool_), neighbours)
    graph.data = np.maximum(np.rint(graph.data / UNIT), 1.0)
    return StoredDistances(space, _search_all(graph, _FARTHEST), UNIT)


def store_step_counts(space: Space, reach: int, neighbours: int = NEIGHBOURS) -> StoredDistances:
    """Return the numbers of edges on the shortest paths, at most ``reach``.

    Args:
        space: under the Euclidean metric; hidden classes are `CLASS_STEPS` away from all others.
        reach: steps beyond which no two words are.
        neighbours: k.
    """
    is_word = np.ones(space.point_count, dtype=np.bool_)
    is_word[[space.point_by_word[hidden.members[0]] for hidden in space.hidden_classes]] = False
    graph = _join_nearest(space.points, is_word, neighbours)
    graph.data[:] = 1.0
    steps = _search_all(graph, reach)
    steps[~is_word] = CLASS_STEPS
    steps[:, ~is_word] = CLASS_STEPS
    np.fill_diagonal(steps, 0)
    return StoredDistances(space, steps, 1.0)


def _join_nearest(points: FloatArray, is_word: BoolArray, neighbours: int) -> sparse.csr_array:
    """Return the Euclidean lengths (n, n) of the edges; parts are joined to the largest by the shortest edges."""
    near = list_near_points(points, "euclidean")[:, :neighbours]
    starts, ends = np.repeat(np.arange(len(points)), near.shape[1]), near.ravel().astype(np.int64)
    is_kept = is_word[starts] & is_word[ends]
    empty = sparse.csr_array((len(points), len(points)))
    graph = _add_edges(points, empty, starts[is_kept], ends[is_kept])
    while True:
        _, parts = sparse.csgraph.connected_components(graph, directed=False)
        sizes = np.bincount(parts[is_word])
        rest = np.flatnonzero((sizes > 0) & (np.arange(len(sizes)) != sizes.argmax()))
        if not rest.size:
            return graph
        members, others = np.flatnonzero(parts == rest[0]), np.flatnonzero((parts != rest[0]) & is_word)
        lengths = cdist(points[members], points[others])
        member, other = np.unravel_index(int(lengths.argmin()), lengths.shape)
        graph = _add_edges(points, graph, members[[member]], others[[other]])


def _add_edges(points: FloatArray, graph: sparse.csr_array, starts: IntArray, ends: IntArray) -> sparse.csr_array:
    lengths = np.linalg.norm(points[starts] - points[ends], axis=1)
    edges = sparse.csr_array((lengths, (starts, ends)), shape=graph.shape)
    joined: sparse.csr_array = graph.maximum(edges).maximum(edges.T).tocsr()
    return joined


def _search_all(graph: sparse.csr_array, reach: int) -> Steps:
    """Return the lengths (n, n) of the shortest paths over edges of whole lengths, at most ``reach``."""
    count = graph.shape[0]
    steps: Steps = np.empty((count, count), dtype=np.uint16)
    # Small numbers, all of which a processor holds nearby.
    starts, ends, lengths = graph.indptr.astype(np.int64), graph.indices.astype(np.int32), graph.data.astype(np.uint16)

    def visit(first: int) -> None:
        _search(starts, ends, lengths, first, reach, steps[first : first + _POINTS_PER_TASK])

    parallel_map(visit, range(0, count, _POINTS_PER_TASK))
    return steps


@compile_loop
def _search(  # pragma: no cover - compiled
    starts: IntArray, ends: Nodes, lengths: Steps, first: int, reach: int, out: Steps
) -> None:
    """Write the lengths (k, n) of the shortest paths from k points on, by a list of points for each length (Dial)."""
    span = np.int64(lengths.max()) + 1
    heads = np.empty(span, dtype=np.int32)
    nodes, after = np.empty(ends.size + 1, dtype=np.int32), np.empty(ends.size + 1, dtype=np.int32)
    for i in range(out.shape[0]):
        row = out[i]
        row[:] = reach
        row[first + i] = 0
        heads[:] = -1
        heads[0], nodes[0], after[0] = 0, first + i, -1
        used, waiting, length = 1, 1, 0
        while waiting > 0 and length < reach:
            entry = heads[length % span]
            heads[length % span] = -1
            while entry >= 0:
                node, entry = nodes[entry], after[entry]
                waiting -= 1
                if row[node] != length:  # found again on a shorter path
                    continue
                for k in range(starts[node], starts[node + 1]):
                    far = length + np.int64(lengths[k])
                    if far < row[ends[k]]:
                        row[ends[k]] = far
                        nodes[used], after[used], heads[far % span] = ends[k], heads[far % span], used
                        used, waiting = used + 1, waiting + 1
            length += 1
