"""What each word becomes under a law: how often it stays, how often the best guess is right about it.

The attacker knows law and prior, sees one output y, and guesses the word of the largest prior(w) P(y|w). One pass over
all rows tells it of any law. In the exponential family P(w|w) = c(w) / Z(w), and the best guess behind an output y
needs the maximum over w of ln prior(w) - ln Z(w) - s min(d(w, y), gamma). Once Z is known no exponentials are needed.
"""

import threading
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray
from deniable.core.parallel import compile_loop
from deniable.space.space import Space
from deniable.words.laws.kernel import ExponentialKernel
from deniable.words.laws.law import RowFunction, WordShares

_Guesses = npt.NDArray[np.int64]
"""The points that are guessed from outputs."""
_Side = tuple[int, FloatArray, _Guesses]
"""The first of some consecutive outputs, the peak of each, and the first input that gives it."""


def compute_exponential_outcomes(
    space: Space,
    kernels: Sequence[ExponentialKernel],
    log_normalisers: Sequence[FloatArray],
    prior: FloatArray,
    workers: int | None = None,
) -> list[WordShares]:
    """Return `deniable.words.laws.law.Law.outcomes` of each of k laws, in one pass over all pairs of points.

    Args:
        space: the domain.
        kernels: of k laws.
        log_normalisers: ln Z (number of points,) of each.
        prior: (n,) how likely each word is, sums to 1.
        workers: threads.
    """
    guessed_words = find_guessed_words(space, prior)
    with np.errstate(divide="ignore"):
        log_priors = np.log(prior[guessed_words])
    heights = [log_priors - log_normaliser for log_normaliser in log_normalisers]
    results = []
    for kernel, log_normaliser, (peaks, guesses) in zip(
        kernels, log_normalisers, _find_peaks(space, kernels, heights, workers), strict=True
    ):
        likelihoods = np.exp(peaks - log_priors[guesses]) * (1.0 if kernel.weights is None else kernel.weights)
        guessed = add_guesses(guessed_words, guesses, likelihoods, len(space))
        results.append(WordShares(compute_kept_shares(space, kernel, log_normaliser), guessed))
    return results


def compute_kept_shares(space: Space, kernel: ExponentialKernel, log_normalisers: FloatArray) -> FloatArray:
    """Return the probability (n,) that each word is released unchanged, from ln Z (number of points,)."""
    weights = np.ones(len(log_normalisers)) if kernel.weights is None else kernel.weights
    sizes = np.bincount(space.point_by_word)
    kept_shares: FloatArray = (weights * np.exp(-log_normalisers) / sizes)[space.point_by_word]
    return kept_shares


