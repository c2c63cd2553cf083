"""Geodesic distances: the lengths of shortest paths in the graph of nearest neighbours.

Under the Euclidean distance of vectors of many dimensions all words that are not near are about equally far, so that
most of a law's mass can lie on words that have nothing to do with the input. A path from neighbour to neighbour tells
such words apart: near means related, far means many steps away.
"""

import functools
import hashlib
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.cache import load_or_compute_array
from deniable.core.parallel import compile_loop
from deniable.space.blocks import Edges, TileFiller, VectorDistances, map_row_blocks
from deniable.space.graph import MAX_PATH, Graph, LengthArray, make_path_error
from deniable.space.vector_distances import EuclideanPanels

DEFAULT_NEIGHBOURS = 10
"""Nearest points that each point is joined to."""
MAX_NEIGHBOURS = 1_000
UNIT = 2.0**-7
"""Distances are whole multiples of it: float64 holds them, and their sums, exactly."""
CONVERSION = 0.75
"""Geodesic distance of neighbours per unit of Euclidean distance, chosen so that in the default space calibrated at
epsilon 3 gives an attacker about the success that it gives under Euclidean distance."""
_SEARCH_WIDTH = 128
"""Points from which one search starts: the fastest number for 50,000 points."""


class GeodesicDistances:
    """Lengths of the shortest paths in the graph of k nearest neighbours.

    The nodes are the points of a space. Each is joined to the k that are nearest by Euclidean distance (of equally near
    ones the first), in both directions, by edges of length::

        l(x, y) = max(1, ceil(CONVERSION |x - y|_2 / UNIT)) UNIT

    Parts that are not connected are joined by the edges of the minimum spanning tree between them, of lengths by the
    same formula (Boruvka 1926). A sum of such lengths is exact in float64, so that nothing rounds: the distances obey
    the triangle inequality to the last bit.

    Args:
        neighbours: k, fewer than there are points.
        points: (n, d) all points, distinct.

    Raises:
        InputError: the points are too far apart for a path of 2^31 units.
    """

    def __init__(self, neighbours: int, points: FloatArray) -> None:
        self._neighbours, self._points = neighbours, points

    panels = None

    @functools.cached_property
    def _table(self) -> IntArray:
        """The edges (m, 3): two points and the length in units; computed once, and kept in the cache."""
        state = hashlib.blake2b(repr((self._neighbours, CONVERSION, UNIT, self._points.shape)).encode(), digest_size=16)
        state.update(self._points.tobytes())
        table = load_or_compute_array(
            f"graph-{state.hexdigest()}",
            (-1, 3),
            lambda: find_edges(self._points, self._neighbours).astype(np.float64),
            lambda stored: _is_edge_table(stored, len(self._points)),
        )
        return table.astype(np.int64)

    @functools.cached_property
    def _graph(self) -> Graph:
        return Graph(len(self._points), self._table[:, :2], self._table[:, 2])

    @functools.cached_property
    def edges(self) -> Edges:
        """The edges of the graph."""
        return Edges(self._table[:, :2], UNIT * self._table[:, 2].astype(np.float64))

    @functools.cached_property
    def identity(self) -> bytes:
        """BLAKE2b of the edges, which other processors might round to others."""
        return hashlib.blake2b(self._table.astype("<i8").tobytes(), digest_size=16).digest()

    def fill_rows(self, points: IntArray, out: FloatArray) -> None:
        """Write the distances of some points (k,) to all points into ``out`` (k, n)."""
        lengths = self._graph.search(points)
        _copy_lengths(lengths, self._graph.place_of, UNIT, out)

    def prepare_strip(self, rows: slice) -> TileFiller:
        """Return a function that writes the tiles of a strip of points, after one search from all of them."""
        sources = np.arange(rows.start, rows.stop)
        starts = range(0, len(sources), _SEARCH_WIDTH)
        searches = [self._graph.search(sources[start : start + _SEARCH_WIDTH]) for start in starts]
        places = self._graph.place_of

        def fill_tile(columns: slice, out: FloatArray) -> None:
            for start, lengths in zip(starts, searches, strict=True):
                _copy_lengths(lengths, places[columns], UNIT, out[start : start + _SEARCH_WIDTH])

        return fill_tile


def find_edges(points: FloatArray, neighbours: int) -> IntArray:
    """Return the edges (m, 3) of the graph of `GeodesicDistances`, sorted: two points, the lesser first, and a length.

    Raises:
        InputError: a length is beyond 2^31 units.
    """
    edges = _find_nearest(points, neighbours)
    while True:
        part_of = _find_parts(len(points), edges)
        if not part_of.any():
            return edges
        edges = _sort_edges(np.concatenate([edges, _join_parts(points, part_of)]))


def _find_nearest(points: FloatArray, neighbours: int) -> IntArray:
    """Return the edges (m, 3) from each point to its nearest others."""

    def visit(first: int, distances: FloatArray) -> IntArray:
        numbers = np.arange(first, first + len(distances))
        nearest = np.empty((len(distances), neighbours), dtype=np.int64)
        _select_nearest(distances, numbers, CONVERSION / UNIT, nearest)
        lengths = _measure_edges(np.take_along_axis(distances, nearest, axis=1))
        return _arrange_edges(np.repeat(numbers, neighbours), nearest.ravel(), lengths.ravel())

    return _sort_edges(np.concatenate(_map_euclidean_rows(points, np.arange(len(points)), visit)))


