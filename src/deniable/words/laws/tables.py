"""Exact laws as integer tables: what is sampled is what is verified.

A row of probabilities P (n,) becomes integers that sum to exactly 2^62, each at least FLOOR::

    entry[y] = FLOOR + floor((2^62 - n * FLOOR) * P[y])      the residue goes to the first of the largest P[y]

which is the mixture of P with the uniform law that keeps metric DP, up to a rounding of one unit
an entry. A draw compares 62 bits of the record's keystream with the running sums. No output has
probability zero, so a pure guarantee survives the arithmetic.

What each word becomes under a law: how often it stays, how often the best guess is right about it.

The attacker knows law and prior, sees one output y, and guesses the word of the largest prior(w) P(y|w). One pass over
all rows tells it of any law.
"""

import threading

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError
from deniable.core.parallel import compile_loop
from deniable.space.space import PointNumbers, Space
from deniable.words.laws.law import IntegerTable, Law, WordShares

TABLE_TOTAL = 1 << 62
TABLE_FLOOR = 1 << 24
"""Least entry of a table. Rounding can change a ratio of two entries by a factor 1 + 2 / FLOOR."""
LOGARITHM_ERROR = 2.0**-44
"""Error of a log-ratio of two table entries, in nats."""
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
            "The law of a mechanism has a row that is not a distribution: its probabilities must be numbers of at "
            f"least 0 that sum to 1. Got a sum of {row.sum():.9g} and a least one of {row.min():.9g}."
        )


def compute_table_entries(probabilities: FloatArray) -> IntegerTable:
    """Return the entries (k, n) of the integer tables, which sum to 2^62."""
    sums = np.empty(probabilities.shape, dtype=np.int64)
    for row, row_sums in zip(probabilities, sums, strict=True):
        _write_cumulative_table(row, row_sums)
    return np.diff(sums, axis=1, prepend=0)


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


def sample_from_tables(
    law: Law, points: PointNumbers, bits: npt.NDArray[np.uint64], workers: int | None = None
) -> PointNumbers:
    """One output point per input point, each row of the law computed once for all its tokens.

    Args:
        law: whose rows are known.
        points: (N,) input points, in any order.
        bits: (N,) random 64-bit numbers, of which the upper 62 bits are used.
        workers: threads; the result does not depend on them.
    """
    order, ends = group_tokens_by_point(points, law.space.point_count)
    starts = np.append(0, ends[:-1])
    distinct = np.flatnonzero(ends > starts)
    starts, ends = starts[distinct], ends[distinct]
    out = np.empty(len(points), dtype=np.int32)

    def visit(first: int, rows: FloatArray) -> None:
        table = np.empty(rows.shape[1], dtype=np.int64)
        for row, start, end in zip(rows, starts[first:], ends[first:], strict=False):
            _write_cumulative_table(row, table)
            tokens = order[start:end]
            out[tokens] = np.searchsorted(table, (bits[tokens] >> np.uint64(2)).astype(np.int64), side="right")

    law.map_rows(visit, distinct, workers)
    return out


def compute_row_outcomes(law: Law, prior: FloatArray, workers: int | None = None) -> WordShares:
    """`deniable.words.laws.law.Law.outcomes` in one pass over the rows of a law; ``prior`` (n,) sums to 1."""
    space, count = law.space, law.space.point_count
    guessed_words = find_guessed_words(space, prior)
    weights = prior[guessed_words]
    largest, likelihoods, guesses = np.zeros(count), np.zeros(count), np.zeros(count, dtype=np.int64)
    lock, outputs = threading.Lock(), np.arange(count)

    def visit(first: int, rows: FloatArray) -> FloatArray:
        joints = weights[first : first + len(rows), None] * rows
        inputs = joints.argmax(axis=0)
        tops, at = joints[inputs, outputs], rows[inputs, outputs]
        with lock:  # blocks come in any order: of equal inputs the first counts
            is_better = (tops > largest) | ((tops == largest) & (first + inputs < guesses))
            largest[is_better], likelihoods[is_better] = tops[is_better], at[is_better]
            guesses[is_better] = first + inputs[is_better]
        return np.diagonal(rows, offset=first).copy()

    unchanged = np.concatenate(law.map_rows(visit, outputs, workers))
    return share_among_words(space, unchanged, guessed_words, guesses, likelihoods)


def find_guessed_words(space: Space, prior: FloatArray) -> npt.NDArray[np.int64]:
    """Return the word (number of points,) that is guessed of those at each point: the most probable, then the first."""
    order = np.argsort(-prior, kind="stable")
    _, places = np.unique(space.point_by_word[order], return_index=True)
    words: npt.NDArray[np.int64] = order[places]
    return words


def share_among_words(
    space: Space,
    unchanged: FloatArray,
    guessed_words: npt.NDArray[np.int64],
    guesses: npt.NDArray[np.int64],
    likelihoods: FloatArray,
) -> WordShares:
    """Return what becomes of each word.

    Args:
        space: of n points.
        unchanged: (n,) the probability that each point is its own output.
        guessed_words: (n,) the word that is guessed of those at each point.
        guesses: (n,) the point that is guessed from each output y.
        likelihoods: (n,) P(y|w) of the point guessed.
    """
    kept = (unchanged / np.bincount(space.point_by_word))[space.point_by_word]
    guessed = np.bincount(guessed_words[guesses], weights=likelihoods, minlength=len(space)).astype(np.float64)
    return WordShares(kept, guessed)
