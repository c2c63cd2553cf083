"""What words become under a law: how many stay, how many the best guess names.

One pass over all rows tells it of any law. In the exponential family P(w|w) = c(w) / Z(w), and the best guess behind
an output y needs the maximum over w of ln prior(w) - ln Z(w) - s min(d(w, y), gamma). Once Z is known no exponentials
are needed.
"""

import functools
import math
import threading
from collections.abc import Sequence

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.parallel import compile_loop
from deniable.space.space import Space
from deniable.space.squares import SINGLE_ROUNDING, SingleArray, measure_euclidean
from deniable.words.laws.kernel import ExponentialKernel
from deniable.words.laws.law import RowFunction

_FIRST_INPUTS = 256
"""Inputs whose rows are looked at in float64, before the rest are sifted in float32."""
_MIN_SINGLE, _MAX_STEEPNESS_ROOT = 1e-18, 1e15
"""Numbers whose squares float32 holds to full precision; products below the least square are candidates anyway."""


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
    find_peaks = _find_peaks if space.square_bounds is None else _sift_peaks
    peaks = find_peaks(space, kernels, heights, workers)
    return [
        (
            compute_kept_shares(space, kernel, log_normaliser),
            float((np.ones(len(peak)) if kernel.weights is None else kernel.weights) @ np.exp(peak)),
        )
        for kernel, log_normaliser, peak in zip(kernels, log_normalisers, peaks, strict=True)
    ]


def compute_kept_shares(space: Space, kernel: ExponentialKernel, log_normalisers: FloatArray) -> FloatArray:
    """Return the probability (n,) that each word is released unchanged, from ln Z (number of points,)."""
    weights = np.ones(len(log_normalisers)) if kernel.weights is None else kernel.weights
    sizes = np.bincount(space.point_by_word)
    kept_shares: FloatArray = (weights * np.exp(-log_normalisers) / sizes)[space.point_by_word]
    return kept_shares


def _find_peaks(
    space: Space, kernels: Sequence[ExponentialKernel], heights: Sequence[FloatArray], workers: int | None
) -> list[FloatArray]:
    """Return max over w of height(w) - s min(d(w, y), gamma) for each y (number of points,), for each kernel."""

    def visit(
        rows: slice, columns: slice, distances: FloatArray
    ) -> tuple[slice, slice, list[tuple[FloatArray, FloatArray]]]:
        tile_peaks = [
            _find_tile_peaks(distances, height[rows], height[columns], kernel.scale, kernel.cutoff)
            for kernel, height in zip(kernels, heights, strict=True)
        ]
        return rows, columns, tile_peaks

    peaks = [np.full(len(space.points), -np.inf) for _ in kernels]

    def take(tile: tuple[slice, slice, list[tuple[FloatArray, FloatArray]]]) -> None:
        rows, columns, tile_peaks = tile
        for peak, (across, down) in zip(peaks, tile_peaks, strict=True):
            peak[rows] = np.maximum(peak[rows], across)
            peak[columns] = np.maximum(peak[columns], down)

    space.fold_tiles(visit, take, workers)
    return peaks


@functools.partial(compile_loop, relaxed=True)
def _find_tile_peaks(  # pragma: no cover - compiled
    distances: FloatArray, left: FloatArray, right: FloatArray, scale: float, cutoff: float
) -> tuple[FloatArray, FloatArray]:
    """Return max over j of right[j] - scale * min(d, cutoff) for each i, and over i of left[i] for each j."""
    across, down = np.full(left.size, -np.inf), np.full(right.size, -np.inf)
    values = np.empty(right.size)
    for i in range(left.size):
        row = distances[i]
        # The maximum of two arrays is taken by vector instructions, that of one is not.
        for j in range(right.size):
            fall = scale * min(row[j], cutoff)
            values[j] = right[j] - fall
            down[j] = max(down[j], left[i] - fall)
        size = right.size
        while size > 1:
            rest = (size + 1) // 2
            for j in range(size - rest):
                values[j] = max(values[j], values[rest + j])
            size = rest
        across[i] = values[0]
    return across, down


