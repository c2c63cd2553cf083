"""Distances between vectors, as blocked float64 computations whose results do not depend on batching."""

import math
from collections.abc import Callable

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError
from deniable.core.parallel import compile_loop

VectorDistanceFiller = Callable[[FloatArray, FloatArray], None]
"""Writes the distances of a block X (k, d) to the points that it was prepared for into an array (k, n)."""
_CHUNK_SIZE = 256
"""Distances finished together before the close ones among them are looked for."""

CANCELLATION_SHARE = 1e-6
"""Where |x - y|^2 is below this share of |x|^2 + |y|^2 it is computed from the differences."""


@compile_loop
def _finish_euclidean(  # pragma: no cover - compiled
    products: FloatArray, rows: FloatArray, vectors: FloatArray, row_squares: FloatArray, squares: FloatArray
) -> None:
    """Turn x.y into |x - y| in place: sqrt(|x|^2 + |y|^2 - 2 x.y), close pairs from differences."""
    count = products.shape[1]
    for i in range(products.shape[0]):
        for start in range(0, count, _CHUNK_SIZE):
            end = min(start + _CHUNK_SIZE, count)
            close = 0
            for j in range(start, end):
                scale = row_squares[i] + squares[j]
                square = scale - 2.0 * products[i, j]
                products[i, j] = np.sqrt(max(square, 0.0))
                close += square < CANCELLATION_SHARE * scale
            # Where two points are as close as that, the subtraction has left little but rounding.
            # (A separate loop, so that the one above is vectorized.)
            if close > 0:
                for j in range(start, end):
                    if products[i, j] ** 2 <= 2.0 * CANCELLATION_SHARE * (row_squares[i] + squares[j]):
                        total = 0.0
                        for k in range(rows.shape[1]):
                            total += (rows[i, k] - vectors[j, k]) ** 2
                        products[i, j] = np.sqrt(total)


def prepare_euclidean(vectors: FloatArray) -> VectorDistanceFiller:
    """d(x, y) = |x - y|_2 by one matrix product a block."""
    transposed = np.ascontiguousarray(vectors.T)
    squares = np.einsum("nd,nd->n", vectors, vectors)

    def fill(rows: FloatArray, out: FloatArray) -> None:
        np.matmul(rows, transposed, out=out)
        _finish_euclidean(out, rows, vectors, np.einsum("kd,kd->k", rows, rows), squares)

    return fill


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
        out *= 0.5
        np.minimum(out, 1.0, out=out)
        np.arcsin(out, out=out)
        out *= 2.0

    return fill


def prepare_scipy(name: str, vectors: FloatArray) -> VectorDistanceFiller:
    """A distance that scipy knows, by its name there."""
    from scipy.spatial.distance import cdist  # noqa: PLC0415 - 0.2 s that few metrics need

    def fill(rows: FloatArray, out: FloatArray) -> None:
        cdist(rows, vectors, name, out=out)

    return fill


def prepare_user_function(
    function: Callable[[FloatArray, FloatArray], FloatArray], name: str, vectors: FloatArray
) -> VectorDistanceFiller:
    """A function of the user's own, whose values are checked."""

    def fill(rows: FloatArray, out: FloatArray) -> None:
        values = np.asarray(function(rows, vectors), dtype=np.float64)
        if values.shape != out.shape:
            raise InputError(f"The metric {name} must return shape {out.shape}. Got {values.shape}.")
        if not np.isfinite(values).all() or (values < 0).any():
            raise InputError(f"The metric {name} returned a distance that is negative or not finite.")
        out[:] = values

    return fill


def bound_euclidean_error(points: FloatArray, diameter: Callable[[], float]) -> float:
    """Bound on the error of a distance, for vectors of length R in m dimensions, u = 2^-53.

    The square errs by (2 m + 4) u (|x|^2 + |y|^2) at most, and where the product form is used it
    is at least CANCELLED (|x|^2 + |y|^2): the root errs by half the quotient of the two. (Closer
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
