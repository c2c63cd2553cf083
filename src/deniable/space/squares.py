"""Lower bounds on the squared Euclidean distances between points, by float32 products: what sifts pairs before float64.

A pass in float32 takes a quarter of one in float64. Each number is a true lower bound, a little below the square, so
that a search for an extreme over all pairs can leave out what cannot be it, and decide between the rest in float64.

With m coordinates, points x centred and divided by a power of two, N = |x|^2, u = 2^-24, hats for float32::

    q(i, j) = <[x^_i, l_i, 1], [-2 x^_j, 1, l_j]>,        l_i = (1 - kappa) N_i, rounded down

is one float32 product. In whatever order a processor adds, and whether or not it fuses, it errs by at most
(m + 2) u / (1 - (m + 2) u) times the sum of the absolute terms (Higham 2002, Section 3.1), which is at most
2 (N_i + N_j); the rounding of the coordinates adds 2.1 u |x_i| 2 |x_j| / 2 twice over, at most 2.1 u (N_i + N_j). With
kappa = 1.01 (2 m + 10) u both are within kappa (N_i + N_j), so that::

    |x_i - x_j|^2 - 2 kappa (N_i + N_j)  <=  q(i, j)  <=  |x_i - x_j|^2

(but for `_UNDERFLOW`, what the least of floats may lose).
"""

import math

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray
from deniable.core.parallel import compile_loop

SingleArray = npt.NDArray[np.float32]
"""Array of float32."""

MAX_SCREENED_DIMENSIONS = 10_000
"""Coordinates up to which the bound on the error of a product holds."""
SINGLE_ROUNDING = 2.0**-18
"""Covers a few roundings of float32 products and sums, relative to them."""
_UNDERFLOW = 2.0**-100
_UNIT = 2.0**-24


class SquareBounds:
    """Lower bounds on the squared distances between points (n, m), in units of ``unit`` squared.

    Args:
        points: (n, m) float64.

    Attributes:
        unit: the power of two that is 1 in the tiles.
        gaps: (n,) float64; the square is at most ``gaps[i] + gaps[j]`` above its lower bound, in the same units.
    """

    def __init__(self, points: FloatArray) -> None:
        count, dimensions = points.shape
        centred = points - points.mean(axis=0)
        largest = float(np.abs(centred).max())
        self.unit = 2.0 ** math.ceil(math.log2(largest))
        centred /= self.unit
        squares = np.einsum("nd,nd->n", centred, centred)
        kappa = 1.01 * (2 * dimensions + 10) * _UNIT
        self.gaps: FloatArray = 2.02 * kappa * squares + 2 * _UNDERFLOW
        lows = np.nextafter(((1 - kappa) * squares - _UNDERFLOW).astype(np.float32), np.float32(-np.inf))
        ones = np.ones(count, dtype=np.float32)
        single = centred.astype(np.float32)
        self._left: SingleArray = np.column_stack([single, lows, ones])
        self._right: SingleArray = np.ascontiguousarray(np.column_stack([-2 * single, ones, lows]).T)

    def fill_tile(self, rows: slice, columns: slice, out: SingleArray) -> None:
        """Write the lower bounds between runs of points into ``out`` (rows, columns)."""
        np.matmul(self._left[rows], self._right[:, columns], out=out)


@compile_loop
def measure_euclidean(one: FloatArray, other: FloatArray) -> float:  # pragma: no cover - compiled
    """Return the distance of two vectors (m,) from their differences; it errs by at most (m + 4) 2^-53 of itself."""
    total = 0.0
    for k in range(one.size):
        total += (one[k] - other[k]) ** 2
    return math.sqrt(total)
