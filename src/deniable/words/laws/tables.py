"""Exact laws as integer tables: what is sampled is what is verified.

A row of probabilities P (n,) becomes integers that sum to exactly 2^62, each at least FLOOR::

    entry[y] = FLOOR + floor((2^62 - n * FLOOR) * P[y])      the residue goes to the first of the largest P[y]

which is the mixture of P with the uniform law that keeps metric DP, up to a rounding of one unit
an entry. A draw compares 62 bits of the record's keystream with the running sums. No output has
probability zero, so a pure guarantee survives the arithmetic.
"""

import dataclasses

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError
from deniable.core.parallel import compile_loop
from deniable.space.space import PointNumbers, Space
from deniable.words.laws.law import IntegerTable, RowFunction

TABLE_TOTAL = 1 << 62
TABLE_FLOOR = 1 << 24
"""Least entry of a table. Rounding can change a ratio of two entries by a factor 1 + 2 / FLOOR."""
LOGARITHM_ERROR = 2.0**-44
"""Nats that logarithms of table entries, and their difference, may err by."""
_COARSE_SHIFT = 20
_SUM_BITS = 24
"""A row whose probabilities sum to 1 but for 2^-24 is a distribution."""


@compile_loop
def _cumulate_row(row: FloatArray, total: int, floor: int, out: IntegerTable) -> bool:  # pragma: no cover - compiled
    """Write the running sums of the integer table of one row of probabilities, and say whether it is a distribution.

    Its entries are then at least 0, and their sum is 1 up to `_SUM_BITS`: the table has no entry below the floor.
    """
    free_mass = float(total - floor * row.size)
    residue = total
    minimum, place = total, 0
    coarse_sum = 0  # the same sum without its last bits, which no row overflows
    for y in range(row.size):
        out[y] = floor + np.int64(free_mass * row[y])
        residue -= out[y]
        coarse_sum += out[y] >> _COARSE_SHIFT
        minimum = min(minimum, out[y])
    if minimum < floor or abs(coarse_sum - (total >> _COARSE_SHIFT)) > row.size + (total >> _COARSE_SHIFT >> _SUM_BITS):
        return False
    for y in range(row.size):
        if row[y] > row[place]:
            place = y
    out[place] += residue
    running = 0
    for y in range(row.size):
        running += out[y]
        out[y] = running
    return True


def _write_cumulative_table(row: FloatArray, out: IntegerTable) -> None:
    """Write the running sums (n,) of the table of one row of probabilities (n,).

    Raises:
        InputError: the row is no distribution.
    """
    if not _cumulate_row(row, TABLE_TOTAL, TABLE_FLOOR, out):
        raise InputError(
            "The law of a mechanism gives a row that is no distribution: its probabilities must be numbers of at "
            f"least 0 that sum to 1. Got a sum of {row.sum():.9g} and a least one of {row.min():.9g}."
        )


def build_integer_tables(probabilities: FloatArray) -> IntegerTable:
    """Return (k, n) int64 running sums; the last of each row is 2^62."""
    out = np.empty(probabilities.shape, dtype=np.int64)
    for row, sums in zip(probabilities, out, strict=True):
        _write_cumulative_table(row, sums)
    return out


@dataclasses.dataclass(frozen=True)
class OutputLoss:
    """What an output tells of two inputs, by the integer tables.

    Attributes:
        input: the point w.
        other: the point w'.
        output: the point y.
        nats: ln P(y|w) - ln P(y|w'), within 2^-50 of itself.
    """

    input: int
    other: int
    output: int
    nats: float


