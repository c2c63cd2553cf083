"""Exact laws as integer tables: what is sampled is what is verified.

A row of probabilities P (n,) becomes integers that sum to exactly 2^62, each at least FLOOR::

    entry[y] = FLOOR + floor((2^62 - n * FLOOR) * P[y])      the residue goes to the largest entry

which is the mixture of P with the uniform law that keeps metric DP, up to a rounding of one unit
an entry. A draw compares 62 bits of the record's keystream with the running sums. No output has
probability zero, so a pure guarantee survives the arithmetic.
"""

import dataclasses
import functools
import threading
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from deniable.cache import remember
from deniable.errors import InputError
from deniable.parallel import compiled
from deniable.space.metrics import Array
from deniable.space.space import Points, Space

TOTAL = 1 << 62
FLOOR = 1 << 24
"""Least entry of a table. Rounding can change a ratio of two entries by a factor 1 + 2 / FLOOR."""
_COARSE = 20
_STOCHASTIC = 24
"""A row whose probabilities sum to 1 but for 2^-24 is a distribution."""

Table = npt.NDArray[np.int64]
Rows = Callable[[Array], Array]
"""A law: distances (k, n) of k inputs to all points -> probabilities (k, n); may overwrite."""


@compiled
def _cumulate(row: Array, total: int, floor: int, out: Table) -> bool:  # pragma: no cover - compiled
    """Write the running sums of the integer table of one row of probabilities, and say whether it is a distribution.

    Its entries are then at least 0, and their sum is 1 up to `_STOCHASTIC`: the table has no entry below the floor.
    """
    room = float(total - floor * row.size)
    residue = total
    largest, least = 0, total
    coarse = 0  # the same sum without its last bits, which no row overflows
    for y in range(row.size):
        out[y] = floor + np.int64(room * row[y])
        residue -= out[y]
        coarse += out[y] >> _COARSE
        largest = max(largest, out[y])
        least = min(least, out[y])
    if least < floor or abs(coarse - (total >> _COARSE)) > row.size + (total >> _COARSE >> _STOCHASTIC):
        return False
    y = 0
    while out[y] != largest:
        y += 1
    out[y] += residue
    running = 0
    for y in range(row.size):
        running += out[y]
        out[y] = running
    return True


def _write_table(row: Array, out: Table) -> None:
    """Write the running sums (n,) of the table of one row of probabilities (n,).

    Raises:
        InputError: the row is no distribution.
    """
    if not _cumulate(row, TOTAL, FLOOR, out):
        raise InputError(
            "The law of a mechanism gives a row that is no distribution: its probabilities must be numbers of at "
            f"least 0 that sum to 1. Got a sum of {row.sum():.9g} and a least one of {row.min():.9g}."
        )


def integer_tables(probabilities: Array) -> Table:
    """Return (k, n) int64 running sums; the last of each row is 2^62."""
    out = np.empty(probabilities.shape, dtype=np.int64)
    for row, sums in zip(probabilities, out, strict=True):
        _write_table(row, sums)
    return out


@dataclasses.dataclass(frozen=True)
class Finding:
    """The exact epsilon of a law, found over all pairs of inputs and all outputs, or over some.

    Attributes:
        epsilon: upper bound on the largest loss per unit of distance, all rounding in it.
        lower_bound: the loss per unit of distance of the witness, rounding taken off.
        input: the point w of the witness.
        other: its point w'.
        output: its point y.
        distance: d(w, w').
        loss: ln P(y|w) - ln P(y|w'), in nats.
        seconds: how long finding it took.
    """

    epsilon: float
    lower_bound: float
    input: int
    other: int
    output: int
    distance: float
    loss: float
    seconds: float


def remember_finding(name: str, count: int, compute: Callable[[], Finding]) -> Finding:
    """Return the cached finding called ``name`` about ``count`` points, or compute and keep it."""
    fields = [field.name for field in dataclasses.fields(Finding)]
    places = ("input", "other", "output")

    def usable(found: dict[str, float]) -> bool:
        whole = all(found[place] in range(count) for place in places)
        return whole and 0 <= found["lower_bound"] <= found["epsilon"] and found["distance"] >= 0

    def facts() -> dict[str, float]:
        return {key: float(value) for key, value in vars(compute()).items()}

    found = remember(name, fields, facts, usable)
    return Finding(**{**found, **{place: int(found[place]) for place in places}})  # type: ignore[arg-type]


@dataclasses.dataclass(frozen=True)
class Loss:
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


def worst_output(space: Space, rows: Rows, point: int, other: int) -> Loss:
    """Return the largest loss between two points, over all outputs of the integer tables and both directions."""
    table, against = entries(rows(space.distances([point, other])))
    difference = table - against
    gains = np.log1p(np.maximum(difference, 0) / against)
    falls = np.log1p(np.maximum(-difference, 0) / table)
    gain, fall = int(gains.argmax()), int(falls.argmax())
    if gains[gain] >= falls[fall]:
        return Loss(point, other, gain, float(gains[gain]))
    return Loss(other, point, fall, float(falls[fall]))


