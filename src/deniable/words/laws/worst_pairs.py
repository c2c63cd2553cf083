"""The pairs of inputs that lose most per unit of distance under a law of the exponential family.

Under Euclidean distance float32 sifts the pairs (`deniable.space.squares`) and float64 decides among the few that are
left. Let B be a loss per unit of distance that some pair has, and c what is added to losses for rounding. With
a = ln Z, a pair can have B only if::

    s d + |a(w) - a(w')| + c >= B d      and      s gamma + |a(w) - a(w')| + c >= B d

    which is      q (B - s)^2 <= (|a(w) - a(w')| + c)^2      and      q B^2 <= (|a(w) - a(w')| + c + s gamma)^2

for the square of d and for any lower bound q on it, at B >= s; below s the first says nothing. c holds what float32
does to a, and a little is taken off the left sides for what it does to the products. B begins with what the pairs
before have, and grows.
"""

import dataclasses
import functools
import math

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.parallel import compile_loop
from deniable.space.blocks import TILE_SIZE
from deniable.space.space import Space
from deniable.space.squares import SINGLE_ROUNDING, SingleArray, measure_euclidean
from deniable.words.laws.kernel import ExponentialKernel
from deniable.words.laws.tables import TABLE_FLOOR, TABLE_TOTAL

_UNDERFLOW_SAFE_NATS = 450.0
"""Nats up to which a score beside no weight of its own is far from underflow."""
_LISTED_SHARE = 1e-2
"""Pairs are listed that have all but this share of what the worst before them has beyond the scale."""
_MIN_DISTANCE = 1e-300
ROUNDING_FACTOR = 1 + 2.0**-49
"""Covers the few roundings of the bound itself."""
_MIN_LOSS = math.log(TABLE_FLOOR / (TABLE_FLOOR - 1))
"""What rounding down to whole units can do to the ratio of two entries at the floor."""
_MIN_SINGLE, _MAX_SINGLE = 1e-18, 1e15
"""Numbers between which float32 holds squares, and their products with squares of distances, to full precision."""


@dataclasses.dataclass(frozen=True)
class WorstPair:
    """A pair of inputs with a large loss per unit of distance.

    Attributes:
        epsilon: bound on the loss per unit of distance, over all outputs of the integer tables that
            are sampled, with every rounding in it.
        input: the point w; the loss is largest at the output y = w.
        other: the point w'.
        distance: d(w, w').
    """

    epsilon: float
    input: int
    other: int
    distance: float


def find_worst_pairs(
    space: Space, kernel: ExponentialKernel, logs: FloatArray, workers: int | None = None
) -> list[WorstPair]:
    """Return the worst pairs of tiles of pairs, the worst of all first.

    The first one's epsilon is the exact epsilon of the kernel's law, as an upper bound.

    Args:
        space: the domain.
        kernel: of the law.
        logs: ln Z (number of points,).
        workers: threads.

    Raises:
        NotTractable: the rounding of the space's metric is unknown.
    """
    search = _search_squares if space.square_bounds is not None else _search_distances
    return sorted(search(space, kernel, logs, workers), key=lambda pair: -pair.epsilon)


