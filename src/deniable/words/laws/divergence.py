"""Renyi divergences and losses of laws, over all pairs of inputs.

Three bounds on r(alpha), the largest D_alpha of any pair, hold over *all* pairs:

- exact: sum_y P(y|w)^alpha P(y|w')^(1 - alpha) for all pairs is one product of two n x n matrices;
- for the exponential family, from d(w', y) <= R(w'), the largest distance from w'::

      r(alpha) <= max_w' [s R(w') + ln Z_s(w')] + max_w [ln Z_{alpha s}(w) - alpha ln Z_s(w)] / (alpha - 1)

- for any law of loss at most e: the divergence of randomized response, which dominates it.
"""

import dataclasses
import functools
import math
import sys

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.cache import load_or_compute_facts
from deniable.core.parallel import compile_loop, parallel_map
from deniable.space.space import Space
from deniable.space.squares import SINGLE_ROUNDING, SingleArray, measure_euclidean
from deniable.words.laws.kernel import ExponentialKernel, compute_log_normalisers
from deniable.words.laws.law import PointIndices, RowFunction
from deniable.words.laws.tables import TABLE_FLOOR, TABLE_TOTAL, compute_table_entries
from deniable.words.laws.worst_pairs import bound_rounding

MAX_EXACT_POINTS = 10_000
"""Points up to which divergences are computed for every pair: 2 n^3 operations an order."""
_BLOCK_ROWS = 256
_MAX_SINGLE_INPUTS = 2_048
"""Inputs whose rows are looked at in place of all pairs."""
_FIRST_INPUTS = 32
"""Inputs of each extreme whose rows are looked at before the pairs are sifted."""
_SUM_UNIT = 2.0**-50
"""Covers a few roundings of sums in float64."""
_MIN_REST = 1e-15
"""Nats whose square float32 holds to full precision."""
_MAX_SIFTED_SCALE = 1e15
"""Scale, by the unit of the bounds on squares, up to which float32 holds the squares of losses."""
_LOG_ROUNDING = 2.0**-48
"""Bound on the rounding of the logarithm of a sum near 1."""
_SUM_ROUNDING = 1e-9
"""Relative error allowed for in a sum of powers; it is in fact below n 2^-53 + 40 alpha 2^-53."""


def bound_divergence_by_loss(loss: float, alpha: float) -> float:
    """Return D_alpha of randomized response, the largest of any two laws of loss at most ``loss``."""
    # ln of p^alpha q^(1 - alpha) + q^alpha p^(1 - alpha), with p = e^loss / (1 + e^loss), q = 1 - p
    p, q = -math.log1p(math.exp(-loss)), -loss - math.log1p(math.exp(-loss))
    moment = float(np.logaddexp(alpha * p + (1 - alpha) * q, alpha * q + (1 - alpha) * p))
    return (max(moment, 0.0) + _LOG_ROUNDING) / (alpha - 1)


def compute_exact_divergence(
    space: Space, rows: RowFunction, alpha: float, fingerprint: str | None = None, workers: int | None = None
) -> float:
    """Return the largest D_alpha of any two inputs, of the integer tables of a law.

    Args:
        space: the domain.
        rows: the law.
        alpha: the order, above 1.
        fingerprint: of the law, under which the result is cached; None to cache nothing.
        workers: threads.
    """

    def compute() -> dict[str, float]:
        count = space.point_count
        powers = np.empty((count, count))
        probabilities = np.empty((count, count))

        def fill(first: int, distances: FloatArray) -> None:
            points = np.arange(first, first + len(distances))
            block = compute_table_entries(rows(points, distances)) / TABLE_TOTAL
            probabilities[first : first + len(block)] = block
            powers[first : first + len(block)] = block ** (1 - alpha)

        space.map_row_blocks(fill, range(count), workers)

        def find_block_maximum(first: int) -> float:
            return float((probabilities[first : first + _BLOCK_ROWS] ** alpha @ powers.T).max())

        return {"sum": max(parallel_map(find_block_maximum, range(0, count, _BLOCK_ROWS), workers))}

    def is_divergence(stored: dict[str, float]) -> bool:
        return 1 - _SUM_ROUNDING <= stored["sum"] < math.inf  # a divergence is not negative

    if fingerprint is None:
        facts = compute()
    else:
        facts = load_or_compute_facts(f"renyi-{fingerprint}-{alpha!r}", ("sum",), compute, is_divergence)
    return math.log(facts["sum"] * (1 + _SUM_ROUNDING)) / (alpha - 1)