def entries(probabilities: Array) -> Table:
    """Return the entries (k, n) of the integer tables, which sum to 2^62."""
    table: Table = np.diff(integer_tables(probabilities), axis=1, prepend=0)
    return table


@compiled
def _group(points: Points, count: int) -> tuple[Table, Table]:  # pragma: no cover - compiled
    """Return the tokens (N,) sorted by their point, and the end of each point's tokens (count,)."""
    ends = np.zeros(count, dtype=np.int64)
    for token in range(points.size):
        ends[points[token]] += 1
    for point in range(1, count):
        ends[point] += ends[point - 1]
    order = np.empty(points.size, dtype=np.int64)
    free = ends.copy()
    for token in range(points.size - 1, -1, -1):
        free[points[token]] -= 1
        order[free[points[token]]] = token
    return order, ends


@compiled
def _look_up(  # pragma: no cover - compiled
    table: Table, bits: npt.NDArray[np.uint64], tokens: Table, out: Points
) -> None:
    """Write for some tokens the first place of a table of running sums that exceeds the upper 62 of their bits.

    Where a row is drawn from many times a guide says between which places each of 2^k equal shares of 2^62 lies
    (Chen and Asau 1974), so that few of the running sums are read: four times as fast for 50,000 words.
    """
    shares, shift = 1, 62
    while shares < table.size and shares < tokens.size:
        shares *= 2
        shift -= 1
    first = np.empty(shares + 1, dtype=np.int64)
    y = 0
    for share in range(shares):
        while table[y] <= np.int64(share) << shift:
            y += 1
        first[share] = y
    first[shares] = table.size - 1
    for token in tokens:
        drawn = np.int64(bits[token] >> np.uint64(2))
        low, high = first[drawn >> shift], first[(drawn >> shift) + 1]
        while low < high:
            middle = (low + high) // 2
            if table[middle] <= drawn:
                low = middle + 1
            else:
                high = middle
        out[token] = low


def draw(space: Space, rows: Rows, points: Points, bits: npt.NDArray[np.uint64], workers: int | None = None) -> Points:
    """Return one output point per input point, each row computed once for all its tokens.

    Args:
        space: the domain.
        rows: the law, as a function of distances.
        points: (N,) input points, in any order.
        bits: (N,) random 64-bit numbers, of which the upper 62 bits are used.
        workers: threads; the result does not depend on them.
    """
    order, ends = _group(points, len(space.points))
    starts = np.append(0, ends[:-1])
    distinct = np.flatnonzero(ends > starts)
    starts, ends = starts[distinct], ends[distinct]
    out = np.empty(len(points), dtype=np.int32)

    def visit(first: int, distances: Array) -> None:
        table = np.empty(distances.shape[1], dtype=np.int64)
        for row, start, end in zip(rows(distances), starts[first:], ends[first:], strict=False):
            _write_table(row, table)
            _look_up(table, bits, order[start:end], out)

    space.sweep(visit, distinct, workers)
    return out


def zipf(size: int) -> Array:
    """Return the public prior (n,) used where none is given: Zipf's law, 1 / rank, sums to 1."""
    weights = 1.0 / np.arange(1, size + 1)
    prior: Array = weights / weights.sum()
    return prior


def outcomes(space: Space, rows: Rows, prior: Array, workers: int | None = None) -> tuple[Array, float]:
    """Return what words become, in one pass over the law.

    Args:
        space: the domain.
        rows: the law, as a function of distances.
        prior: (n,) how likely each word is, for who does not see the output.
        workers: threads.

    Returns:
        For each word (n,) the probability that it is released unchanged, and the Bayes success
        sum over outputs y of max over words w of prior(w) P(y|w): the share of words that an
        optimal attacker names who knows the law and the prior and sees one output at a time.
    """
    count = len(space.points)
    priors = likeliest(space, prior)
    local, tops = threading.local(), []

    def visit(first: int, distances: Array) -> Array:
        if not hasattr(local, "top"):
            local.top = np.zeros(count)
            tops.append(local.top)
        probabilities = rows(distances)
        _raise(local.top, probabilities, priors[first : first + len(probabilities)])
        own: Array = np.diagonal(probabilities, offset=first).copy()
        return own

    same: Array = np.concatenate(space.sweep(visit, range(count), workers))
    kept: Array = (same / np.bincount(space.point_of))[space.point_of]
    return kept, float(np.max(tops, axis=0).sum())


def likeliest(space: Space, prior: Array) -> Array:
    """Return (number of points,): the largest prior of the words at each point, one of which a guess names."""
    out = np.zeros(len(space.points))
    np.maximum.at(out, space.point_of, prior)
    return out


@functools.partial(compiled, relaxed=True)
def _raise(tops: Array, probabilities: Array, weights: Array) -> None:  # pragma: no cover - compiled
    """Raise each of tops (n,) to the largest weights[i] * probabilities[i, y]."""
    for i in range(probabilities.shape[0]):
        for y in range(tops.size):
            tops[y] = max(tops[y], weights[i] * probabilities[i, y])
