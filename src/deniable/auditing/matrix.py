"""The exact epsilon of any law that is known as a matrix: every pair of inputs, every output."""

import functools
import math

import numpy as np

from deniable.parallel import compiled, each
from deniable.space.metrics import Array

MOST = 3_000
"""Inputs up to which all pairs and outputs are compared: n^3 comparisons, seconds at 3,000."""
_SIDE = 32
_CHUNK = 512
_ZERO = -1e9
"""Stands for ln 0: a difference of more than half of it is infinite, one of two zeros is 0."""


def worst_triple(
    upper: Array, lower: Array, distances: Array, *, slack: float = 0.0, workers: int | None = None
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
    tops, bottoms = _logs(upper), _logs(lower)
    starts = range(0, len(tops), _SIDE)

    def strip(start: int) -> tuple[float, int, int]:
        best = (-math.inf, 0, 0)
        for column in starts:
            losses = _largest(tops[start : start + _SIDE], bottoms[column : column + _SIDE])
            ratios = _per_distance(losses + slack, distances[start : start + _SIDE, column : column + _SIDE], slack)
            if start == column:
                np.fill_diagonal(ratios, -np.inf)  # an input and itself are no pair
            i, j = np.unravel_index(np.argmax(ratios), ratios.shape)
            best = max(best, (float(ratios[i, j]), start + int(i), column + int(j)))
        return best

    epsilon, w, other = max(each(strip, starts, workers))
    return max(epsilon, 0.0), w, other, int(np.argmax(np.where(tops[w] > _ZERO, tops[w] - bottoms[other], -np.inf)))


def _logs(probabilities: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(probabilities), _ZERO)


def _per_distance(losses: Array, distances: Array, slack: float) -> Array:
    losses = np.where(losses > -_ZERO / 2, np.inf, losses)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios: Array = np.where(distances > 0, losses / distances, np.where(losses > 2 * abs(slack), np.inf, -np.inf))
    return ratios


@functools.partial(compiled, relaxed=True)
def _largest(tops: Array, bottoms: Array) -> Array:  # pragma: no cover - compiled
    """Return (a, b): the largest tops[i, y] - bottoms[j, y] over all y."""
    out = np.full((tops.shape[0], bottoms.shape[0]), -np.inf)
    for start in range(0, tops.shape[1], _CHUNK):
        end = min(start + _CHUNK, tops.shape[1])
        for i in range(tops.shape[0]):
            for j in range(bottoms.shape[0]):
                top = out[i, j]
                for y in range(start, end):
                    top = max(top, tops[i, y] - bottoms[j, y])
                out[i, j] = top
    return out