def _search_squares(space: Space, kernel: ExponentialKernel, logs: FloatArray, workers: int | None) -> list[WorstPair]:
    """Return the worst pair of every tile that has one near the worst of the tiles before it in its row of tiles."""
    constants = _make_constants(space, kernel)
    centred = logs - (logs.max() + logs.min()) / 2
    single_logs = centred.astype(np.float32)
    single_error = float(np.abs(centred).max()) * 2.0**-22
    unit = space.square_bounds.unit if space.square_bounds is not None else math.nan
    floors = np.zeros(-(-len(logs) // TILE_SIZE))  # of each row of tiles, which one thread visits in order

    def visit(rows: slice, columns: slice, lower_bounds: SingleArray) -> WorstPair | None:
        strip = rows.start // TILE_SIZE
        bound, point, other, distance = _find_worst_candidate(
            lower_bounds,
            space.points,
            logs,
            single_logs,
            rows.start,
            columns.start,
            floors[strip],
            unit,
            single_error,
            *constants,
        )
        if point < 0:
            return None
        floors[strip] = max(floors[strip], bound - _LISTED_SHARE * abs(bound - kernel.scale))
        return _arrange_pair(bound, point, other, distance, logs)

    pairs: list[WorstPair | None] = []
    space.fold_square_tiles(visit, pairs.append, workers)
    return [pair for pair in pairs if pair is not None]


def _search_distances(
    space: Space, kernel: ExponentialKernel, logs: FloatArray, workers: int | None
) -> list[WorstPair]:
    """Return the worst pair of every tile."""
    constants = _make_constants(space, kernel)

    def visit(rows: slice, columns: slice, distances: FloatArray) -> WorstPair:
        bound, i, j = _find_worst_pair(distances, logs, rows.start, columns.start, *constants)
        return _arrange_pair(bound, rows.start + i, columns.start + j, float(distances[i, j]), logs)

    return space.map_tiles(visit, workers)


def _make_constants(space: Space, kernel: ExponentialKernel) -> tuple[float, float, float, float]:
    """Return scale, cutoff, the bound on rounding in nats and that on the error of a distance, as the loops take them.

    A loss beyond all floats is infinite, and so must not come of an infinity minus another.
    """
    return kernel.scale, kernel.cutoff, bound_rounding(space, kernel), space.distance_error


def _arrange_pair(bound: float, point: int, other: int, distance: float, logs: FloatArray) -> WorstPair:
    """Return the pair of two points; ln Z(w') - ln Z(w) is positive one way round."""
    w, v = sorted((point, other), key=lambda number: logs[number])
    return WorstPair(bound, w, v, distance)


def bound_pair_epsilons(
    space: Space, kernel: ExponentialKernel, distances: FloatArray, log_ratios: FloatArray
) -> FloatArray:
    """Return (k,) bounds on loss / distance of k pairs, from d(w, w') and |ln Z(w') - ln Z(w)|.

    (At entries near the floor of a table a ratio of entries is a mediant of FLOOR / (FLOOR - 1) and
    the ratio of the law, and so no larger than both.)
    """
    with np.errstate(over="ignore"):  # a loss beyond all floats is infinite, as in the compiled loop
        losses = kernel.scale * np.minimum(distances, kernel.cutoff) + log_ratios + bound_rounding(space, kernel)
        bounds: FloatArray = (
            ROUNDING_FACTOR
            * np.maximum(losses, _MIN_LOSS)
            / np.maximum(distances - space.distance_error, _MIN_DISTANCE)
        )
    return bounds


def bound_rounding(space: Space, kernel: ExponentialKernel) -> float:
    """Return a bound, in nats, on what float64 can add to the exact loss of two inputs.

    With e the error of a distance and u = 2^-53, a score errs by at most s e + 4 u 745 (beyond
    745 nats an exponential is 0, less than a unit of the table, and `ROUNDING_FACTOR` covers the loss of a pair),
    a sum of n positive terms by (n + 8) u more. A sampled probability holds a score and a sum; a
    loss compares two of them; the formula adds one score and two sums: 7 scores and sums in all.
    The residue of a table, n units for the rounding and n u of relative error, goes to its largest
    entry, which is at least 1 / n. An input of weight 0 may have nothing but scores that underflow: no bound then.
    """
    if (
        kernel.weights is not None
        and not kernel.weights.all()
        and kernel.scale * min(space.diameter, kernel.cutoff) > _UNDERFLOW_SAFE_NATS
    ):
        return math.inf
    count, unit = space.point_count, 2.0**-53
    sums = (count + 16) * unit
    residue = count * (count / TABLE_TOTAL + 2 * (math.log2(count) + 16) * unit)
    return 7 * (kernel.scale * space.distance_error + 4 * 745 * unit + sums) + residue


@compile_loop
def _bound_loss(  # pragma: no cover - compiled
    d: float, log_ratio: float, scale: float, cutoff: float, slack: float, distance_error: float
) -> float:
    """Return `bound_pair_epsilons` of one pair."""
    loss = scale * min(d, cutoff) + log_ratio + slack
    return ROUNDING_FACTOR * max(loss, _MIN_LOSS) / max(d - distance_error, _MIN_DISTANCE)


@functools.partial(compile_loop, relaxed=True)
def _find_worst_pair(  # pragma: no cover - compiled
    distances: FloatArray,
    logs: FloatArray,
    first: int,
    column: int,
    scale: float,
    cutoff: float,
    slack: float,
    distance_error: float,
) -> tuple[float, int, int]:
    """Return the largest of `bound_pair_epsilons` in a tile, and its place."""
    best, place, column_place = -1.0, 0, 0
    column_logs = logs[column : column + distances.shape[1]]
    for i in range(distances.shape[0]):
        # No maximum and no quotient: those of doubles take most of the time.
        row, log_normaliser = distances[i], logs[first + i]
        threshold, hits = best * (1 - 2.0**-40), 0
        for j in range(row.size):
            loss = scale * min(row[j], cutoff) + abs(column_logs[j] - log_normaliser) + slack
            is_candidate = max(loss, _MIN_LOSS) >= threshold * max(row[j] - distance_error, _MIN_DISTANCE)
            hits += 1 if is_candidate else 0
        if hits > 0:
            for j in range(row.size):
                log_ratio = abs(column_logs[j] - log_normaliser)
                bound = _bound_loss(row[j], log_ratio, scale, cutoff, slack, distance_error)
                if column + j != first + i and bound > best:
                    best, place, column_place = bound, i, j
    return best, place, column_place


@compile_loop
def _compute_thresholds(  # pragma: no cover - compiled
    best: float, unit: float, single_error: float, scale: float, cutoff: float, slack: float, distance_error: float
) -> tuple[float, float, float, float, float]:
    """Return what the tests for candidates take, at B = ``best``: on the safe side, and within what float32 holds.

    A loss below `_MIN_LOSS` counts as it, so that pairs nearer than it over B, and the error, are candidates too.

    Returns:
        (B - s)^2 and B^2, in the units of the bounds on squares, or 0 where nothing can be said; c; c + s gamma; and
        the least number that is squared on the right of the first test.
    """
    bound = best / ROUNDING_FACTOR
    excess = max(bound - scale, 0.0)
    shrink, grow = unit * (1.0 - SINGLE_ROUNDING), 1.0 + SINGLE_ROUNDING
    margin = max((slack + 2.0 * bound * distance_error + single_error) * grow, _MIN_SINGLE)
    far_margin = (margin + _MIN_LOSS + scale * cutoff) * grow
    near = excess * (_MIN_LOSS / max(bound, _MIN_DISTANCE) + 2.0 * distance_error) * grow
    steepness = min(excess * shrink, _MAX_SINGLE) ** 2
    if excess * shrink < 1 / _MAX_SINGLE or not max(margin, near) < _MAX_SINGLE:
        steepness, margin, near = 0.0, 1.0, 1.0
    far_steepness = min(bound * shrink, _MAX_SINGLE) ** 2
    if bound * shrink < 1 / _MAX_SINGLE or not far_margin < _MAX_SINGLE:
        far_steepness, far_margin = 0.0, 1.0
    return steepness, far_steepness, margin, far_margin, near


@functools.partial(compile_loop, relaxed=True)
def _find_worst_candidate(  # pragma: no cover - compiled
    lower_bounds: SingleArray,
    points: FloatArray,
    logs: FloatArray,
    single_logs: SingleArray,
    first: int,
    column: int,
    floor: float,
    unit: float,
    single_error: float,
    scale: float,
    cutoff: float,
    slack: float,
    distance_error: float,
) -> tuple[float, int, int, float]:
    """Return the largest of `bound_pair_epsilons` in a tile if it exceeds ``floor``, with its points and distance.

    The points are -1 where none does.
    """
    best, point, other, distance = floor, -1, -1, 0.0
    column_logs = single_logs[column : column + lower_bounds.shape[1]]
    is_stale = True
    for i in range(lower_bounds.shape[0]):
        if is_stale:
            numbers = _compute_thresholds(best, unit, single_error, scale, cutoff, slack, distance_error)
            steepness, far_steepness = np.float32(numbers[0]), np.float32(numbers[1])
            margin, far_margin, near = np.float32(numbers[2]), np.float32(numbers[3]), np.float32(numbers[4])
            is_stale = False
        squares, log_normaliser = lower_bounds[i], single_logs[first + i]
        hits = np.int32(0)  # a branch of equal arms, as it stands, is what becomes vector instructions
        for j in range(squares.size):
            apart = abs(column_logs[j] - log_normaliser)
            right, far_right = max(apart + margin, near), apart + far_margin
            is_candidate = (
                steepness * squares[j] <= right * right and far_steepness * squares[j] <= far_right * far_right
            )
            hits += np.int32(1) if is_candidate else np.int32(0)
        if hits == 0 or best == np.inf:
            continue
        for j in range(squares.size):
            apart = abs(column_logs[j] - log_normaliser)
            right, far_right = max(apart + margin, near), apart + far_margin
            is_candidate = (
                steepness * squares[j] <= right * right and far_steepness * squares[j] <= far_right * far_right
            )
            if not is_candidate or column + j == first + i:
                continue
            d = measure_euclidean(points[first + i], points[column + j])
            log_ratio = abs(logs[column + j] - logs[first + i])
            bound = _bound_loss(d, log_ratio, scale, cutoff, slack, distance_error)
            if bound > best:
                best, point, other, distance, is_stale = bound, first + i, column + j, d, True
    return best, point, other, distance
