"""Blocks and tiles of the distances between points, computed on all cores.

A row of distances is the same to the last bit whatever the blocks and the number of workers are.
"""

import threading
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray
from deniable.core.parallel import Result, parallel_map
from deniable.space.metrics import BLOCK_ROWS, TILE_SIZE, DistanceFiller, Metric


def map_row_blocks(
    points: FloatArray,
    fill_distances: DistanceFiller,
    visit: Callable[[int, FloatArray], Result],
    rows: npt.ArrayLike,
    workers: int | None = None,
) -> list[Result]:
    """Call ``visit(start, distances)`` for blocks of rows; see `Space.map_row_blocks`.

    Args:
        points: (n, d) all points.
        fill_distances: of the metric, prepared for all points.
        visit: called with the place of a block among the rows, and its distances (k, n).
        rows: numbers of the points whose distances to all points are wanted.
        workers: threads.
    """
    point_numbers = np.asarray(rows, dtype=np.int64)
    local = threading.local()

    def visit_block(start: int) -> Result:
        if not hasattr(local, "buffer"):
            local.buffer = np.empty((BLOCK_ROWS, len(points)))
        block_points = point_numbers[start : start + BLOCK_ROWS]
        # A BLAS picks its kernels by shape: every product has the same, the last one padded.
        fill_distances(points[np.resize(block_points, BLOCK_ROWS)], local.buffer)
        distances = local.buffer[: len(block_points)]
        distances[np.arange(len(block_points)), block_points] = 0.0
        return visit(start, distances)

    return parallel_map(visit_block, range(0, len(point_numbers), BLOCK_ROWS), workers)


def map_tiles(
    points: FloatArray,
    metric: Metric,
    visit: Callable[[slice, slice, FloatArray], Result],
    workers: int | None = None,
) -> list[Result]:
    """Call ``visit(rows, columns, distances)`` for tiles of points (n, d); see `Space.map_tiles`."""
    spans = [slice(at, min(at + TILE_SIZE, len(points))) for at in range(0, len(points), TILE_SIZE)]
    fillers = [metric.make_filler(points[span]) for span in spans]
    local = threading.local()

    def visit_tile(tile_index: tuple[int, int]) -> Result:
        if not hasattr(local, "buffer"):
            local.buffer = np.empty(TILE_SIZE * TILE_SIZE)
        rows, columns = spans[tile_index[0]], spans[tile_index[1]]
        shape = rows.stop - rows.start, columns.stop - columns.start
        distances = local.buffer[: shape[0] * shape[1]].reshape(shape)
        fillers[tile_index[1]](points[rows], distances)
        if rows == columns:
            np.fill_diagonal(distances, 0.0)
        return visit(rows, columns, distances)

    return parallel_map(visit_tile, [(i, j) for i in range(len(spans)) for j in range(i, len(spans))], workers)