def find_worst_output(space: Space, rows: RowFunction, point: int, other: int) -> OutputLoss:
    """Return the largest loss between two points, over all outputs of the integer tables and both directions."""
    pair = np.array([point, other])
    table, other_table = compute_table_entries(rows(pair, space.distances(pair)))
    difference = table - other_table
    losses = np.log1p(np.maximum(difference, 0) / other_table)
    reverse_losses = np.log1p(np.maximum(-difference, 0) / table)
    best, reverse_best = int(losses.argmax()), int(reverse_losses.argmax())
    if losses[best] >= reverse_losses[reverse_best]:
        return OutputLoss(point, other, best, float(losses[best]))
    return OutputLoss(other, point, reverse_best, float(reverse_losses[reverse_best]))


def compute_table_entries(probabilities: FloatArray) -> IntegerTable:
    """Return the entries (k, n) of the integer tables, which sum to 2^62."""
    table: IntegerTable = np.diff(build_integer_tables(probabilities), axis=1, prepend=0)
    return table


@compile_loop
def group_tokens_by_point(
    points: PointNumbers, count: int
) -> tuple[IntegerTable, IntegerTable]:  # pragma: no cover - compiled
    """Return the tokens (N,) sorted by their point, and the end of each point's tokens (count,)."""
    ends = np.zeros(count, dtype=np.int64)
    for token in range(points.size):
        ends[points[token]] += 1
    for point in range(1, count):
        ends[point] += ends[point - 1]
    order = np.empty(points.size, dtype=np.int64)
    next_free = ends.copy()
    for token in range(points.size - 1, -1, -1):
        next_free[points[token]] -= 1
        order[next_free[points[token]]] = token
    return order, ends


@compile_loop
def find_first_above(sums: IntegerTable, low: int, high: int, value: int) -> int:  # pragma: no cover - compiled
    """Return the first place from ``low`` to ``high`` whose running sum is above a value; that at ``high`` is."""
    while low < high:
        middle = (low + high) // 2
        if sums[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low


@compile_loop
def _look_up_outputs(  # pragma: no cover - compiled
    table: IntegerTable, bits: npt.NDArray[np.uint64], tokens: IntegerTable, out: PointNumbers
) -> None:
    """Write for some tokens the first place of a table of running sums that exceeds the upper 62 of their bits.

    Where a row is drawn from many times a guide says between which places each of 2^k equal shares of 2^62 lies
    (Chen and Asau 1974), so that few of the running sums are read: four times as fast for 50,000 words.
    """
    shares, shift = 1, 62
    while shares < table.size and shares < tokens.size:
        shares *= 2
        shift -= 1
    share_starts = np.empty(shares + 1, dtype=np.int64)
    y = 0
    for share in range(shares):
        while table[y] <= np.int64(share) << shift:
            y += 1
        share_starts[share] = y
    share_starts[shares] = table.size - 1
    for token in tokens:
        draw_value = np.int64(bits[token] >> np.uint64(2))
        low, high = share_starts[draw_value >> shift], share_starts[(draw_value >> shift) + 1]
        out[token] = find_first_above(table, low, high, draw_value)


def sample_from_tables(
    space: Space, rows: RowFunction, points: PointNumbers, bits: npt.NDArray[np.uint64], workers: int | None = None
) -> PointNumbers:
    """Return one output point per input point, each row computed once for all its tokens.

    Args:
        space: the domain.
        rows: the law.
        points: (N,) input points, in any order.
        bits: (N,) random 64-bit numbers, of which the upper 62 bits are used.
        workers: threads; the result does not depend on them.
    """
    order, ends = group_tokens_by_point(points, space.point_count)
    starts = np.append(0, ends[:-1])
    distinct = np.flatnonzero(ends > starts)
    starts, ends = starts[distinct], ends[distinct]
    out = np.empty(len(points), dtype=np.int32)

    def visit(first: int, distances: FloatArray) -> None:
        table = np.empty(distances.shape[1], dtype=np.int64)
        block = rows(distinct[first : first + len(distances)], distances)
        for row, start, end in zip(block, starts[first:], ends[first:], strict=False):
            _write_cumulative_table(row, table)
            _look_up_outputs(table, bits, order[start:end], out)

    space.map_row_blocks(visit, distinct, workers)
    return out
