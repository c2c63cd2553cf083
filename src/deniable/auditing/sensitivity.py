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
from deniable.core.guarantees import ADDED_OR_REMOVED_PERSON, ADDED_OR_REMOVED_RECORD, ApproxDP, Unit
from deniable.core.numbers import format_exact, format_lower
from deniable.core.parallel import compile_loop, count_cores, parallel_map
from deniable.vectors.gaussian import bound_log_delta

VectorFunction = Callable[[FloatArray], FloatArray]
_RELATIVE_STEP = 1e-6
_NORM_ORDERS = (1, 2)
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
    points = np.ascontiguousarray(_convert_real_numbers(points, "The points"))
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
    noise: float,
    *,
    delta: float = 1e-5,
    unit: Unit = "record",
    neighbours: int | None = None,
    seed: int | None = None,
) -> Verdict:
    """Return whether one unit more or less moves a clipped integer sum by more than it is said to.

    An exact fact about real neighbours, no statistics: the whole sum is computed again without one unit, and squared l2
    norms are compared as integers. So it also sees a unit that acts through others, by a count, a mean or a vocabulary.
    The sum may be one step of many, at fixed public parameters. What the verdict says follows from private data: it is
    for their owner.

    Args:
        compute_sum: from units to (d,) integers, deterministic.
        units: the collection, each unit with all its records.
        bound: the l2 norm, in steps of those integers, by which one unit is said to move the sum.
        noise: standard deviation of the Gaussian noise on each coordinate of the sum, in the same steps.
        delta: at which epsilons are stated, in (0, 1).
        unit: what one of them is.
        neighbours: how many units, drawn at random, are left out in turn; None for every one.
        seed: of that draw, to repeat a run; None for a fresh one, which no sum can have been made for.

    Returns:
        A `Verdict` on the noisy sum: ``refuted``, with the farthest unit as its witness, if a unit moves the sum by
        more than ``bound``, else ``not refuted``. The claim is the epsilon of Gaussian noise on a sum of that
        sensitivity, ``lower_bound`` the epsilon between the farthest neighbours (Balle and Wang 2018, Theorem 8).

    Raises:
        InputError: a parameter outside its domain, no units, or sums that are no integers (d,) of one length, below
            2^62.
    """
    start = time.perf_counter()
    _check_sum(units, bound, noise, delta)
    dropped = _draw_places(len(units), neighbours, seed)
    everything = list(units)
    whole_sum = _check_integer_sum(compute_sum(everything))
    squared_norm, minus_place = max(
        (_square_distance(whole_sum, compute_sum(everything[:place] + everything[place + 1 :])), -place)
        for place in dropped
    )
    norm, is_refuted = math.sqrt(squared_norm), squared_norm > Fraction(bound) ** 2
    claim = compute_gaussian_epsilon(bound / noise, delta)
    # The integers decide, and not the rounding of the epsilons that follow from them.
    least, most = (math.nextafter(claim, math.inf), math.inf) if is_refuted else (0.0, claim)
    loss = min(max(compute_gaussian_epsilon(norm / noise, delta), least), most)
    source = "Gaussian noise on a sum of the l2 sensitivity that is claimed (Balle and Wang 2018, Theorem 8)"
    adjacency = ADDED_OR_REMOVED_PERSON if unit == "person" else ADDED_OR_REMOVED_RECORD
    output = f"the noisy sum, moved by {format_lower(norm, 6)} where the bound is {format_exact(bound)},"
    return Verdict(
        guarantee=ApproxDP(claim, delta, source, "claimed", unit, adjacency),
        status="refuted" if is_refuted else "not refuted",
        epsilon=math.inf,
        lower_bound=loss,
        confidence=1.0,
        samples=0,
        witness=Witness("all units", f"all units but number {-minus_place}", output, 1.0, loss),
        method=f"exact integer sums with and without each of {len(dropped):,} of {len(units):,} units; the farthest "
        f"moves the sum by {format_lower(norm / bound, 6)} times the bound",
        seconds=time.perf_counter() - start,
    )


def _check_sum(units: Sequence[Any], bound: float, noise: float, delta: float) -> None:
    if not len(units):
        raise InputError("A sum has neighbours only if there is a unit to leave out. Got no units: give at least 1.")
    for name, value in (("bound", bound), ("noise", noise)):
        check_positive("verify_sum_sensitivity", name, value)
    check_positive("verify_sum_sensitivity", "delta", delta, upper=1.0)


def _draw_places(count: int, neighbours: int | None, seed: int | None) -> list[int]:
    if neighbours is None:
        return list(range(count))
    check_count("verify_sum_sensitivity", "neighbours", neighbours, 1, count)
    places: list[int] = np.random.default_rng(seed).choice(count, size=neighbours, replace=False).tolist()
    return places


def _check_integer_sum(values: object) -> IntArray:
    _check_unmasked(values, "What the function returns")
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


def compute_gaussian_epsilon(mu: float, delta: float) -> float:
    """Return epsilon at delta of Gaussian noise on a sum that moves by mu standard deviations."""
    if mu == 0:
        return 0.0
    # Phi(mu / 2 - epsilon / mu) alone is at most delta there.
    low, high = 0.0, mu * mu / 2 + mu * math.sqrt(-2 * math.log(delta))
    for _ in range(_BISECTION_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if bound_log_delta(middle, 1 / mu) > math.log(delta) else (low, middle)
    return low


def _evaluate_rows(function: VectorFunction, x: FloatArray) -> FloatArray:
    rows = _convert_real_numbers(function(x), "What the function returns")
    if rows.ndim != 2 or len(rows) != len(x) or not np.isfinite(rows).all():  # noqa: PLR2004 - rows
        raise InputError(f"The function must return finite rows (k, m) for inputs (k, n). Got shape {rows.shape}.")
    return rows


def _convert_real_numbers(values: object, owner: str) -> FloatArray:
    """Return real numbers as float64, or raise `InputError` where that would lose a part of them."""
    _check_unmasked(values, owner)
    try:
        array = np.asarray(values)
    except ValueError:  # rows of several lengths
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in "biuf":
        raise InputError(f"{owner} must be an array of real numbers. Got entries of type {array.dtype}.")
    return array.astype(np.float64)


def _check_unmasked(values: object, owner: str) -> None:
    if isinstance(values, np.ma.MaskedArray):
        raise InputError(f"{owner} must be a plain array. Got a masked array: fill what is masked.")


def _compute_pair_distances(rows: FloatArray, order: int) -> FloatArray:
    """Return the distances (k,) between rows 0 and 1, 2 and 3, ..."""
    norms: FloatArray = np.linalg.norm(rows[0::2] - rows[1::2], ord=order, axis=1)
    return norms


def _check_search(order: int, dimension: int) -> None:
    if order not in _NORM_ORDERS:
        raise make_parameter_error("find_farthest_pair", "order", "1 or 2", order)
    if dimension < 1:
        raise make_parameter_error("find_farthest_pair", "dimension", "an int of at least 1", dimension)
