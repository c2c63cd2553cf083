"""Distances between vectors, as blocked float64 computations whose results do not depend on batching.

Those under the Euclidean metric are the same on every processor: sums of products in the order of the dimensions, each
product and each sum rounded by itself, and square roots, all as IEEE 754 defines them. A BLAS would choose its order by
the processor and by the shape of the matrices.
"""

import dataclasses
import math
from collections.abc import Callable

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError
from deniable.core.parallel import compile_loop

VectorDistanceFiller = Callable[[FloatArray, FloatArray], None]
"""Writes the distances of a block X (k, d) to the points that it was prepared for into an array (k, n)."""
PANEL_SIZE = 256
"""Points whose distances are computed together: 50 of their dimensions fit into a processor's second cache."""
_MIN_USER_ROWS = 64
"""Least rows that a user's function is asked for at once."""

CANCELLATION_SHARE = 1e-6
"""Where |x - y|^2 is below this share of |x|^2 + |y|^2 it is computed from the differences."""


@compile_loop
def _add_products(row: FloatArray, panel: FloatArray, k: int, out: FloatArray) -> None:  # pragma: no cover - compiled
    """Add the products of five dimensions from number k on of one vector to the sums (PANEL_SIZE,) of a panel."""
    a0, a1, a2, a3, a4 = row[k], row[k + 1], row[k + 2], row[k + 3], row[k + 4]
    y0, y1, y2, y3, y4 = panel[k], panel[k + 1], panel[k + 2], panel[k + 3], panel[k + 4]
    for j in range(PANEL_SIZE):
        out[j] = ((((out[j] + a0 * y0[j]) + a1 * y1[j]) + a2 * y2[j]) + a3 * y3[j]) + a4 * y4[j]


@compile_loop
def multiply_panel(rows: FloatArray, panel: FloatArray, out: FloatArray) -> None:  # pragma: no cover - compiled
    """Write the products x.y of vectors X (k, d) with those of a panel (d, PANEL_SIZE) into an array (k, PANEL_SIZE).

    Each is summed in the order of the dimensions. Four rows and five dimensions at a time, so that what has been loaded
    is used several times.
    """
    count, dimensions = rows.shape
    grouped = dimensions - dimensions % 5
    for i in range(count):
        for j in range(PANEL_SIZE):
            out[i, j] = 0.0
    for k in range(0, grouped, 5):
        y0, y1, y2, y3, y4 = panel[k], panel[k + 1], panel[k + 2], panel[k + 3], panel[k + 4]
        i = 0
        while i + 4 <= count:
            a, b, c, d = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
            a0, a1, a2, a3, a4 = a[k], a[k + 1], a[k + 2], a[k + 3], a[k + 4]
            b0, b1, b2, b3, b4 = b[k], b[k + 1], b[k + 2], b[k + 3], b[k + 4]
            c0, c1, c2, c3, c4 = c[k], c[k + 1], c[k + 2], c[k + 3], c[k + 4]
            d0, d1, d2, d3, d4 = d[k], d[k + 1], d[k + 2], d[k + 3], d[k + 4]
            oa, ob, oc, od = out[i], out[i + 1], out[i + 2], out[i + 3]
            for j in range(PANEL_SIZE):
                v0, v1, v2, v3, v4 = y0[j], y1[j], y2[j], y3[j], y4[j]
                oa[j] = ((((oa[j] + a0 * v0) + a1 * v1) + a2 * v2) + a3 * v3) + a4 * v4
                ob[j] = ((((ob[j] + b0 * v0) + b1 * v1) + b2 * v2) + b3 * v3) + b4 * v4
                oc[j] = ((((oc[j] + c0 * v0) + c1 * v1) + c2 * v2) + c3 * v3) + c4 * v4
                od[j] = ((((od[j] + d0 * v0) + d1 * v1) + d2 * v2) + d3 * v3) + d4 * v4
            i += 4
        for last in range(i, count):
            _add_products(rows[last], panel, k, out[last])
    for k in range(grouped, dimensions):
        for i in range(count):
            for j in range(PANEL_SIZE):
                out[i, j] += rows[i, k] * panel[k, j]


@compile_loop
def _sum_products(x: FloatArray, y: FloatArray) -> float:  # pragma: no cover - compiled
    """Return x.y as `multiply_panel` computes it."""
    total = 0.0
    for k in range(x.size):
        total += x[k] * y[k]
    return total