def _join_parts(points: FloatArray, part_of: IntArray) -> IntArray:
    """Return the least edge (m, 3) that leaves each part but the largest, which is number 0.

    Each is an edge of the minimum spanning tree between the parts, edges being ordered by length, then by their ends.
    """
    members = np.flatnonzero(part_of)

    def visit(first: int, distances: FloatArray) -> IntArray:
        numbers = members[first : first + len(distances)]
        distances[part_of[numbers][:, None] == part_of] = np.inf
        nearest = np.empty((len(distances), 1), dtype=np.int64)
        _select_nearest(distances, numbers, CONVERSION / UNIT, nearest)
        lengths = _measure_edges(np.take_along_axis(distances, nearest, axis=1))
        return _arrange_edges(numbers, nearest[:, 0], lengths[:, 0])

    edges: IntArray = np.concatenate(_map_euclidean_rows(points, members, visit))
    order = np.lexsort((edges[:, 1], edges[:, 0], edges[:, 2], part_of[members]))
    _, firsts = np.unique(part_of[members][order], return_index=True)
    least_edges: IntArray = edges[order][firsts]
    return least_edges


def _map_euclidean_rows(
    points: FloatArray, rows: IntArray, visit: Callable[[int, FloatArray], IntArray]
) -> list[IntArray]:
    return map_row_blocks(VectorDistances(EuclideanPanels.of, points), len(points), visit, rows)


def _measure_edges(distances: FloatArray) -> IntArray:
    """Return the lengths, in units, of edges between points at these Euclidean distances."""
    lengths = np.maximum(1.0, np.ceil(distances * (CONVERSION / UNIT)))
    if not lengths.max() <= MAX_PATH:
        raise make_path_error(float(lengths.max()))
    units: IntArray = lengths.astype(np.int64)
    return units


def _arrange_edges(starts: IntArray, ends: IntArray, lengths: IntArray) -> IntArray:
    """Return edges (m, 3): two points, the lesser first, and a length."""
    return np.stack([np.minimum(starts, ends), np.maximum(starts, ends), lengths], axis=1)


def _sort_edges(edges: IntArray) -> IntArray:
    """Return the edges (m, 3) by their ends, each pair of ends once, with the lesser of its lengths."""
    edges = edges[np.lexsort((edges[:, 2], edges[:, 1], edges[:, 0]))]
    is_new = (edges[1:, :2] != edges[:-1, :2]).any(axis=1)
    distinct: IntArray = edges[np.append(True, is_new)]
    return distinct


def _find_parts(count: int, edges: IntArray) -> IntArray:
    """Return the number of each point's connected part (count,): 0 for the largest, of equally large ones the first."""
    from scipy.sparse import coo_array, csgraph  # noqa: PLC0415 - a moment that few metrics need

    matrix = coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(count, count))
    _, part_of = csgraph.connected_components(matrix, directed=False)
    rank_of = np.argsort(np.argsort(-np.bincount(part_of), kind="stable"))
    numbers: IntArray = rank_of[part_of]
    return numbers


def _is_edge_table(stored: FloatArray, count: int) -> bool:
    """Return whether a cached array (m, 3) is the edges of a connected graph: sorted, each once, of whole lengths."""
    if not ((stored == np.floor(stored)).all() and (stored[:, 2] >= 1).all() and (stored <= MAX_PATH).all()):
        return False
    edges = stored.astype(np.int64)
    if not ((edges[:, 0] >= 0) & (edges[:, 0] < edges[:, 1]) & (edges[:, 1] < count)).all():
        return False
    places = edges[:, 0] * count + edges[:, 1]
    return bool((np.diff(places) > 0).all()) and not _find_parts(count, edges).any()


@compile_loop
def _select_nearest(
    distances: FloatArray, numbers: IntArray, units: float, nearest: IntArray
) -> None:  # pragma: no cover - compiled
    """Write the places (r, k) of the k least in each row (r, n) of distances, in whole units, but for the row's own.

    Of equal ones the first are taken.
    """
    count = nearest.shape[1]
    least = np.empty(count)
    for i in range(distances.shape[0]):
        found, limit = 0, np.inf
        for j in range(distances.shape[1]):
            # As long as the longest of those found, rounded up, is too long.
            if distances[i, j] * units > limit or j == numbers[i]:
                continue
            length = max(1.0, np.ceil(distances[i, j] * units))
            if found == count and length >= least[count - 1]:
                continue
            found = min(found + 1, count)
            place = found - 1
            while place > 0 and least[place - 1] > length:
                least[place] = least[place - 1]
                nearest[i, place] = nearest[i, place - 1]
                place -= 1
            least[place] = length
            nearest[i, place] = j
            if found == count:
                limit = least[count - 1] - 1.0


@compile_loop
def _copy_lengths(
    lengths: LengthArray, places: npt.NDArray[np.int32], unit: float, out: FloatArray
) -> None:  # pragma: no cover - compiled
    """Write the distances (k, c) of k sources to the points at c places of a search's lengths (n, k)."""
    for j in range(places.size):
        for k in range(out.shape[0]):
            out[k, j] = unit * lengths[places[j], k]
