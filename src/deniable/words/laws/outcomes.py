"""What words become under a law: how many stay, how many the best guess names.

One pass over all rows tells it of any law. In the exponential family P(w|w) = c(w) / Z(w), and the best guess behind
an output y needs the maximum over w of ln prior(w) - ln Z(w) - s min(d(w, y), gamma). Once Z is known no exponentials
are needed.
"""

import functools
import threading
from collections.abc import Sequence

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.parallel import compile_loop
from deniable.space.space import Space
from deniable.words.laws.kernel import ExponentialKernel
from deniable.words.laws.law import RowFunction


def compute_exponential_outcomes(
    space: Space,
    kernels: Sequence[ExponentialKernel],
    log_normalisers: Sequence[FloatArray],
    prior: FloatArray,
    workers: int | None = None,
) -> list[tuple[FloatArray, float]]:
    """Return `deniable.words.laws.law.Law.outcomes` of each of k laws, in one pass over all pairs of points.

    Args:
        space: the domain.
        kernels: of k laws.
        log_normalisers: ln Z (number of points,) of each.
        prior: (n,) how likely each word is, sums to 1.
        workers: threads.
    """
    with np.errstate(divide="ignore"):
        heights = [np.log(compute_point_priors(space, prior)) - log_normaliser for log_normaliser in log_normalisers]

    def visit(
        rows: slice, columns: slice, distances: FloatArray
    ) -> tuple[slice, slice, list[tuple[FloatArray, FloatArray]]]:
        tile_peaks = [
            _find_peaks(distances, height[rows], height[columns], kernel.scale, kernel.cutoff)
            for kernel, height in zip(kernels, heights, strict=True)
        ]
        return rows, columns, tile_peaks

    peaks = [np.full(len(space.points), -np.inf) for _ in kernels]
    for rows, columns, tile_peaks in space.map_tiles(visit, workers):
        for peak, (across, down) in zip(peaks, tile_peaks, strict=True):
            peak[rows] = np.maximum(peak[rows], across)
            peak[columns] = np.maximum(peak[columns], down)
    sizes = np.bincount(space.point_by_word)
    out = []
    for kernel, log_normaliser, peak in zip(kernels, log_normalisers, peaks, strict=True):
        weights = np.ones(len(peak)) if kernel.weights is None else kernel.weights
        kept_shares: FloatArray = (weights * np.exp(-log_normaliser) / sizes)[space.point_by_word]
        out.append((kept_shares, float(weights @ np.exp(peak))))
    return out


@functools.partial(compile_loop, relaxed=True)
def _find_peaks(  # pragma: no cover - compiled
    distances: FloatArray, left: FloatArray, right: FloatArray, scale: float, cutoff: float
) -> tuple[FloatArray, FloatArray]:
    """Return max over j of right[j] - scale * min(d, cutoff) for each i, and over i of left[i] for each j."""
    across, down = np.full(left.size, -np.inf), np.full(right.size, -np.inf)
    for i in range(left.size):
        top = -np.inf
        for j in range(right.size):
            fall = scale * min(distances[i, j], cutoff)
            top = max(top, right[j] - fall)
            down[j] = max(down[j], left[i] - fall)
        across[i] = top
    return across, down


def compute_row_outcomes(
    space: Space, rows: RowFunction, prior: FloatArray, workers: int | None = None
) -> tuple[FloatArray, float]:
    """Return `deniable.words.laws.law.Law.outcomes` in one pass over the rows of a law.

    Args:
        space: the domain.
        rows: the law.
        prior: (n,) how likely each word is, sums to 1.
        workers: threads.
    """
    count = len(space.points)
    priors = compute_point_priors(space, prior)
    local, maxima = threading.local(), []

    def visit(first: int, distances: FloatArray) -> FloatArray:
        if not hasattr(local, "maxima"):
            local.maxima = np.zeros(count)
            maxima.append(local.maxima)
        probabilities = rows(np.arange(first, first + len(distances)), distances)
        _update_maxima(local.maxima, probabilities, priors[first : first + len(probabilities)])
        unchanged: FloatArray = np.diagonal(probabilities, offset=first).copy()
        return unchanged

    unchanged_by_point: FloatArray = np.concatenate(space.map_row_blocks(visit, range(count), workers))
    kept_shares: FloatArray = (unchanged_by_point / np.bincount(space.point_by_word))[space.point_by_word]
    return kept_shares, float(np.max(maxima, axis=0).sum())


def compute_point_priors(space: Space, prior: FloatArray) -> FloatArray:
    """Return (number of points,): the largest prior of the words at each point, one of which a guess names."""
    out = np.zeros(len(space.points))
    np.maximum.at(out, space.point_by_word, prior)
    return out


@functools.partial(compile_loop, relaxed=True)
def _update_maxima(
    maxima: FloatArray, probabilities: FloatArray, weights: FloatArray
) -> None:  # pragma: no cover - compiled
    """Raise each of tops (n,) to the largest weights[i] * probabilities[i, y]."""
    for i in range(probabilities.shape[0]):
        for y in range(maxima.size):
            maxima[y] = max(maxima[y], weights[i] * probabilities[i, y])
