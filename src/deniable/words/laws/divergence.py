"""Renyi divergences and losses of laws, over all pairs of inputs.

Three bounds on r(alpha), the largest D_alpha of any pair, hold over *all* pairs:

- exact: sum_y P(y|w)^alpha P(y|w')^(1 - alpha) for all pairs is one product of two n x n matrices;
- for the exponential family, from d(w', y) <= R(w'), the largest distance from w'::

      r(alpha) <= max_w' [s R(w') + ln Z_s(w')] + max_w [ln Z_{alpha s}(w) - alpha ln Z_s(w)] / (alpha - 1)

- for any law of loss at most e: the divergence of randomized response, which dominates it.
"""

import dataclasses
import math
import sys

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.cache import load_or_compute_facts
from deniable.core.parallel import parallel_map
from deniable.space.space import Space
from deniable.words.laws.exponential_proof import bound_rounding
from deniable.words.laws.kernel import ExponentialKernel, compute_log_normalisers
from deniable.words.laws.law import PointIndices, RowFunction
from deniable.words.laws.tables import TABLE_FLOOR, TABLE_TOTAL, compute_table_entries

MAX_EXACT_POINTS = 10_000
"""Points up to which divergences are computed for every pair: 2 n^3 operations an order."""
_BLOCK_ROWS = 256
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
        count = len(space.points)
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
        logs = np.log(steeper.normalisers(space, workers)) - alpha * compute_log_normalisers(space, kernel, workers)
        return {"inputs": float(logs.max())}

    name = f"bound-{space.fingerprint}-{kernel.fingerprint}-{alpha!r}"
    input_bound = load_or_compute_facts(name, ("inputs",), compute)["inputs"]
    slack = (2 * alpha - 1) / (alpha - 1) * (1 / TABLE_FLOOR + bound_rounding(space, steeper))
    return compute_loss_extremes(space, kernel, workers)["reach"] + input_bound / (alpha - 1) + slack


def compute_loss_extremes(space: Space, kernel: ExponentialKernel, workers: int | None = None) -> dict[str, float]:
    """Return over all pairs the largest ``loss``, and the largest s d(w, w') + ln Z(w') as ``reach``."""

    def compute() -> dict[str, float]:
        logs = compute_log_normalisers(space, kernel, workers)

        def visit(rows: slice, columns: slice, distances: FloatArray) -> tuple[float, float]:
            np.minimum(distances, kernel.cutoff, out=distances)
            distances *= kernel.scale
            left, right = logs[rows, None], logs[None, columns]
            return float((distances + abs(left - right)).max()), float((distances + np.maximum(left, right)).max())

        losses, reaches = zip(*space.map_tiles(visit, workers), strict=True)
        slack = bound_rounding(space, kernel)
        return {"loss": max(max(losses) + slack, 1 / TABLE_FLOOR + slack), "reach": max(reaches) + slack}

    name = f"extents-{space.fingerprint}-{kernel.fingerprint}"
    return load_or_compute_facts(
        name, ("loss", "reach"), compute, lambda stored: stored["loss"] > 0 and math.isfinite(stored["reach"])
    )


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
