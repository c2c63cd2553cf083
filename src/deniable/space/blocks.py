"""Blocks and tiles of the distances between points, computed on all cores.

A row of distances is the same to the last bit whatever the blocks and the number of workers are.
"""

import functools
import threading
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.parallel import Result, fold_parallel, parallel_map
from deniable.space.squares import SingleArray, SquareBounds
from deniable.space.vector_distances import EuclideanPanels, VectorDistanceFiller

BLOCK_ROWS = 64
"""Rows that are computed together."""

TILE_SIZE = 512
"""Rows and columns of a tile of distances between points, where rows need not be whole."""

TileFiller = Callable[[slice, FloatArray], None]
"""Writes the distances of a strip of points to those of a slice of columns into an array (rows, columns)."""


class Distances(Protocol):
    """The distances between n points under a metric."""

    @property
    def panels(self) -> EuclideanPanels | None:
        """The points in panels where the distances are Euclidean, else None."""

    @property
    def identity(self) -> bytes:
        """What they are a function of, beside the points and the name of the metric."""

    def fill_rows(self, points: IntArray, out: FloatArray) -> None:
        """Write the distances of k <= `BLOCK_ROWS` points to all points into ``out`` (k, n)."""

    def prepare_strip(self, rows: slice) -> TileFiller:
        """Return a function that writes the tiles of a strip of at most `TILE_SIZE` points."""


class VectorDistances:
    """Distances that are a function of two vectors.

    Args:
        prepare: from the vectors Y (n, d) of points a function that writes the distances of a block X (k, d) to them.
        points: (n, d) all points.
    """

    identity = b""

    def __init__(self, prepare: Callable[[FloatArray], VectorDistanceFiller], points: FloatArray) -> None:
        self._prepare, self._points = prepare, points

    @property
    def panels(self) -> EuclideanPanels | None:
        """The points in panels where the distances are Euclidean, else None."""
        return self._fill_all if isinstance(self._fill_all, EuclideanPanels) else None

    @functools.cached_property
    def _fill_all(self) -> VectorDistanceFiller:
        return self._prepare(self._points)

    @functools.cached_property
    def _tile_fillers(self) -> list[VectorDistanceFiller]:
        return [self._prepare(self._points[span]) for span in list_spans(len(self._points))]

    def fill_rows(self, points: IntArray, out: FloatArray) -> None:
        """Write the distances of k <= `BLOCK_ROWS` points to all points into ``out`` (k, n)."""
        self._fill_all(self._points[points], out)

    def prepare_strip(self, rows: slice) -> TileFiller:
        """Return a function that writes the tiles of a strip of points."""

        def fill_tile(columns: slice, out: FloatArray) -> None:
            self._tile_fillers[columns.start // TILE_SIZE](self._points[rows], out)

        return fill_tile


def list_spans(count: int, first: int = 0) -> list[slice]:
    """Return the runs of `TILE_SIZE` points from a first one on, the last one shorter."""
    return [slice(start, min(start + TILE_SIZE, count)) for start in range(first, count, TILE_SIZE)]


def map_row_blocks(
    distances: Distances,
    count: int,
    visit: Callable[[int, FloatArray], Result],
    rows: npt.ArrayLike,
    workers: int | None = None,
) -> list[Result]:
    """Call ``visit(start, distances)`` for blocks of rows; see `Space.map_row_blocks`.

    Args:
        distances: between the points.
        count: n, number of points.
        visit: called with the place of a block among the rows, and its distances (k, n).
        rows: numbers of the points whose distances to all points are wanted.
        workers: threads.
    """
    point_numbers = np.asarray(rows, dtype=np.int64)
    local = threading.local()

    def visit_block(start: int) -> Result:
        if not hasattr(local, "buffer"):
            local.buffer = np.empty((BLOCK_ROWS, count))
        block_points = point_numbers[start : start + BLOCK_ROWS]
        block = local.buffer[: len(block_points)]
        distances.fill_rows(block_points, block)
        block[np.arange(len(block_points)), block_points] = 0.0
        return visit(start, block)

    return parallel_map(visit_block, range(0, len(point_numbers), BLOCK_ROWS), workers)


def fold_tiles(
    distances: Distances,
    count: int,
    visit: Callable[[slice, slice, FloatArray], Result],
    take: Callable[[Result], object],
    workers: int | None = None,
) -> None:
    """Call ``take(visit(rows, columns, distances))`` for tiles of n = ``count`` points; see `Space.fold_tiles`."""
    _fold_strips(distances.prepare_strip, np.dtype(np.float64), count, visit, take, workers)


def fold_square_tiles(
    squares: SquareBounds,
    count: int,
    visit: Callable[[slice, slice, SingleArray], Result],
    take: Callable[[Result], object],
    workers: int | None = None,
) -> None:
    """Call ``take(visit(rows, columns, lower_bounds))`` for the same tiles; see `Space.fold_square_tiles`."""

    def prepare_strip(rows: slice) -> Callable[[slice, SingleArray], None]:
        return functools.partial(squares.fill_tile, rows)

    _fold_strips(prepare_strip, np.dtype(np.float32), count, visit, take, workers)


def _fold_strips(
    prepare_strip: Callable[[slice], Callable[[slice, Any], None]],
    dtype: np.dtype[Any],
    count: int,
    visit: Callable[[slice, slice, Any], Result],
    take: Callable[[Result], object],
    workers: int | None,
) -> None:
    """Visit the tiles right of the diagonal, a strip of them in one thread and in order; the diagonal itself is 0."""
    local = threading.local()

    def visit_strip(rows: slice) -> list[Result]:
        if not hasattr(local, "buffer"):
            local.buffer = np.empty(TILE_SIZE * TILE_SIZE, dtype=dtype)
        fill_tile = prepare_strip(rows)
        results = []
        for columns in list_spans(count, rows.start):
            shape = rows.stop - rows.start, columns.stop - columns.start
            tile = local.buffer[: shape[0] * shape[1]].reshape(shape)
            fill_tile(columns, tile)
            if rows == columns:
                np.fill_diagonal(tile, 0.0)
            results.append(visit(rows, columns, tile))
        return results

    def take_strip(results: list[Result]) -> None:
        for result in results:
            take(result)

    fold_parallel(visit_strip, list_spans(count), take_strip, workers)
