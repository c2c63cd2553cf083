"""Diameter and separation of a space, exactly, over all pairs in blocks."""

from collections.abc import Callable, Sequence

import numpy as np

from deniable.parallel import compiled, each
from deniable.space.metrics import BLOCK, Array


@compiled
def _range_after(distances: Array, first: int) -> tuple[float, float]:  # pragma: no cover - compiled
    """Smallest and largest distance of rows first, first + 1, ... to later points."""
    low, high = np.inf, 0.0
    for i in range(distances.shape[0]):
        for j in range(first + i + 1, distances.shape[1]):
            low = min(low, distances[i, j])
            high = max(high, distances[i, j])
    return low, high


def extent(distances: Callable[[Sequence[int]], Array], count: int) -> dict[str, float]:
    """Return ``diameter`` and ``separation`` over all pairs of ``count`` points.

    Args:
        distances: maps up to BLOCK points to their distances (k, count).
        count: number of points.
    """

    def block(first: int) -> tuple[float, float]:
        return _range_after(distances(range(first, min(first + BLOCK, count))), first)

    ranges = each(block, range(0, count, BLOCK))
    return {
        "diameter": max(high for _, high in ranges),
        "separation": min(low for low, _ in ranges),
    }
