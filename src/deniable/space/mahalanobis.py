r"""The Mahalanobis distance sqrt((x - y)' S^-1 (x - y)), and what rounding can change in it.

With S = L L' (Cholesky) it is the Euclidean distance of L^-1 x and L^-1 y. Everything is compiled loops in a written
order, so that distances are the same on every processor. S is what its float64 numbers are, also where it is computed:
as the covariance of the points of a space.
"""

import dataclasses
import math
from collections.abc import Callable

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError
from deniable.core.parallel import compile_loop
from deniable.space.vector_distances import VectorDistanceFiller, bound_euclidean_error, prepare_euclidean

Entries = tuple[tuple[float, ...], ...]
MAX_SPREAD = 1e10
"""Largest tr(S) |L^-1|_F^2, which is at least tr(S) over the least eigenvalue: beyond it rounding decides."""
_RANGE = 1e-200, 1e200
"""Of the trace of S, and of the squares of the coordinates of L^-1 x."""


@dataclasses.dataclass(frozen=True)
class _Covariance:
    """The matrix S (d, d), by rows; None for the covariance of the points of a space."""

    entries: Entries | None = None

    def factor(self, points: FloatArray) -> tuple[FloatArray, float]:
        """Return L (d, d) with L L' = S, and tr(S) |L^-1|_F^2.

        Raises:
            InputError: S has another size than the vectors (n, d), or is not positive definite.
        """
        matrix = _measure_covariance(np.array(points, order="C")) if self.entries is None else np.array(self.entries)
        dimensions = points.shape[1]
        if matrix.shape != (dimensions, dimensions):
            raise InputError(
                f"The covariance of a Mahalanobis metric must be ({dimensions}, {dimensions}), as the vectors are. Got "
                f"{matrix.shape}."
            )
        return factor_matrix(matrix)


class MahalanobisCheck(_Covariance):
    """Returns vectors (n, d) as they are, where S suits them."""

    def __call__(self, vectors: FloatArray) -> FloatArray:
        """Return them, or raise `InputError`."""
        factor, _ = self.factor(vectors)
        largest = np.abs(_whiten(factor, np.array(vectors, order="C"))).max(axis=1)
        least, most = map(math.sqrt, _RANGE)
        is_usable = (largest == 0) | ((largest >= least) & (largest <= most))
        if not is_usable.all():
            number = int(np.argmin(is_usable))
            raise InputError(
                f"The covariance of a Mahalanobis metric makes the coordinates of vector number {number} as large as "
                f"{largest[number]:g}, outside {least:g} to {most:g}: give a matrix on the scale of the vectors."
            )
        return vectors


class MahalanobisDistances(_Covariance):
    """The distances between points (n, d)."""

    def __call__(self, points: FloatArray) -> VectorDistanceFiller:
        """d(x, y) = |L^-1 x - L^-1 y|."""
        factor, _ = self.factor(points)
        fill_whitened = prepare_euclidean(_whiten(factor, np.array(points, order="C")))
        return lambda rows, out: fill_whitened(_whiten(factor, np.array(rows, order="C")), out)


class MahalanobisError(_Covariance):
    """The bound on the error of a distance between points (n, d)."""

    def __call__(self, points: FloatArray, diameter: Callable[[], float]) -> float:
        r"""Return it: with u = 2^-53, k = tr(S) |L^-1|_F^2 and R the largest |L^-1 x|, 5 (d + 3) u k R more.

        The factor is that of S + E, |E| <= (d + 2) u tr(S) (Higham 2002, Theorem 10.3), which changes a distance by
        (d + 2) u k of itself at most, and no distance is above 2 R. L^-1 x is that of L + F, |F| <= d u |L| (Theorem
        8.5), which moves a point by d u sqrt(k) R at most. The rest is room for k, which is computed too.
        """
        factor, spread = self.factor(points)
        whitened = _whiten(factor, np.array(points, order="C"))
        radius = math.sqrt(float(np.einsum("nd,nd->n", whitened, whitened).max()))
        share = 5 * (points.shape[1] + 3) * 2.0**-53 * spread
        return float(bound_euclidean_error(whitened, diameter) + share * radius)


def factor_matrix(matrix: FloatArray) -> tuple[FloatArray, float]:
    """Return L with L L' = S, and tr(S) |L^-1|_F^2.

    Raises:
        InputError: S is not symmetric, or not positive definite by a margin that float64 can tell.
    """
    problem, spread, factor = "", math.inf, np.zeros_like(matrix)
    if not np.array_equal(matrix, matrix.T):
        problem = "one that is not symmetric"
    elif not _RANGE[0] < float(np.trace(matrix)) < _RANGE[1]:
        problem = f"a trace of {float(np.trace(matrix)):g}"
    else:
        factor = _factor(np.array(matrix, order="C"))
        if factor[0, 0] > 0:
            inverse = _whiten(factor, np.eye(len(factor)))
            spread = float(np.trace(matrix) * (inverse**2).sum())
        if not spread <= MAX_SPREAD:
            problem = "one in which some direction has no spread of its own"
    if problem:
        raise InputError(
            f"The covariance of a Mahalanobis metric must be positive definite. Got {problem}: give vectors that vary "
            "in all dimensions, or a matrix such as S + 0.01 I."
        )
    return factor, spread


@compile_loop
def _measure_covariance(points: FloatArray) -> FloatArray:  # pragma: no cover - compiled
    """Return the covariance (d, d) of points (n, d)."""
    count, dimensions = points.shape
    mean = np.zeros(dimensions)
    for k in range(count):
        for i in range(dimensions):
            mean[i] += points[k, i]
    for i in range(dimensions):
        mean[i] /= count
    matrix = np.zeros((dimensions, dimensions))
    for k in range(count):
        for i in range(dimensions):
            offset = points[k, i] - mean[i]
            for j in range(i + 1):
                matrix[i, j] += offset * (points[k, j] - mean[j])
    for i in range(dimensions):
        for j in range(i + 1):
            matrix[i, j] /= count
            matrix[j, i] = matrix[i, j]
    return matrix


@compile_loop
def _factor(matrix: FloatArray) -> FloatArray:  # pragma: no cover - compiled
    """Return the lower triangle L (d, d) with L L' = S; with L[0, 0] = 0 where there is none."""
    dimensions = matrix.shape[0]
    factor = np.zeros((dimensions, dimensions))
    for i in range(dimensions):
        for j in range(i + 1):
            rest = matrix[i, j]
            for k in range(j):
                rest -= factor[i, k] * factor[j, k]
            if i == j:
                if not rest > 0:
                    factor[0, 0] = 0.0
                    return factor
                factor[i, i] = np.sqrt(rest)
            else:
                factor[i, j] = rest / factor[j, j]
    return factor


@compile_loop
def _whiten(factor: FloatArray, rows: FloatArray) -> FloatArray:  # pragma: no cover - compiled
    """Return L^-1 x (n, d) of rows x (n, d)."""
    count, dimensions = rows.shape
    whitened = np.zeros((count, dimensions))
    for row in range(count):
        for i in range(dimensions):
            rest = rows[row, i]
            for k in range(i):
                rest -= factor[i, k] * whitened[row, k]
            whitened[row, i] = rest / factor[i, i]
    return whitened
