"""The exact epsilon of any law that is known as a matrix: every pair of inputs, every output."""

import functools
import math
import time

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.parallel import compile_loop, parallel_map
from deniable.space.space import Space
from deniable.words.laws.law import Finding, PointIndices

MAX_MATRIX_INPUTS = 3_000
"""Inputs up to which all pairs and outputs are compared: n^3 comparisons, seconds at 3,000."""
_TILE_SIZE = 32
_CHUNK = 512
_LOG_ZERO = -1e9
"""Stands for ln 0: a difference of more than half of it is infinite, one of two zeros is 0."""
_DISTANCE_FLOOR = 1e-300


def find_worst_triple(
    upper: FloatArray, lower: FloatArray, distances: FloatArray, *, slack: float = 0.0, workers: int | None = None
) -> tuple[float, int, int, int]:
    """Return the largest loss / distance and where it is found: (epsilon, input, other, output).

    Args:
        upper: (k, n) P(y|w) of k inputs, or upper bounds on it.
        lower: (k, n) the same, or lower bounds on it.
        distances: (k, k) between the inputs.
        slack: nats added to every loss, for rounding; negative for a lower bound. Inputs at distance 0
            must have no loss beyond it.
        workers: threads.
    """
    log_upper, log_lower = _compute_clipped_logs(upper), _compute_clipped_logs(lower)
    starts = range(0, len(log_upper), _TILE_SIZE)

    def search_strip(start: int) -> tuple[float, int, int]:
        best_pair = (-math.inf, 0, 0)
        for column in starts:
            losses = _compute_max_log_ratios(
                log_upper[start : start + _TILE_SIZE], log_lower[column : column + _TILE_SIZE]
            )
            ratios = _divide_by_distances(
                losses + slack, distances[start : start + _TILE_SIZE, column : column + _TILE_SIZE], slack
            )
            if start == column:
                np.fill_diagonal(ratios, -np.inf)  # an input and itself are no pair
            i, j = np.unravel_index(np.argmax(ratios), ratios.shape)
            best_pair = max(best_pair, (float(ratios[i, j]), start + int(i), column + int(j)))
        return best_pair

    epsilon, first, other = max(parallel_map(search_strip, starts, workers))
    return (
        max(epsilon, 0.0),
        first,
        other,
        int(np.argmax(np.where(log_upper[first] > _LOG_ZERO, log_upper[first] - log_lower[other], -np.inf))),
    )


def _compute_clipped_logs(probabilities: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(probabilities), _LOG_ZERO)


def _divide_by_distances(losses: FloatArray, distances: FloatArray, slack: float) -> FloatArray:
    losses = np.where(losses > -_LOG_ZERO / 2, np.inf, losses)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios: FloatArray = np.where(
            distances > 0, losses / distances, np.where(losses > 2 * abs(slack), np.inf, -np.inf)
        )
    return ratios


@functools.partial(compile_loop, relaxed=True)
def _compute_max_log_ratios(log_upper: FloatArray, log_lower: FloatArray) -> FloatArray:  # pragma: no cover - compiled
    """Return (a, b): the largest log_upper[i, y] - log_lower[j, y] over all y."""
    maxima = np.full((log_upper.shape[0], log_lower.shape[0]), -np.inf)
    for start in range(0, log_upper.shape[1], _CHUNK):
        end = min(start + _CHUNK, log_upper.shape[1])
        for i in range(log_upper.shape[0]):
            for j in range(log_lower.shape[0]):
                maximum = maxima[i, j]
                for y in range(start, end):
                    maximum = max(maximum, log_upper[i, y] - log_lower[j, y])
                maxima[i, j] = maximum
    return maxima


def get_distance_error(space: Space) -> float:
    """Return a bound on the rounding of a distance; 0 under a metric of the user's own, which is taken as exact."""
    return space.distance_error if space.metric.is_builtin else 0.0


def compare_laws(
    space: Space,
    inputs: PointIndices,
    distances: FloatArray,
    upper: FloatArray,
    lower: FloatArray,
    *,
    slack: float,
    start: float,
    workers: int | None = None,
) -> Finding:
    """Return what the laws of k inputs spend, over all pairs of them and all outputs.

    Args:
        space: whose metric the distances are of.
        inputs: (k,) the numbers of the inputs in the finding.
        distances: (k, k) between them.
        upper: (k, n) upper bounds on their probabilities.
        lower: (k, n) lower bounds.
        slack: nats that the loss of a pair may err by.
        start: when the search began, by `time.perf_counter`.
        workers: threads.
    """
    distance_error = get_distance_error(space)
    distances_low = np.where(distances > 0, np.maximum(distances - distance_error, _DISTANCE_FLOOR), 0.0)
    distances_high = np.where(distances > 0, distances + distance_error, 0.0)
    epsilon, *_ = find_worst_triple(upper, lower, distances_low, slack=slack, workers=workers)
    lower_bound, first, other, output = find_worst_triple(lower, upper, distances_high, slack=-slack, workers=workers)
    with np.errstate(divide="ignore"):
        loss = float(np.log(lower[first, output]) - np.log(upper[other, output]))
    return Finding(
        epsilon=epsilon,
        lower_bound=max(lower_bound, 0.0),
        input=int(inputs[first]),
        other=int(inputs[other]),
        output=output,
        distance=float(distances[first, other]),
        loss=loss,
        seconds=time.perf_counter() - start,
    )
