"""Distances between vectors, as blocked float64 computations whose results do not depend on batching.

Those under the Euclidean metric are the same on every processor: sums of products in the order of the dimensions, each
product and each sum rounded by itself, and square roots, all as IEEE 754 defines them. A BLAS would choose its order by
the processor and by the shape of the matrices.

Blocks of rows of the distances between points, computed on all cores.

A row of distances is the same to the last bit whatever the blocks and the number of workers are.
"""

import math
import threading
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.errors import InputError
from deniable.core.parallel import Result, compile_loop, parallel_map

VectorDistanceFiller = Callable[[FloatArray, FloatArray], None]
"""Writes the distances of a block X (k, d) to the points that it was prepared for into an array (k, n)."""
PANEL_SIZE = 256
"""Points whose distances are computed together: 50 of their dimensions fit into a processor's second cache."""
_MIN_USER_ROWS = 64
"""Least rows that a user's function is asked for at once."""

CANCELLATION_SHARE = 1e-6
"""Where |x - y|^2 is below this share of |x|^2 + |y|^2 it is computed from the differences."""


@compile_loop
def _write_distances(  # pragma: no cover - compiled
    rows: FloatArray,
    row_squares: FloatArray,
    panels: FloatArray,
    vectors: FloatArray,
    squares: FloatArray,
    out: FloatArray,
) -> None:
    """Write the distances of vectors X (k, d) to n points into an array (k, n).

    sqrt(|x|^2 + |y|^2 - 2 x.y), those of close points from their differences. The distance of two points follows from
    their vectors alone, whichever of them is the row.

    Args:
        rows: X (k, d).
        row_squares: their squares (k,).
        panels: (p, d, PANEL_SIZE) the points, one panel after the other, zeros beyond the last point.
        vectors: (n, d) the points.
        squares: their squares (n,).
        out: (k, n).
    """
    products = np.empty(PANEL_SIZE)
    for number in range(panels.shape[0]):
        start, end = number * PANEL_SIZE, min((number + 1) * PANEL_SIZE, vectors.shape[0])
        for i in range(rows.shape[0]):
            products[:] = 0.0
            for k in range(rows.shape[1]):
                coordinate, column = rows[i, k], panels[number, k]
                for j in range(PANEL_SIZE):
                    products[j] += coordinate * column[j]
            for j in range(start, end):
                scale = row_squares[i] + squares[j]
                square = scale - 2.0 * products[j - start]
                if square < CANCELLATION_SHARE * scale:  # where the subtraction has left little but rounding
                    square = 0.0
                    for k in range(rows.shape[1]):
                        square += (rows[i, k] - vectors[j, k]) ** 2
                out[i, j] = np.sqrt(square)