def _sift_peaks(
    space: Space, kernels: Sequence[ExponentialKernel], heights: Sequence[FloatArray], workers: int | None
) -> list[FloatArray]:
    """Return what `_find_peaks` returns: float32 sifts the pairs under Euclidean distance, float64 decides.

    Let p(y) be what some inputs give y. Of the others only those raise it that have::

        height(w) > p(y)      and      s^2 q < (height(w) - p(y))^2      for any lower bound q on d(w, y)^2

    Beyond the cutoff w gives height(w) - s gamma: the highest of all gives no y less than that. The inputs that begin
    are the highest, which give most outputs their peak.
    """
    peaks = [_begin_peaks(space, kernel, height, workers) for kernel, height in zip(kernels, heights, strict=True)]
    unit = space.square_bounds.unit if space.square_bounds is not None else math.nan
    numbers = [_make_single_heights(kernel, height, unit) for kernel, height in zip(kernels, heights, strict=True)]
    local, risen = threading.local(), []

    def visit(rows: slice, columns: slice, lower_bounds: SingleArray) -> None:
        if not hasattr(local, "peaks"):
            local.peaks = [(peak.copy(), _round_down_to_single(peak)) for peak in peaks]
            risen.append(local.peaks)
        for kernel, height, (single_heights, steepness), (peak, single_peaks) in zip(
            kernels, heights, numbers, local.peaks, strict=True
        ):
            _raise_peaks(
                lower_bounds,
                space.points,
                height,
                single_heights,
                rows.start,
                columns.start,
                kernel.scale,
                steepness,
                peak,
                single_peaks,
            )

    space.fold_square_tiles(visit, lambda _: None, workers)
    return [np.max([own[number][0] for own in risen], axis=0) for number in range(len(kernels))]


def _begin_peaks(space: Space, kernel: ExponentialKernel, height: FloatArray, workers: int | None) -> FloatArray:
    """Return what each y is given by itself, by the inputs of the greatest heights, and by any beyond the cutoff."""
    highest = np.sort(np.argsort(-height, kind="stable")[:_FIRST_INPUTS])

    def visit(first: int, distances: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):  # what is beyond all floats gives no output anything
            distances *= -kernel.scale
        distances += height[highest[first : first + len(distances)], None]
        greatest: FloatArray = distances.max(axis=0)
        return greatest

    least = height.max() - kernel.scale * kernel.cutoff
    peaks: FloatArray = np.max([height, *space.map_row_blocks(visit, highest, workers)], axis=0, initial=least)
    return peaks


def _make_single_heights(kernel: ExponentialKernel, height: FloatArray, unit: float) -> tuple[SingleArray, np.float32]:
    """Return the heights rounded up, and s^2 in the units of the bounds on squares, rounded down."""
    # Beyond what float32 holds less is said of a pair, or nothing.
    root = min(kernel.scale * unit * (1 - SINGLE_ROUNDING), _MAX_STEEPNESS_ROOT)
    steepness = root**2 if root > _MIN_SINGLE else 0.0
    return np.nextafter(height.astype(np.float32), np.float32(np.inf)), np.float32(steepness)


def _round_down_to_single(values: FloatArray) -> SingleArray:
    with np.errstate(over="ignore"):  # minus infinity is below what float32 does not hold
        return np.nextafter(values.astype(np.float32), np.float32(-np.inf))


@compile_loop
def _raise_peaks(  # pragma: no cover - compiled
    lower_bounds: SingleArray,
    points: FloatArray,
    heights: FloatArray,
    single_heights: SingleArray,
    first: int,
    column: int,
    scale: float,
    steepness: np.float32,
    peaks: FloatArray,
    single_peaks: SingleArray,
) -> None:
    """Raise the peaks (n,) of the outputs to what the inputs of a tile give them, either way round."""
    count = lower_bounds.shape[1]
    column_heights, column_peaks = single_heights[column : column + count], single_peaks[column : column + count]
    for i in range(lower_bounds.shape[0]):
        squares = lower_bounds[i]
        row_height, row_peak = single_heights[first + i], single_peaks[first + i]
        hits = np.int32(0)
        for j in range(squares.size):
            rise = max(row_height - column_peaks[j], column_heights[j] - row_peak, np.float32(_MIN_SINGLE))
            hits += np.int32(1) if steepness * squares[j] <= rise * rise else np.int32(0)
        if hits == 0:
            continue
        for j in range(squares.size):
            rise = max(row_height - column_peaks[j], column_heights[j] - row_peak, np.float32(_MIN_SINGLE))
            if steepness * squares[j] > rise * rise or column + j == first + i:
                continue
            fall = scale * measure_euclidean(points[first + i], points[column + j])
            for w, y in ((first + i, column + j), (column + j, first + i)):
                if heights[w] - fall > peaks[y]:
                    peaks[y] = heights[w] - fall
                    single_peaks[y] = np.nextafter(np.float32(peaks[y]), np.float32(-np.inf))


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
