"""Weights c(y) under which all inputs have the same normaliser, or nearly so.

Where exp(-s D) c = 1 has a solution c > 0, the law c(y) exp(-s d(w, y)) is a distribution for every w
and its exact epsilon is s itself. Elsewhere c >= 0 is fitted: the steps c <- c / (exp(-s D) c) lower
1/2 c' K c - 1' c at every step and keep c positive (Sha, Saul, Lee 2003: their update for K >= 0).
"""

from collections.abc import Callable

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from deniable.space.metrics import FloatArray
from deniable.space.space import Space
from deniable.words.exponential import ExponentialLaw, compute_decay_sums

MAX_DENSE_POINTS = 14_000
"""Points up to which the matrix is held in memory (1.6 GB); beyond, each product is a pass."""
_CG_RESIDUAL = 1e-8
_MAX_CG_STEPS = 60
_PATIENCE = 3
"""Conjugate gradient steps after which a negative entry counts as one of the solution."""
_DENSE_FIT_STEPS, _FIT_STEPS = 200, 5
_MIN_WEIGHT_SHARE = 1e-2


def fit_weights(space: Space, scale: float, workers: int | None = None) -> tuple[FloatArray, bool]:
    """Return the weights (number of points,), positive, and whether they solve exp(-scale D) c = 1.

    Conjugate gradients from c = 1. As soon as the solution shows a negative entry they are given up, and the
    multiplicative steps start from the positive part of it: 200 with the matrix in memory, else 5.
    """
    count = len(space.points)
    product = (
        _make_dense_product(space, scale, workers)
        if count <= MAX_DENSE_POINTS
        else _make_streamed_product(space, scale, workers)
    )
    latest = np.ones(count)
    steps = 0

    def check_iterate(iterate: FloatArray) -> None:
        nonlocal latest, steps
        latest, steps = iterate.copy(), steps + 1
        if steps >= _PATIENCE and iterate.min() <= 0:
            raise _NegativeSolution

    try:
        operator = LinearOperator((count, count), matvec=product, dtype=np.float64)
        solution, failed = cg(
            operator, np.ones(count), rtol=_CG_RESIDUAL, maxiter=_MAX_CG_STEPS, callback=check_iterate
        )
        if not failed and solution.min() > 0:
            return solution, True
    except _NegativeSolution:
        pass
    weights = np.maximum(latest, _MIN_WEIGHT_SHARE * np.median(np.abs(latest)))
    for _ in range(_DENSE_FIT_STEPS if count <= MAX_DENSE_POINTS else _FIT_STEPS):
        weights = weights / product(weights)
    return weights, False


class _NegativeSolution(Exception):  # noqa: N818 - control flow, never seen outside
    """The solution has a negative entry."""


def _make_dense_product(space: Space, scale: float, workers: int | None) -> Callable[[FloatArray], FloatArray]:
    """Return x -> exp(-scale D) x with the matrix in memory."""
    matrix = np.empty((len(space.points), len(space.points)))
    law = ExponentialLaw(scale)

    def visit(rows: slice, columns: slice, distances: FloatArray) -> None:
        matrix[rows, columns] = law.decay(distances)
        matrix[columns, rows] = distances.T

    space.map_tiles(visit, workers)
    return lambda x: matrix @ np.ravel(x)


def _make_streamed_product(space: Space, scale: float, workers: int | None) -> Callable[[FloatArray], FloatArray]:
    """Return x -> exp(-scale D) x by one pass over all pairs."""
    law = ExponentialLaw(scale)
    return lambda x: compute_decay_sums(space, [law], [np.ravel(x)], workers)[0]