def prepare_euclidean(vectors: FloatArray) -> VectorDistanceFiller:
    """d(x, y) = |x - y|_2."""
    count, dimensions = vectors.shape
    padded = np.zeros((-(-count // PANEL_SIZE) * PANEL_SIZE, dimensions))
    padded[:count] = vectors
    panels = np.ascontiguousarray(padded.reshape(-1, PANEL_SIZE, dimensions).transpose(0, 2, 1))
    # A copy: what is read-only has another type, for which the loop would be compiled once more.
    points = padded[:count]
    squares = multiply_rows(points, points)

    def fill(rows: FloatArray, out: FloatArray) -> None:
        own_rows = np.array(rows, order="C")
        _write_distances(own_rows, multiply_rows(own_rows, own_rows), panels, points, squares, out)

    return fill


def multiply_rows(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the inner product (k,) of each row of two arrays (k, d), added up column by column as on any processor."""
    products = np.zeros(len(left))
    for column in range(left.shape[1]):
        products += left[:, column] * right[:, column]
    return products


def normalize_directions(vectors: FloatArray) -> FloatArray:
    """Return unit vectors; rounding to 12 decimals makes parallel vectors equal."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not norms.all():
        raise InputError(
            "The angular metric needs vectors with a direction. "
            f"Vector number {int(np.argmin(norms))} is zero: leave that word out."
        )
    directions: FloatArray = np.round(vectors / norms, 12)
    return directions


def prepare_angular(directions: FloatArray) -> VectorDistanceFiller:
    """d(x, y) = arccos(x.y / |x||y|) in radians, from the chord so that small angles are exact."""
    fill_chords = prepare_euclidean(directions)

    def fill(rows: FloatArray, out: FloatArray) -> None:
        fill_chords(rows, out)
        np.multiply(2.0, np.arcsin(np.minimum(0.5 * out, 1.0)), out=out)

    return fill


def prepare_manhattan(vectors: FloatArray) -> VectorDistanceFiller:
    """d(x, y) = sum |x_i - y_i|."""
    return _prepare_scipy("cityblock", vectors)


def prepare_chebyshev(vectors: FloatArray) -> VectorDistanceFiller:
    """d(x, y) = max |x_i - y_i|."""
    return _prepare_scipy("chebyshev", vectors)


def _prepare_scipy(name: str, vectors: FloatArray) -> VectorDistanceFiller:
    from scipy.spatial.distance import cdist

    return lambda rows, out: cdist(rows, vectors, name, out=out)


def prepare_user_function(
    function: Callable[[FloatArray, FloatArray], FloatArray], name: str, vectors: FloatArray
) -> VectorDistanceFiller:
    """A function of the user's own, whose values are checked."""

    def fill(rows: FloatArray, out: FloatArray) -> None:
        # It may use a BLAS, which picks its kernels by shape: few rows are always as many.
        padded = np.resize(rows, (max(len(rows), _MIN_USER_ROWS), rows.shape[1]))
        shape = len(padded), len(vectors)
        values = np.asarray(function(padded, vectors), dtype=np.float64)
        if values.shape != shape:
            raise InputError(f"The metric {name} must return shape {shape}. Got {values.shape}.")
        if not np.isfinite(values).all() or (values < 0).any():
            raise InputError(f"The metric {name} returned a distance that is negative or not finite.")
        out[:] = values[: len(rows)]

    return fill


def bound_euclidean_error(points: FloatArray, diameter: Callable[[], float]) -> float:
    """Bound on the error of a distance, for vectors of length R in m dimensions, u = 2^-53.

    The square errs by (2 m + 4) u (|x|^2 + |y|^2) at most, and where the product form is used it
    is at least `CANCELLATION_SHARE` (|x|^2 + |y|^2): the root errs by half the quotient of the two. (Closer
    pairs come from differences, with a relative error of (m + 4) u.)
    """
    del diameter
    max_length = math.sqrt(2.0 * float(np.einsum("nd,nd->n", points, points).max()))
    return float((2 * points.shape[1] + 8) * 2.0**-53 * max_length / math.sqrt(CANCELLATION_SHARE))


def bound_angular_error(points: FloatArray, diameter: Callable[[], float]) -> float:
    """Bound on the error of an angle 2 arcsin(c / 2), from that of the chord c.

    Its derivative in c is 1 / cos(angle / 2), taken a little beyond the largest angle; near
    opposite directions the error is at most that of the square root, 2 sqrt(chord's). The unit
    vectors are rounded to 12 decimals.
    """
    chord = bound_euclidean_error(points, diameter) + 1e-12 * math.sqrt(points.shape[1])
    steepness = math.cos(min(diameter() / 2 + 1e-3, math.pi / 2))
    return min(chord / steepness if steepness > 0 else math.inf, 2.01 * math.sqrt(chord)) + 2.0**-50


def bound_sum_error(points: FloatArray, diameter: Callable[[], float]) -> float:
    """Bound on the error of a sum, or a maximum, of m absolute differences."""
    return float((points.shape[1] + 2) * 2.0**-53 * diameter())


BLOCK_ROWS = 64
"""Rows that are computed together."""


RowFiller = Callable[[IntArray, FloatArray], None]
"""Writes the distances of k <= `BLOCK_ROWS` of n points, by their numbers, to all points into an array (k, n)."""


def map_row_blocks(
    fill_rows: RowFiller,
    count: int,
    visit: Callable[[int, FloatArray], Result],
    rows: npt.ArrayLike,
    workers: int | None = None,
) -> list[Result]:
    """Call ``visit(start, distances)`` for blocks of rows; see `Space.map_row_blocks`.

    Args:
        fill_rows: computes the distances between the points.
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
        fill_rows(block_points, block)
        block[np.arange(len(block_points)), block_points] = 0.0
        return visit(start, block)

    return parallel_map(visit_block, range(0, len(point_numbers), BLOCK_ROWS), workers)


def measure_extent(fill_rows: RowFiller, count: int) -> dict[str, float]:
    """Return the largest and the smallest distance between two of n points."""

    def visit(first: int, distances: FloatArray) -> tuple[float, float]:
        high, rows = float(distances.max()), np.arange(len(distances))
        distances[rows, first + rows] = np.inf
        return float(distances.min()), high

    lows, highs = zip(*map_row_blocks(fill_rows, count, visit, range(count)), strict=True)
    return {"diameter": max(highs), "separation": min(lows)}
