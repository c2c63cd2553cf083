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
BLOCK = 32
"""Rows in every product. One fixed shape, the last block padded: BLAS kernels depend on it."""

CANCELLED = 1e-6
"""Where |x - y|^2 is below this share of |x|^2 + |y|^2 it is computed from the differences."""


@dataclasses.dataclass(frozen=True)
class Metric:
    """A metric by name, with the function that computes it.

    Attributes:
        name: what guarantees and certificates call it.
        prepare: called once with all points Y (n, d); returns a function from a block of rows
            X (BLOCK, d) of Y to their distances (BLOCK, n).
        canonical: maps vectors (n, d) to points (n, d), equal where the distance is zero.
        builtin: False for a function that the user vouches for.
    """

    name: str
    prepare: Callable[[Array], Callable[[Array], Array]]
    canonical: Callable[[Array], Array] = lambda vectors: vectors
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
        name = getattr(choice, "__name__", type(choice).__name__)
        return Metric(name, functools.partial(_user_function, choice, name), builtin=False)
    if choice == "cosine":
        raise InputError(
            "Cosine distance is no metric: it breaks the triangle inequality, so no guarantee "
            "holds under it. Use metric='angular' (the angle itself)."
        )
    if choice not in METRICS:
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


def _euclidean(vectors: Array) -> Callable[[Array], Array]:
    """d(x, y) = |x - y|_2 by one matrix product a block."""
    transposed = np.ascontiguousarray(vectors.T)
    squares = np.einsum("nd,nd->n", vectors, vectors)

    def block(rows: Array) -> Array:
        out = rows @ transposed
        _finish_euclidean(out, rows, vectors, np.einsum("kd,kd->k", rows, rows), squares)
        return out

    return block


def _directions(vectors: Array) -> Array:
    """Return unit vectors; rounding to 12 decimals makes parallel vectors equal."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not norms.all():
        raise InputError(
            "The angular metric needs vectors with a direction. "
            f"Vector number {int(np.argmin(norms))} is zero: leave that word out."
        )
    return np.round(vectors / norms, 12)


def _angular(directions: Array) -> Callable[[Array], Array]:
    """d(x, y) = arccos(x.y / |x||y|) in radians, from the chord so that small angles are exact."""
    chord = _euclidean(directions)
    return lambda rows: 2.0 * np.arcsin(np.minimum(chord(rows) / 2.0, 1.0))


def _scipy(name: str, vectors: Array) -> Callable[[Array], Array]:
    from scipy.spatial.distance import cdist  # noqa: PLC0415 - 0.2 s that few metrics need

    return lambda rows: cdist(rows, vectors, name)


def _user_function(function: Callable[[Array, Array], Array], name: str, vectors: Array) -> Callable[[Array], Array]:
    def block(rows: Array) -> Array:
        out = np.array(function(rows, vectors), dtype=np.float64)
        if out.shape != (len(rows), len(vectors)):
            raise InputError(f"The metric {name} must return shape {(len(rows), len(vectors))}. Got {out.shape}.")
        if not np.isfinite(out).all() or (out < 0).any():
            raise InputError(f"The metric {name} returned a distance that is negative or not finite.")
        return out

    return block


METRICS = {
    "euclidean": Metric("euclidean", _euclidean),
    "manhattan": Metric("manhattan", functools.partial(_scipy, "cityblock")),
    "chebyshev": Metric("chebyshev", functools.partial(_scipy, "chebyshev")),
    "angular": Metric("angular", _angular, _directions),
}