@compile_loop
def sum_squares(vectors: FloatArray) -> FloatArray:  # pragma: no cover - compiled
    """Return |x|^2 (n,) of vectors (n, d)."""
    out = np.empty(vectors.shape[0])
    for i in range(vectors.shape[0]):
        out[i] = _sum_products(vectors[i], vectors[i])
    return out


@compile_loop
def write_panel_distances(  # pragma: no cover - compiled
    rows: FloatArray,
    row_squares: FloatArray,
    panel: FloatArray,
    vectors: FloatArray,
    squares: FloatArray,
    out: FloatArray,
) -> None:
    """Write the distances of vectors X (k, d) to the points of a panel into an array (k, PANEL_SIZE).

    sqrt(|x|^2 + |y|^2 - 2 x.y), those of close points from their differences. The distance of two points follows from
    their vectors alone, whichever of them is the row.

    Args:
        rows: X (k, d).
        row_squares: their squares (k,).
        panel: (d, PANEL_SIZE) the points of the panel, zeros beyond the last.
        vectors: (m, d) the same points, m <= PANEL_SIZE.
        squares: their squares (m,).
        out: (k, PANEL_SIZE), of which the first m columns mean something.
    """
    multiply_panel(rows, panel, out)
    for i in range(rows.shape[0]):
        close = 0
        for j in range(squares.size):
            scale = row_squares[i] + squares[j]
            square = scale - 2.0 * out[i, j]
            out[i, j] = np.sqrt(max(square, 0.0))
            close += square < CANCELLATION_SHARE * scale
        # Where two points are as close as that, the subtraction has left little but rounding.
        # (A separate loop, so that the one above is vectorized.)
        if close > 0:
            for j in range(squares.size):
                scale = row_squares[i] + squares[j]
                if out[i, j] * out[i, j] <= 2.0 * CANCELLATION_SHARE * scale:
                    square = scale - 2.0 * _sum_products(rows[i], vectors[j])
                    if square < CANCELLATION_SHARE * scale:
                        total = 0.0
                        for k in range(rows.shape[1]):
                            difference = rows[i, k] - vectors[j, k]
                            total += difference * difference
                        out[i, j] = np.sqrt(total)


@compile_loop
def _fill_panels(  # pragma: no cover - compiled
    rows: FloatArray, panels: FloatArray, vectors: FloatArray, squares: FloatArray, out: FloatArray
) -> None:
    """Write the distances of vectors X (k, d) to n points into an array (k, n); see `write_panel_distances`."""
    row_squares = sum_squares(rows)
    count = vectors.shape[0]
    block = np.empty((rows.shape[0], PANEL_SIZE))
    for number in range(panels.shape[0]):
        start, end = number * PANEL_SIZE, min((number + 1) * PANEL_SIZE, count)
        write_panel_distances(rows, row_squares, panels[number], vectors[start:end], squares[start:end], block)
        for i in range(rows.shape[0]):  # numba would compile the error messages of a copied slice for a second
            for j in range(end - start):
                out[i, start + j] = block[i, j]


@dataclasses.dataclass(frozen=True, eq=False)
class EuclideanPanels:
    """Points laid out so that the Euclidean distances to many of them are computed at once.

    Attributes:
        vectors: (n, d) the points.
        panels: (p, d, PANEL_SIZE) the same, one panel after the other, zeros beyond the last point.
        squares: (n,) their squares.
    """

    vectors: FloatArray
    panels: FloatArray
    squares: FloatArray

    @classmethod
    def of(cls, vectors: FloatArray) -> "EuclideanPanels":
        """Return the points (n, d) as panels, which write d(x, y) = |x - y|_2."""
        count, dimensions = vectors.shape
        padded = np.zeros((-(-count // PANEL_SIZE) * PANEL_SIZE, dimensions))
        padded[:count] = vectors
        panels = np.ascontiguousarray(padded.reshape(-1, PANEL_SIZE, dimensions).transpose(0, 2, 1))
        # A copy: what is read-only has another type, for which the loops would be compiled once more.
        own_vectors = padded[:count]
        return cls(own_vectors, panels, sum_squares(own_vectors))

    def __call__(self, rows: FloatArray, out: FloatArray) -> None:
        """Write the distances of vectors X (k, d) to all points into an array (k, n)."""
        _fill_panels(np.array(rows, order="C"), self.panels, self.vectors, self.squares, out)


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
    fill_chords = EuclideanPanels.of(directions)

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
