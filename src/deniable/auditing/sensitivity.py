"""Sensitivities of functions into R^m and of integer sums: a search for them, and a comparison with a claim.

The proved sensitivities of clips are stated with the clips (`deniable.vectors.domains`; the l1 sensitivity 2 C sqrt(n)
of the l2 clip is Theorem 5.1 of Habernal 2021). This file is for everything else: an encoder, or
somebody's clip; and for sums over collections, whose real neighbours are compared in exact arithmetic. A pair is a
proof that the sensitivity is at least its distance; a search that finds no farther pair proves nothing.
"""

import dataclasses
import math
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.errors import InputError, check_count, check_positive, make_parameter_error
from deniable.core.evidence import Verdict, Witness
from deniable.core.guarantees import ApproxDP
from deniable.core.parallel import compile_loop, count_cores, parallel_map
from deniable.vectors.gaussian import bound_log_delta, compute_noise_ratio

VectorFunction = Callable[[FloatArray], FloatArray]
_RELATIVE_STEP = 1e-6
_NORM_ORDERS = (1, 2)
_MAX_EPSILON = 1e6
_BISECTION_STEPS = 60
_INT64_BOUND = 1 << 62
"""Sums below it differ by numbers that int64 holds."""


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


def verify_sum_sensitivity(
    compute_sum: Callable[[list[Any]], IntArray],
    units: Sequence[Any],
    bound: float,
    guarantee: ApproxDP,
    *,
    neighbours: int | None = None,
    seed: int = 0,
) -> Verdict:
    """Return whether one unit more or less moves a clipped integer sum by more than its noise was calibrated to.

    An exact fact about real neighbours, no statistics: the whole sum is computed again without one unit, and squared l2
    norms are compared as integers. So it also sees a unit that acts through others, by a count, a mean or a vocabulary.
    The sum may be one step of many, computed at fixed public parameters. What the verdict says follows from private
    data: it is for their owner.

    Args:
        compute_sum: from units to (d,) integers, deterministic.
        units: the collection, each with all its records.
        bound: the l2 norm, in steps of those integers, by which one unit is said to move the sum.
        guarantee: of Gaussian noise on this sum, calibrated to ``bound``.
        neighbours: how many units, drawn at random, are left out in turn; None for every one.
        seed: of that draw.

    Returns:
        A `Verdict`: ``refuted``, with the farthest unit as its witness, if a unit moves the sum by more than ``bound``,
        else ``not refuted``. ``lower_bound`` is the epsilon that Gaussian noise of that scale has between the farthest
        neighbours, at the guarantee's delta.

    Raises:
        InputError: a parameter outside its domain, or sums that are no integers (d,) of one length below 2^62.
    """
    start = time.perf_counter()
    owner, count = "verify_sum_sensitivity", len(units)
    check_positive(owner, "bound", bound)
    if not count:
        raise InputError("A sum has neighbours only if there is a unit to leave out. Got no units: give at least 1.")
    check_count(owner, "neighbours", count if neighbours is None else neighbours, 1, count)
    dropped = np.arange(count)
    if neighbours is not None:
        dropped = np.random.default_rng(seed).choice(count, size=neighbours, replace=False)
    everything = list(units)
    whole_sum = _check_integer_sum(compute_sum(everything))
    squared_norm, unit = max(
        (_square_distance(whole_sum, compute_sum(everything[:place] + everything[place + 1 :])), -place)
        for place in dropped.tolist()
    )
    ratio = math.sqrt(squared_norm) / bound
    is_refuted = squared_norm > Fraction(bound) ** 2
    # The norms decide, and not the rounding of the epsilon that follows from them.
    least, most = (math.nextafter(guarantee.epsilon, math.inf), math.inf) if is_refuted else (0.0, guarantee.epsilon)
    loss = min(max(_compute_gaussian_epsilon(ratio, guarantee), least), most)
    output = f"the noisy sum, moved by {math.sqrt(squared_norm):.6g} where the bound is {bound:.6g},"
    return Verdict(
        guarantee=guarantee,
        status="refuted" if is_refuted else "not refuted",
        epsilon=math.inf,
        lower_bound=loss,
        confidence=1.0,
        samples=0,
        witness=Witness("all units", f"all units but number {-unit}", output, 1.0, loss),
        method=f"exact integer sums with and without each of {len(dropped):,} of {count:,} units; the farthest moves "
        f"the sum by {ratio:.6g} times the bound",
        seconds=time.perf_counter() - start,
    )


def _check_integer_sum(values: object) -> IntArray:
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iu" or (np.abs(array.astype(np.float64)) >= _INT64_BOUND).any():
        raise InputError(
            f"The function must return integers (d,) below 2^62. Got {array.dtype} of shape {array.shape}: return the "
            "clipped integer sum before its noise."
        )
    return array.astype(np.int64)


def _square_distance(first: IntArray, values: object) -> int:
    """Return the squared l2 distance of two integer sums, exactly."""
    second = _check_integer_sum(values)
    if second.shape != first.shape:
        raise InputError(
            f"The sums of neighbours must have one length. Got {len(second)} and {len(first)}: the coordinates must be "
            "public."
        )
    gaps = first - second
    return sum(gap * gap for gap in gaps[gaps != 0].tolist())


def _compute_gaussian_epsilon(ratio: float, guarantee: ApproxDP) -> float:
    """Return epsilon at the guarantee's delta where a sum moves by ``ratio`` times what its noise was calibrated to."""
    if ratio == 0:
        return 0.0
    noise_ratio, target = compute_noise_ratio(guarantee.epsilon, guarantee.delta) / ratio, math.log(guarantee.delta)
    low, high = 0.0, min(2 * guarantee.epsilon * max(ratio, 1.0) ** 2 + 1, _MAX_EPSILON)
    for _ in range(_BISECTION_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if bound_log_delta(middle, noise_ratio) > target else (low, middle)
    return low


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