def bound_divergence(space: Space, kernel: ExponentialKernel, alpha: float, workers: int | None = None) -> float:
    """Return a bound on the largest D_alpha of any two inputs of an exponential law.

    The tables mix the law with the uniform one, which does not raise a divergence, and round each
    entry by a factor of at most 1 + 2^-24.
    """
    # A smaller scale has the larger normaliser, and so is a bound too.
    steeper = dataclasses.replace(kernel, scale=min(alpha * kernel.scale, sys.float_info.max))

    def compute() -> dict[str, float]:
        return {"inputs": _find_input_bound(space, kernel, steeper, alpha, workers)}

    name = f"bound-{space.fingerprint}-{kernel.fingerprint}-{alpha!r}"
    input_bound = load_or_compute_facts(name, ("inputs",), compute)["inputs"]
    slack = (2 * alpha - 1) / (alpha - 1) * (1 / TABLE_FLOOR + bound_rounding(space, steeper))
    return compute_loss_extremes(space, kernel, workers)["reach"] + input_bound / (alpha - 1) + slack


def _find_input_bound(
    space: Space, kernel: ExponentialKernel, steeper: ExponentialKernel, alpha: float, workers: int | None
) -> float:
    """Return the largest ln Z_{alpha s}(w) - alpha ln Z_s(w) of any input w.

    Z falls as s grows, so that none has more than (1 - alpha) ln Z_s(w): inputs are looked at in that order until the
    rest cannot have more. Where that does not end soon, a pass over all pairs takes less.
    """
    logs = compute_log_normalisers(space, kernel, workers)
    order = np.argsort(logs, kind="stable")
    limits = (1 - alpha) * logs[order] + _LOG_ROUNDING
    weights = np.ones(len(logs)) if kernel.weights is None else kernel.weights
    largest, start = -math.inf, 0
    while start < (end := int(np.count_nonzero(limits >= largest))):
        if start > 0 and end > _MAX_SINGLE_INPUTS:
            return float((np.log(steeper.normalisers(space, workers)) - alpha * logs).max())
        inputs = order[start : start + _BLOCK_ROWS]
        sums = space.map_row_blocks(lambda _, distances: steeper.decay(distances) @ weights, inputs, workers)
        largest = max(largest, float((np.log(np.concatenate(sums)) - alpha * logs[inputs]).max()))
        start += _BLOCK_ROWS
    return largest


def compute_loss_extremes(space: Space, kernel: ExponentialKernel, workers: int | None = None) -> dict[str, float]:
    """Return over all pairs the largest ``loss``, and the largest s d(w, w') + ln Z(w') as ``reach``."""

    def compute() -> dict[str, float]:
        logs = compute_log_normalisers(space, kernel, workers)
        is_sifted = space.square_bounds is not None and kernel.scale * space.square_bounds.unit < _MAX_SIFTED_SCALE
        find_extremes = _sift_extremes if is_sifted else _find_extremes
        loss, reach = find_extremes(space, kernel, logs, workers)
        slack = bound_rounding(space, kernel)
        return {"loss": max(loss + slack, 1 / TABLE_FLOOR + slack), "reach": reach + slack}

    name = f"extents-{space.fingerprint}-{kernel.fingerprint}"
    return load_or_compute_facts(
        name, ("loss", "reach"), compute, lambda stored: stored["loss"] > 0 and math.isfinite(stored["reach"])
    )


def _find_extremes(
    space: Space, kernel: ExponentialKernel, logs: FloatArray, workers: int | None
) -> tuple[float, float]:
    """Return the largest s min(d, gamma) + |ln Z(w) - ln Z(w')|, and the largest s min(d, gamma) + ln Z(w')."""

    def visit(rows: slice, columns: slice, distances: FloatArray) -> tuple[float, float]:
        np.minimum(distances, kernel.cutoff, out=distances)
        distances *= kernel.scale
        left, right = logs[rows, None], logs[None, columns]
        return float((distances + abs(left - right)).max()), float((distances + np.maximum(left, right)).max())

    losses, reaches = zip(*space.map_tiles(visit, workers), strict=True)
    return max(losses), max(reaches)


