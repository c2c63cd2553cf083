"""What words become under laws of the exponential family: how many stay, how many the best guess names.

P(w|w) = c(w) / Z(w), and the best guess behind an output y needs the maximum over w of
ln prior(w) - ln Z(w) - s min(d(w, y), gamma). Once Z is known no exponentials are needed.
"""

import functools
from collections.abc import Sequence

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.parallel import compile_loop
from deniable.space.space import Space
from deniable.words.laws.exponential import ExponentialLaw
from deniable.words.laws.tabulated import compute_point_priors


def compute_exponential_outcomes(
    space: Space,
    laws: Sequence[ExponentialLaw],
    log_normalisers: Sequence[FloatArray],
    prior: FloatArray,
    workers: int | None = None,
) -> list[tuple[FloatArray, float]]:
    """Return what `deniable.words.laws.tabulated.compute_exponential_outcomes` does for each of k laws, in one pass over all pairs of points.

    Args:
        space: the domain.
        laws: k laws.
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
            _find_peaks(distances, height[rows], height[columns], law.scale, law.cutoff)
            for law, height in zip(laws, heights, strict=True)
        ]
        return rows, columns, tile_peaks

    peaks = [np.full(len(space.points), -np.inf) for _ in laws]
    for rows, columns, tile_peaks in space.map_tiles(visit, workers):
        for peak, (across, down) in zip(peaks, tile_peaks, strict=True):
            peak[rows] = np.maximum(peak[rows], across)
            peak[columns] = np.maximum(peak[columns], down)
    sizes = np.bincount(space.point_by_word)
    out = []
    for law, log_normaliser, peak in zip(laws, log_normalisers, peaks, strict=True):
        weights = np.ones(len(peak)) if law.weights is None else law.weights
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
