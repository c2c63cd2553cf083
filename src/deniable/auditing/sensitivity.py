"""Sensitivities of functions into R^m: a search for them, and a comparison with a claim.

The proved sensitivities of clips are stated with the clips (`deniable.vectors.domains`; the l1 sensitivity 2 C sqrt(n)
of the l2 clip is Theorem 5.1 of Habernal 2021). This file is for everything else: an encoder, or
somebody's clip. A pair is a proof that the sensitivity is at least its distance; a search that finds no farther
pair proves nothing.
"""

import dataclasses
import math
from collections.abc import Callable

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError, make_parameter_error
from deniable.core.parallel import compile_loop, count_cores, parallel_map

VectorFunction = Callable[[FloatArray], FloatArray]
_RELATIVE_STEP = 1e-6
_NORM_ORDERS = (1, 2)


@dataclasses.dataclass(frozen=True)
class FarthestPair:
    """Two inputs and how far apart a function takes them.

    Attributes:
        x: (n,) an input.
        x_prime: (n,) another.
        distance: l1 or l2 norm of f(x) - f(x').
    """

    x: FloatArray
    x_prime: FloatArray
    distance: float


@dataclasses.dataclass(frozen=True)
class SensitivityViolations:
    """How many pairs of given points lie farther apart than a claimed sensitivity.

    Attributes:
        pair_count: unordered pairs compared.
        violation_count: those farther apart than claimed.
        claimed_sensitivity: the sensitivity.
    """

    pair_count: int
    violation_count: int
    claimed_sensitivity: float

    @property
    def violation_share(self) -> float:
        """The share of pairs that the claim does not cover."""
        return self.violation_count / self.pair_count


def find_farthest_pair(
    function: VectorFunction, dimension: int, *, order: int = 1, starts: int = 8, seed: int = 0
) -> FarthestPair:
    """Return the farthest pair of a search by gradient ascent from random pairs.

    Args:
        function: from (k, n) to (k, m).
        dimension: n.
        order: 1 or 2, the norm in which outputs are compared.
        starts: random pairs to start from, normal with growing scales, so that clips clip.
        seed: of the starts.

    Raises:
        InputError: the function returns anything but finite rows, one for each input.
    """
    from scipy.optimize import minimize  # noqa: PLC0415 - only searches need it

    _check_search(order, dimension)
    random = np.random.default_rng(seed)
    steps = np.concatenate([np.zeros((1, 2 * dimension)), _RELATIVE_STEP * np.eye(2 * dimension)])

    def negative_distance(flat_pair: FloatArray) -> tuple[float, FloatArray]:
        """Return minus the distance of one pair and its gradient by forward differences."""
        step_scale = max(1.0, float(np.abs(flat_pair).max()))
        neighbours = (flat_pair + step_scale * steps).reshape(-1, dimension)
        values = _compute_pair_distances(_evaluate_rows(function, neighbours), order)
        return -float(values[0]), -(values[1:] - values[0]) / (step_scale * _RELATIVE_STEP)

    best = FarthestPair(np.zeros(dimension), np.zeros(dimension), -math.inf)
    for start in range(starts):
        optimum = minimize(
            negative_distance, random.normal(scale=2.0 ** (start % 4), size=2 * dimension), jac=True, method="L-BFGS-B"
        )
        x, x_prime = optimum.x.reshape(2, dimension)
        distance = float(_compute_pair_distances(_evaluate_rows(function, np.stack([x, x_prime])), order)[0])
        if distance > best.distance:
            best = FarthestPair(x, x_prime, distance)
    return best


def count_sensitivity_violations(
    points: FloatArray, claimed_sensitivity: float, *, order: int = 1, workers: int | None = None
) -> SensitivityViolations:
    """Return how many pairs of points (N, m) are farther apart than claimed, over all N (N - 1) / 2 pairs.

    For the outputs of an encoder after its clip, every pair beyond the claimed sensitivity is a pair of
    neighbouring inputs that noise of that scale does not protect (Habernal 2021, Section 6).

    Raises:
        InputError: fewer than two points, numbers that are not finite, or a claim that is not positive.
    """
    points = np.ascontiguousarray(points, dtype=np.float64)
    if points.ndim != 2 or len(points) < 2 or not np.isfinite(points).all():  # noqa: PLR2004 - a pair
        raise make_parameter_error(
            "count_sensitivity_violations", "points", "at least two rows (N, m) of finite numbers", points.shape
        )
    if not (math.isfinite(claimed_sensitivity) and claimed_sensitivity > 0):
        raise make_parameter_error(
            "count_sensitivity_violations", "claimed_sensitivity", "a float in (0, inf)", claimed_sensitivity
        )
    _check_search(order, points.shape[1])
    limit, count = claimed_sensitivity**order, len(points)
    stride = workers or count_cores()
    # Rows i, i + share, ...: their numbers of pairs are about equal.
    violation_counts = parallel_map(
        lambda first: _count_beyond(points, limit, order, first, 8 * stride), range(8 * stride), workers
    )
    return SensitivityViolations(count * (count - 1) // 2, int(sum(violation_counts)), claimed_sensitivity)


@compile_loop
def _count_beyond(
    points: FloatArray, limit: float, order: int, first: int, step: int
) -> int:  # pragma: no cover - compiled
    """Return the pairs i < j, for i = first, first + step, ..., beyond the limit; sums stop where they pass it."""
    violation_count = 0
    for i in range(first, points.shape[0], step):
        for j in range(i + 1, points.shape[0]):
            total = 0.0
            for k in range(points.shape[1]):
                gap = abs(points[i, k] - points[j, k])
                total += gap if order == 1 else gap * gap
                if total > limit:
                    violation_count += 1
                    break
    return violation_count


def _evaluate_rows(function: VectorFunction, x: FloatArray) -> FloatArray:
    rows = np.asarray(function(x), dtype=np.float64)
    if rows.ndim != 2 or len(rows) != len(x) or not np.isfinite(rows).all():  # noqa: PLR2004 - rows
        raise InputError(f"The function must return finite rows (k, m) for inputs (k, n). Got shape {rows.shape}.")
    return rows


def _compute_pair_distances(rows: FloatArray, order: int) -> FloatArray:
    """Return the distances (k,) between rows 0 and 1, 2 and 3, ..."""
    norms: FloatArray = np.linalg.norm(rows[0::2] - rows[1::2], ord=order, axis=1)
    return norms


def _check_search(order: int, dimension: int) -> None:
    if order not in _NORM_ORDERS:
        raise make_parameter_error("find_farthest_pair", "order", "1 or 2", order)
    if dimension < 1:
        raise make_parameter_error("find_farthest_pair", "dimension", "an int of at least 1", dimension)