def _find_peaks(
    space: Space, kernels: Sequence[ExponentialKernel], heights: Sequence[FloatArray], workers: int | None
) -> list[tuple[FloatArray, _Guesses]]:
    """Return max over w of height(w) - s min(d(w, y), gamma) for each y (number of points,), and the first such w."""

    def visit(rows: slice, columns: slice, distances: FloatArray) -> list[_Side]:
        return [
            side
            for kernel, height in zip(kernels, heights, strict=True)
            for side in _find_tile_peaks(
                distances, height[rows], height[columns], rows.start, columns.start, kernel.scale, kernel.cutoff
            )
        ]

    count = space.point_count
    # A word that has weight, for outputs that no other can give.
    peaks = [(np.full(count, -np.inf), np.full(count, height.argmax())) for height in heights]

    def take(sides: list[_Side]) -> None:
        for number, (first, tile_peaks, tile_guesses) in enumerate(sides):
            peak, guess = (array[first : first + len(tile_peaks)] for array in peaks[number // 2])
            is_better = (tile_peaks > peak) | ((tile_peaks == peak) & (tile_guesses < guess))
            peak[is_better], guess[is_better] = tile_peaks[is_better], tile_guesses[is_better]

    space.fold_tiles(visit, take, workers)
    return peaks


@compile_loop
def _find_tile_peaks(  # pragma: no cover - compiled
    distances: FloatArray,
    left: FloatArray,
    right: FloatArray,
    first: int,
    column: int,
    scale: float,
    cutoff: float,
) -> tuple[_Side, _Side]:
    """Return what the columns of a tile give its rows, and what the rows give its columns."""
    across, down = np.full(left.size, -np.inf), np.full(right.size, -np.inf)
    across_guesses, down_guesses = np.zeros(left.size, dtype=np.int64), np.zeros(right.size, dtype=np.int64)
    for i in range(left.size):
        row, height, best, best_column = distances[i], left[i], -np.inf, column
        for j in range(right.size):
            fall = scale * min(cutoff, row[j])
            if right[j] - fall > best:
                best, best_column = right[j] - fall, column + j
            if height - fall > down[j]:
                down[j], down_guesses[j] = height - fall, first + i
        across[i], across_guesses[i] = best, best_column
    return (first, across, across_guesses), (column, down, down_guesses)


def compute_row_outcomes(space: Space, rows: RowFunction, prior: FloatArray, workers: int | None = None) -> WordShares:
    """Return `deniable.words.laws.law.Law.outcomes` in one pass over the rows of a law.

    Args:
        space: the domain.
        rows: the law.
        prior: (n,) how likely each word is, sums to 1.
        workers: threads.
    """
    count = space.point_count
    guessed_words = find_guessed_words(space, prior)
    weights = prior[guessed_words]
    local, shares = threading.local(), list[tuple[FloatArray, FloatArray, _Guesses]]()

    def visit(first: int, distances: FloatArray) -> FloatArray:
        if not hasattr(local, "best"):
            local.best = np.zeros(count), np.zeros(count), np.zeros(count, dtype=np.int64)
            shares.append(local.best)
        probabilities = rows(np.arange(first, first + len(distances)), distances)
        _take_best_inputs(probabilities, weights, first, *local.best)
        unchanged: FloatArray = np.diagonal(probabilities, offset=first).copy()
        return unchanged

    unchanged_by_point: FloatArray = np.concatenate(space.map_row_blocks(visit, range(count), workers))
    kept_shares: FloatArray = (unchanged_by_point / np.bincount(space.point_by_word))[space.point_by_word]
    joints, likelihoods, guesses = (np.array(arrays) for arrays in zip(*shares, strict=True))
    # The threads took blocks of inputs in any order: of equal ones the first counts.
    best = np.lexsort((guesses, -joints), axis=0)[0], np.arange(count)
    return WordShares(kept_shares, add_guesses(guessed_words, guesses[best], likelihoods[best], len(space)))


@compile_loop
def _take_best_inputs(  # pragma: no cover - compiled
    probabilities: FloatArray,
    weights: FloatArray,
    first: int,
    joints: FloatArray,
    likelihoods: FloatArray,
    guesses: _Guesses,
) -> None:
    """Note for each output (n,) the input of the largest weights[x] * P(y|x), of equal ones the first."""
    for i in range(probabilities.shape[0]):
        for y in range(joints.size):
            joint = weights[first + i] * probabilities[i, y]
            if joint > joints[y] or (joint == joints[y] and first + i < guesses[y]):
                joints[y], likelihoods[y], guesses[y] = joint, probabilities[i, y], first + i


def find_guessed_words(space: Space, prior: FloatArray) -> npt.NDArray[np.int64]:
    """Return the word (number of points,) that is guessed of those at each point: the most probable, then the first."""
    order = np.argsort(-prior, kind="stable")
    _, places = np.unique(space.point_by_word[order], return_index=True)
    words: npt.NDArray[np.int64] = order[places]
    return words


def add_guesses(
    guessed_words: npt.NDArray[np.int64], guesses: _Guesses, likelihoods: FloatArray, count: int
) -> FloatArray:
    """Return for each word (count,) the sum of P(y|w) over the outputs y from which it is guessed."""
    return np.bincount(guessed_words[guesses], weights=likelihoods, minlength=count).astype(np.float64)
