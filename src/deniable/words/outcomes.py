"""What words become under laws of the exponential family: how many stay, how many the best guess names.

P(w|w) = c(w) / Z(w), and the best guess behind an output y needs the maximum over w of
ln prior(w) - ln Z(w) - s min(d(w, y), gamma). Once Z is known no exponentials are needed.
"""

import functools
from collections.abc import Sequence

import numpy as np

from deniable.parallel import compiled
from deniable.space.metrics import Array
from deniable.space.space import Space
from deniable.words.exponential import Exponential
from deniable.words.law import likeliest


def outcomes(
    space: Space, laws: Sequence[Exponential], logs: Sequence[Array], prior: Array, workers: int | None = None
) -> list[tuple[Array, float]]:
    """Return what `deniable.words.law.outcomes` does for each of k laws, in one pass over all pairs of points.

    Args:
        space: the domain.
        laws: k laws.
        logs: ln Z (number of points,) of each.
        prior: (n,) how likely each word is, sums to 1.
        workers: threads.
    """
    with np.errstate(divide="ignore"):
        heights = [np.log(likeliest(space, prior)) - log for log in logs]

    def visit(rows: slice, columns: slice, distances: Array) -> tuple[slice, slice, list[tuple[Array, Array]]]:
        found = [
            _peaks(distances, height[rows], height[columns], law.scale, law.cutoff)
            for law, height in zip(laws, heights, strict=True)
        ]
        return rows, columns, found

    peaks = [np.full(len(space.points), -np.inf) for _ in laws]
    for rows, columns, found in space.tiles(visit, workers):
        for peak, (across, down) in zip(peaks, found, strict=True):
            peak[rows] = np.maximum(peak[rows], across)
            peak[columns] = np.maximum(peak[columns], down)
    sizes = np.bincount(space.point_of)
    out = []
    for law, log, peak in zip(laws, logs, peaks, strict=True):
        weights = np.ones(len(peak)) if law.weights is None else law.weights
        kept: Array = (weights * np.exp(-log) / sizes)[space.point_of]
        out.append((kept, float(weights @ np.exp(peak))))
    return out


@functools.partial(compiled, relaxed=True)
def _peaks(  # pragma: no cover - compiled
    distances: Array, left: Array, right: Array, scale: float, cutoff: float
) -> tuple[Array, Array]:
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
