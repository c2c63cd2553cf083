"""The distance of the Poincaré ball, in which hierarchies of words are embedded, and what rounding can change in it."""

from collections.abc import Callable

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError
from deniable.space.vector_distances import CANCELLATION_SHARE, VectorDistanceFiller, multiply_rows, prepare_euclidean

MIN_GAP = 1e-6
"""Least 1 - |x|^2 of a point: nearer to the sphere float64 has too few digits left of it."""


def place_in_ball(vectors: FloatArray) -> FloatArray:
    """Return vectors (n, d), all of which are inside the unit ball.

    Raises:
        InputError: one is not.
    """
    squares = multiply_rows(vectors, vectors)
    if (squares > 1 - MIN_GAP).any():
        number = int(np.argmax(squares))
        raise InputError(
            f"The Poincaré metric needs vectors inside the unit ball, |x|^2 at most 1 - {MIN_GAP:g}. Vector number "
            f"{number} has length {np.sqrt(squares[number]):.7g}: scale all vectors down, and hide none "
            "(--hide none), since a hidden class lies outside of all words."
        )
    return vectors


def prepare_poincare(points: FloatArray) -> VectorDistanceFiller:
    """d(x, y) = 2 arsinh(|x - y| / sqrt((1 - |x|^2) (1 - |y|^2))).

    The same as arcosh(1 + 2 |x - y|^2 / ((1 - |x|^2) (1 - |y|^2))), but exact for near points too.
    """
    fill_chords = prepare_euclidean(points)
    gaps = 1.0 - multiply_rows(points, points)

    def fill(rows: FloatArray, out: FloatArray) -> None:
        fill_chords(rows, out)
        out /= np.sqrt((1.0 - multiply_rows(rows, rows))[:, None] * gaps)
        np.multiply(2.0, np.arcsinh(out), out=out)

    return fill


def bound_poincare_error(points: FloatArray, diameter: Callable[[], float]) -> float:
    r"""Bound on the error of a distance 2 arsinh(t), in m dimensions, u = 2^-53.

    Its derivative in t is 2 / sqrt(1 + t^2), and t / sqrt(1 + t^2) < 1: a relative error r of t changes it by 2 r at
    most. The chord has a relative error of (m + 2) u / `CANCELLATION_SHARE` (its square is at least that share of
    |x|^2 + |y|^2, of which it errs by (2 m + 4) u, or comes from differences), the root of the gaps one of
    (m + 2) u / g, with g the least gap, and all of 8 u for what is left. The arsinh itself errs by 2^-50 of a distance.
    """
    dimensions, unit = points.shape[1], 2.0**-53
    least_gap = float(1.0 - multiply_rows(points, points).max())
    share = (dimensions + 2) * unit * (1 / CANCELLATION_SHARE + 1 / least_gap) + 8 * unit
    return float(2.02 * share + 2.0**-50 * diameter())