def _sift_extremes(
    space: Space, kernel: ExponentialKernel, logs: FloatArray, workers: int | None
) -> tuple[float, float]:
    """Return what `_find_extremes` returns: float32 sifts the pairs under Euclidean distance, float64 decides.

    A pair whose sum exceeds L, with A for what is added to s min(d, gamma), has::

        s gamma > L - A      and      s^2 q > (L - A)^2 or L < A      for any upper bound q on its squared distance

    L begins with what the inputs have that lie farthest from the mean, and those of the least and largest ln Z.
    """
    lengths = np.einsum("nd,nd->n", *[space.points - space.points.mean(axis=0)] * 2)
    orders = (np.argsort(-lengths), np.argsort(logs, kind="stable"), np.argsort(-logs, kind="stable"))
    inputs = np.unique(np.concatenate([order[:_FIRST_INPUTS] for order in orders]))

    def visit_rows(first: int, distances: FloatArray) -> tuple[float, float]:
        np.minimum(distances, kernel.cutoff, out=distances)
        distances *= kernel.scale
        left = logs[inputs[first : first + len(distances)], None]
        return float((distances + abs(left - logs)).max()), float((distances + np.maximum(left, logs)).max())

    first_losses, first_reaches = zip(*space.map_row_blocks(visit_rows, inputs, workers), strict=True)
    start = max(first_losses), max(first_reaches)
    bounds = space.square_bounds
    unit, gaps = (math.nan, logs) if bounds is None else (bounds.unit, bounds.gaps)
    middle, spread = float(logs.max() + logs.min()) / 2, float(logs.max() - logs.min())
    single_logs = (logs - middle).astype(np.float32)
    single_gaps = np.nextafter(gaps.astype(np.float32), np.float32(np.inf))

    def visit(rows: slice, columns: slice, lower_bounds: SingleArray) -> tuple[float, float]:
        return _find_tile_extremes(
            lower_bounds,
            space.points,
            logs,
            single_logs,
            single_gaps,
            middle,
            spread,
            rows.start,
            columns.start,
            kernel.scale,
            kernel.cutoff,
            unit,
            *start,
        )

    extremes: list[tuple[float, float]] = []
    space.fold_square_tiles(visit, extremes.append, workers)
    losses, reaches = zip(*extremes, strict=True)
    return max(losses), max(reaches)


@functools.partial(compile_loop, relaxed=True)
def _find_tile_extremes(  # pragma: no cover - compiled
    lower_bounds: SingleArray,
    points: FloatArray,
    logs: FloatArray,
    single_logs: SingleArray,
    gaps: SingleArray,
    middle: float,
    spread: float,
    first: int,
    column: int,
    scale: float,
    cutoff: float,
    unit: float,
    loss: float,
    reach: float,
) -> tuple[float, float]:
    """Return the extremes of a tile where they exceed ``loss`` and ``reach``, else these."""
    count = lower_bounds.shape[1]
    column_logs, column_gaps = single_logs[column : column + count], gaps[column : column + count]
    steepness = np.float32((scale * unit * (1.0 + SINGLE_ROUNDING)) ** 2)
    far = np.float32(scale * cutoff * (1.0 + SINGLE_ROUNDING))
    for i in range(lower_bounds.shape[0]):
        squares, row_log, row_gap = lower_bounds[i], single_logs[first + i], gaps[first + i]
        # The numbers of float32 are differences, which rounding is relative to; those of float64 are not.
        error = (abs(middle) + abs(reach)) * _SUM_UNIT + _MIN_REST
        single_loss = np.float32(loss - (abs(loss) + 2 * spread) * SINGLE_ROUNDING - error)
        single_reach = np.float32(reach - middle - (abs(reach - middle) + spread) * SINGLE_ROUNDING - error)
        hits = np.int32(0)
        for j in range(squares.size):
            square = steepness * max(squares[j] + (row_gap + column_gaps[j]), np.float32(0.0))
            rest = min(single_loss - abs(column_logs[j] - row_log), single_reach - max(column_logs[j], row_log))
            hits += np.int32(1) if rest <= far and (rest <= np.float32(0.0) or square >= rest * rest) else np.int32(0)
        if hits == 0:
            continue
        for j in range(squares.size):
            square = steepness * max(squares[j] + (row_gap + column_gaps[j]), np.float32(0.0))
            rest = min(single_loss - abs(column_logs[j] - row_log), single_reach - max(column_logs[j], row_log))
            if rest > far or (rest > np.float32(0.0) and square < rest * rest):
                continue
            log_ratio = abs(logs[first + i] - logs[column + j])
            greater_log = max(logs[first + i], logs[column + j])
            # At the cutoff, where float32 cannot tell the pairs apart, most need no distance.
            if scale * cutoff + log_ratio > loss or scale * cutoff + greater_log > reach:
                fall = scale * min(measure_euclidean(points[first + i], points[column + j]), cutoff)
                loss, reach = max(loss, fall + log_ratio), max(reach, fall + greater_log)
    return loss, reach


def compute_input_losses(
    space: Space, kernel: ExponentialKernel, points: PointIndices, workers: int | None = None
) -> FloatArray:
    """Return the largest loss (k,) in nats of each of k input points against any other, under an exponential law.

    It is at most s min(d(w, v), gamma) + |ln Z(v) - ln Z(w)|, at y = w or y = v.
    """
    logs = compute_log_normalisers(space, kernel, workers)

    def find_largest(first: int, distances: FloatArray) -> FloatArray:
        np.minimum(distances, kernel.cutoff, out=distances)
        gaps = np.abs(logs[points[first : first + len(distances)], None] - logs)
        largest: FloatArray = (kernel.scale * distances + gaps).max(axis=1)
        return largest

    losses: FloatArray = np.concatenate(space.map_row_blocks(find_largest, points, workers))
    return losses + bound_rounding(space, kernel) + 1 / TABLE_FLOOR
