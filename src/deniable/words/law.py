"""Exact laws as integer tables: what is sampled is what is verified.

A row of probabilities P (n,) becomes integers that sum to exactly 2^62, each at least FLOOR::

    entry[y] = FLOOR + floor((2^62 - n * FLOOR) * P[y])      the residue goes to the largest entry

which is the mixture of P with the uniform law that keeps metric DP, up to a rounding of one unit
an entry. A draw compares 62 bits of the record's keystream with the running sums. No output has
probability zero, so a pure guarantee survives the arithmetic.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from deniable.parallel import compiled, each
from deniable.space.metrics import BLOCK, Array
from deniable.space.space import Points, Space

TOTAL = 1 << 62
FLOOR = 1 << 24
"""Least entry of a table. Rounding can change a ratio of two entries by a factor 1 + 2 / FLOOR."""

Table = npt.NDArray[np.int64]


def exponential(distances: Array, scale: float, cutoff: float) -> Array:
    """Return P(y|w) proportional to exp(-scale * min(d(w, y), cutoff)), rows sum to 1.

    Args:
        distances: (k, n); overwritten.
        scale: > 0, per unit of distance.
        cutoff: distances beyond it count as it; may be infinite.
    """
    scores = np.minimum(distances, cutoff, out=distances)
    scores *= -scale
    weights = np.exp(scores, out=scores)
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


@compiled
def _cumulate(row: Array, total: int, floor: int, out: Table) -> None:  # pragma: no cover - compiled
    """Write the running sums of the integer table of one row of probabilities."""
    room = float(total - floor * row.size)
    residue = total
    largest = 0
    for y in range(row.size):
        out[y] = floor + np.int64(room * row[y])
        residue -= out[y]
        if row[y] > row[largest]:
            largest = y
    out[largest] += residue
    for y in range(1, row.size):
        out[y] += out[y - 1]


def integer_tables(probabilities: Array) -> Table:
    """Return (k, n) int64 running sums; the last of each row is 2^62."""
    out = np.empty(probabilities.shape, dtype=np.int64)
    for row, sums in zip(probabilities, out, strict=True):
        _cumulate(row, TOTAL, FLOOR, sums)
    return out


def draw(
    rows: Callable[[Points], Array],
    points: Points,
    bits: npt.NDArray[np.uint64],
    workers: int | None = None,
) -> Points:
    """Return one output point per input point, each row computed once for all its tokens.

    Args:
        rows: maps up to BLOCK points to their probabilities (k, n).
        points: (N,) input points, in any order.
        bits: (N,) random 64-bit numbers, of which the upper 62 bits are used.
        workers: threads; the result does not depend on them.
    """
    order = np.argsort(points, kind="stable")
    distinct, starts = np.unique(points[order], return_index=True)
    ends = np.append(starts[1:], len(points))
    out = np.empty(len(points), dtype=np.int32)

    def block(first: int) -> None:
        chosen = slice(first, first + BLOCK)
        tables = integer_tables(rows(distinct[chosen]))
        for table, start, end in zip(tables, starts[chosen], ends[chosen], strict=True):
            tokens = order[start:end]
            drawn = (bits[tokens] >> np.uint64(2)).astype(np.int64)
            out[tokens] = np.searchsorted(table, drawn, side="right")

    each(block, range(0, len(distinct), BLOCK), workers)
    return out


def zipf(size: int) -> Array:
    """Return the public prior (n,) used where none is given: Zipf's law, 1 / rank, sums to 1."""
    weights = 1.0 / np.arange(1, size + 1)
    return weights / weights.sum()


def kept(rows: Callable[[Points], Array], space: Space, workers: int | None = None) -> Array:
    """Return (n,): for each word the exact probability that it is released unchanged."""
    count = len(space.points)
    same = np.empty(count)

    def block(first: int) -> None:
        points = np.arange(first, min(first + BLOCK, count), dtype=np.int32)
        same[points] = rows(points)[np.arange(len(points)), points]

    each(block, range(0, count, BLOCK), workers)
    return same[space.point_of] / np.bincount(space.point_of)[space.point_of]
