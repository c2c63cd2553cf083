"""Metrics on word vectors, as blocked float64 computations whose results do not depend on batching.

A guarantee is only as good as its metric: d must be symmetric, zero only between equal vectors, and
obey the triangle inequality. Cosine "distance" breaks the last and is refused; its angle is fine.
"""

import dataclasses
import functools
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from deniable.errors import InputError
from deniable.parallel import compiled

Array = npt.NDArray[np.float64]
Fill = Callable[[Array, Array], None]
BLOCK = 64
"""Rows in every product. One fixed shape, the last block padded: BLAS kernels depend on it."""

CANCELLED = 1e-6
"""Where |x - y|^2 is below this share of |x|^2 + |y|^2 it is computed from the differences."""


def _unchanged(vectors: Array) -> Array:
    return vectors


@dataclasses.dataclass(frozen=True)
class Metric:
    """A metric by name, with the function that computes it.

    Attributes:
        name: what guarantees and certificates call it.
        prepare: called once with all points Y (n, d); returns a function that writes the distances
            of a block X (BLOCK, d) of rows of Y into an array (BLOCK, n).
        canonical: maps vectors (n, d) to points (n, d), equal where the distance is zero.
        builtin: False for a function that the user vouches for.
    """

    name: str
    prepare: Callable[[Array], Fill]
    canonical: Callable[[Array], Array] = _unchanged
    builtin: bool = True

    def __str__(self) -> str:
        """Return the name."""
        return self.name


def metric(choice: "str | Metric | Callable[[Array, Array], Array]") -> Metric:
    """Return the metric of that name, or one made of a function f(X (k, d), Y (n, d)) -> (k, n).

    A function of your own must be a true metric: nothing here can prove that it is.

    Raises:
        InputError: unknown name, or cosine distance, which is no metric.
    """
    if isinstance(choice, Metric):
        return choice
    if callable(choice):
        name = "user function " + getattr(choice, "__name__", type(choice).__name__)
        return Metric(name, functools.partial(_user_function, choice, name), builtin=False)
    if choice == "cosine":
        raise InputError(
            "Cosine distance is no metric: it breaks the triangle inequality, so no guarantee "
            "holds under it. Use metric='angular' (the angle itself)."
        )
    if not isinstance(choice, str) or choice not in METRICS:
        names = ", ".join(METRICS)
        raise InputError(f"The 'metric' parameter must be one of {names}, or a function. Got {choice!r}.")
    return METRICS[choice]


@compiled
def _finish_euclidean(  # pragma: no cover - compiled
    products: Array, rows: Array, vectors: Array, row_squares: Array, squares: Array
) -> None:
    """Turn x.y into |x - y| in place: sqrt(|x|^2 + |y|^2 - 2 x.y), close pairs from differences."""
    for i in range(products.shape[0]):
        close = 0
        for j in range(products.shape[1]):
            scale = row_squares[i] + squares[j]
            square = scale - 2.0 * products[i, j]
            products[i, j] = np.sqrt(max(square, 0.0))
            close += square < CANCELLED * scale
        # Every row meets itself once. Where another point is as close, the subtraction has left
        # little but rounding. (A separate loop, so that the one above is vectorized.)
        if close > 1:
            for j in range(products.shape[1]):
                if products[i, j] ** 2 <= 2.0 * CANCELLED * (row_squares[i] + squares[j]):
                    total = 0.0
                    for k in range(rows.shape[1]):
                        total += (rows[i, k] - vectors[j, k]) ** 2
                    products[i, j] = np.sqrt(total)


def _euclidean(vectors: Array) -> Fill:
    """d(x, y) = |x - y|_2 by one matrix product a block."""
    transposed = np.ascontiguousarray(vectors.T)
    squares = np.einsum("nd,nd->n", vectors, vectors)

    def fill(rows: Array, out: Array) -> None:
        np.matmul(rows, transposed, out=out)
        _finish_euclidean(out, rows, vectors, np.einsum("kd,kd->k", rows, rows), squares)

    return fill


def _directions(vectors: Array) -> Array:
    """Return unit vectors; rounding to 12 decimals makes parallel vectors equal."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not norms.all():
        raise InputError(
            "The angular metric needs vectors with a direction. "
            f"Vector number {int(np.argmin(norms))} is zero: leave that word out."
        )
    directions: Array = np.round(vectors / norms, 12)
    return directions


def _angular(directions: Array) -> Fill:
    """d(x, y) = arccos(x.y / |x||y|) in radians, from the chord so that small angles are exact."""
    chords = _euclidean(directions)

    def fill(rows: Array, out: Array) -> None:
        chords(rows, out)
        out *= 0.5
        np.minimum(out, 1.0, out=out)
        np.arcsin(out, out=out)
        out *= 2.0

    return fill


def _scipy(name: str, vectors: Array) -> Fill:
    from scipy.spatial.distance import cdist  # noqa: PLC0415 - 0.2 s that few metrics need

    def fill(rows: Array, out: Array) -> None:
        cdist(rows, vectors, name, out=out)

    return fill


def _user_function(function: Callable[[Array, Array], Array], name: str, vectors: Array) -> Fill:
    def fill(rows: Array, out: Array) -> None:
        values = np.asarray(function(rows, vectors), dtype=np.float64)
        if values.shape != out.shape:
            raise InputError(f"The metric {name} must return shape {out.shape}. Got {values.shape}.")
        if not np.isfinite(values).all() or (values < 0).any():
            raise InputError(f"The metric {name} returned a distance that is negative or not finite.")
        out[:] = values

    return fill


@compiled
def range_after(distances: Array, first: int) -> tuple[float, float]:  # pragma: no cover - compiled
    """Return least and largest distance from points first, first + 1, ... to the points after each."""
    low, high = np.inf, 0.0
    for i in range(distances.shape[0]):
        for j in range(first + i + 1, distances.shape[1]):
            low = min(low, distances[i, j])
            high = max(high, distances[i, j])
    return low, high


METRICS = {
    "euclidean": Metric("euclidean", _euclidean),
    "manhattan": Metric("manhattan", functools.partial(_scipy, "cityblock")),
    "chebyshev": Metric("chebyshev", functools.partial(_scipy, "chebyshev")),
    "angular": Metric("angular", _angular, _directions),
}
