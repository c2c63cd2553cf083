"""Shortest paths in a graph with integer lengths, searched from many points at once."""

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import IntArray
from deniable.core.errors import InputError
from deniable.core.parallel import compile_loop

NodeArray = npt.NDArray[np.int32]
LengthArray = npt.NDArray[np.signedinteger[Any]]
"""Lengths in int16 where the longest path fits, else in int32."""
MAX_PATH = 2**31 - 1
"""Length of the longest path, in units, which an int32 holds."""


def make_path_error(length: float) -> InputError:
    """Return the error for a path that may be as long as that."""
    return InputError(
        f"Under the geodesic metric paths are at most {MAX_PATH:,} units long. These vectors may need {length:.3g}: "
        "scale them down."
    )


class Graph:
    """A connected undirected graph with integer lengths, prepared for searches.

    Points are numbered anew inside, so that neighbours have near numbers (Cuthill and McKee 1969): a search then reads
    memory that is near to what it has read.

    Args:
        count: n, number of points.
        ends: (m, 2) points that each edge joins; each pair once.
        lengths: (m,) integers >= 1.

    Raises:
        InputError: a path may be too long for an int32.
    """

    def __init__(self, count: int, ends: IntArray, lengths: IntArray) -> None:
        from scipy.sparse import csgraph, csr_array  # noqa: PLC0415 - a moment that few metrics need

        arcs = np.concatenate([ends, ends[:, ::-1]])
        matrix = csr_array((np.tile(lengths, 2).astype(np.float64), (arcs[:, 0], arcs[:, 1])), shape=(count, count))
        order = csgraph.reverse_cuthill_mckee(matrix, symmetric_mode=True)
        matrix = csr_array(matrix[order][:, order])
        # No path is longer than two from any one point.
        self._bound = 2 * float(csgraph.dijkstra(matrix, indices=0).max())
        longest = self._bound + float(lengths.max())
        if not longest <= MAX_PATH:
            raise make_path_error(longest)
        self._type = np.dtype(np.int16 if longest <= np.iinfo(np.int16).max else np.int32)
        self._starts, self._neighbours = matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32)
        self._lengths: LengthArray = matrix.data.astype(self._type)
        self.place_of = np.empty(count, np.int32)
        self.place_of[order] = np.arange(count, dtype=np.int32)

    def search(self, sources: IntArray) -> LengthArray:
        """Return the lengths (n, k) of the shortest paths to k sources; row `place_of`[y] is that of the point y."""
        lengths = np.full((len(self.place_of), len(sources)), int(self._bound), self._type)
        places = self.place_of[sources]
        lengths[places, np.arange(len(places))] = 0
        _relax_edges(self._starts, self._neighbours, self._lengths, places, lengths)
        return lengths


@functools.partial(compile_loop, relaxed=True)
def _relax_point(  # pragma: no cover - compiled
    point: int, neighbours: NodeArray, steps: LengthArray, lengths: LengthArray, best: LengthArray
) -> bool:
    """Lower the lengths (k,) of one point to those by its neighbours, and say whether any has changed."""
    for k in range(best.size):
        best[k] = lengths[point, k]
    for neighbour, step in zip(neighbours, steps):  # noqa: B905 - numba has no strict
        for k in range(best.size):
            # In its own type: a sum in int64 would take four times as long.
            best[k] = min(best[k], lengths.dtype.type(lengths[neighbour, k] + step))
    changes = lengths.dtype.type(0)
    for k in range(best.size):
        changes |= best[k] ^ lengths[point, k]
        lengths[point, k] = best[k]
    return bool(changes != 0)


@functools.partial(compile_loop, relaxed=True)
def _relax_edges(  # pragma: no cover - compiled
    starts: NodeArray, neighbours: NodeArray, steps: LengthArray, sources: NodeArray, lengths: LengthArray
) -> None:
    """Lower the lengths (n, k) until none can be lowered by an edge: then they are those of shortest paths.

    All k sources take each step together, by vector instructions, which is many times as fast as one search after
    the other. A point is visited again after a neighbour has changed for any source, in sweeps over all points (Bellman
    1958).
    """
    is_due = np.zeros(len(lengths), np.bool_)
    for source in sources:
        for edge in range(starts[source], starts[source + 1]):
            is_due[neighbours[edge]] = True
    best = np.empty(lengths.shape[1], lengths.dtype)
    has_changed = True
    while has_changed:
        has_changed = False
        for point in range(len(lengths)):
            if is_due[point]:
                is_due[point] = False
                first, end = starts[point], starts[point + 1]
                if _relax_point(point, neighbours[first:end], steps[first:end], lengths, best):
                    has_changed = True
                    for edge in range(first, end):
                        is_due[neighbours[edge]] = True
