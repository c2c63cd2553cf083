"""Any law that is known row by row: draws come from its integer tables, which are what is verified.

The exact epsilon of any law that is known as a matrix: every pair of inputs, every output.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.cache import load_or_compute_array, load_or_compute_facts
from deniable.core.errors import InputError
from deniable.core.parallel import Result, compile_loop, parallel_map
from deniable.core.randomness import Streams
from deniable.space.space import PointNumbers, Space
from deniable.words.laws.law import (
    ExactEpsilon,
    IntegerTable,
    Law,
    PointIndices,
    RowFunction,
    WordShares,
    get_part_fingerprint,
)
from deniable.words.laws.tables import (
    LOGARITHM_ERROR,
    TABLE_TOTAL,
    compute_row_outcomes,
    compute_table_entries,
    sample_from_tables,
)

MAX_MATRIX_INPUTS = 3_000
"""Inputs up to which all pairs and outputs are compared: n^3 comparisons, seconds at 3,000."""
_TILE_SIZE = 32
_CHUNK = 512
_LOG_ZERO = -1e9
"""Stands for ln 0: a difference of more than half of it is infinite, one of two zeros is 0."""
_DISTANCE_FLOOR = 1e-300


def find_worst_triple(
    upper: FloatArray, lower: FloatArray, distances: FloatArray, *, slack: float = 0.0, workers: int | None = None
) -> tuple[float, int, int, int]:
    """Return the largest loss / distance and where it is found: (epsilon, input, other, output).

    Args:
        upper: (k, n) P(y|w) of k inputs, or upper bounds on it.
        lower: (k, n) the same, or lower bounds on it.
        distances: (k, k) between the inputs.
        slack: nats added to every loss, for rounding; negative for a lower bound. Inputs at distance 0
            must have no loss beyond it.
        workers: threads.
    """
    log_upper, log_lower = _compute_clipped_logs(upper), _compute_clipped_logs(lower)
    starts = range(0, len(log_upper), _TILE_SIZE)

    def search_strip(start: int) -> tuple[float, int, int]:
        best_pair = (-math.inf, 0, 0)
        for column in starts:
            rows, columns = slice(start, start + _TILE_SIZE), slice(column, column + _TILE_SIZE)
            losses = _compute_max_log_ratios(log_upper[rows], log_lower[columns]) + slack
            losses[losses > -_LOG_ZERO / 2] = np.inf
            apart = distances[rows, columns]
            with np.errstate(divide="ignore", invalid="ignore"):
                ratios = np.where(apart > 0, losses / apart, np.where(losses > 2 * abs(slack), np.inf, -np.inf))
            if start == column:
                np.fill_diagonal(ratios, -np.inf)  # an input and itself are no pair
            i, j = np.unravel_index(np.argmax(ratios), ratios.shape)
            best_pair = max(best_pair, (float(ratios[i, j]), start + int(i), column + int(j)))
        return best_pair

    epsilon, first, other = max(parallel_map(search_strip, starts, workers))
    gains = np.where(log_upper[first] > _LOG_ZERO, log_upper[first] - log_lower[other], -np.inf)
    return max(epsilon, 0.0), first, other, int(np.argmax(gains))


def _compute_clipped_logs(probabilities: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(probabilities), _LOG_ZERO)


@functools.partial(compile_loop, relaxed=True)
def _compute_max_log_ratios(log_upper: FloatArray, log_lower: FloatArray) -> FloatArray:  # pragma: no cover - compiled
    """Return (a, b): the largest log_upper[i, y] - log_lower[j, y] over all y."""
    maxima = np.full((log_upper.shape[0], log_lower.shape[0]), -np.inf)
    for start in range(0, log_upper.shape[1], _CHUNK):
        end = min(start + _CHUNK, log_upper.shape[1])
        for i in range(log_upper.shape[0]):
            for j in range(log_lower.shape[0]):
                maximum = maxima[i, j]
                for y in range(start, end):
                    maximum = max(maximum, log_upper[i, y] - log_lower[j, y])
                maxima[i, j] = maximum
    return maxima


def get_distance_error(space: Space) -> float:
    """Return a bound on the rounding of a distance; 0 under a metric of the user's own, which is taken as exact."""
    return space.distance_error if space.metric.is_builtin else 0.0


def compare_laws(
    space: Space,
    inputs: PointIndices,
    distances: FloatArray,
    upper: FloatArray,
    lower: FloatArray,
    *,
    slack: float,
    workers: int | None = None,
) -> ExactEpsilon:
    """What the laws of k inputs spend, over all pairs of them and all outputs.

    Args:
        space: whose metric the distances are of.
        inputs: (k,) the numbers of the inputs in the finding.
        distances: (k, k) between them.
        upper: (k, n) upper bounds on their probabilities.
        lower: (k, n) lower bounds.
        slack: nats that the loss of a pair may err by.
        workers: threads.
    """
    distance_error = get_distance_error(space)
    distances_low = np.where(distances > 0, np.maximum(distances - distance_error, _DISTANCE_FLOOR), 0.0)
    distances_high = np.where(distances > 0, distances + distance_error, 0.0)
    epsilon, *_ = find_worst_triple(upper, lower, distances_low, slack=slack, workers=workers)
    lower_bound, first, other, output = find_worst_triple(lower, upper, distances_high, slack=-slack, workers=workers)
    with np.errstate(divide="ignore"):
        loss = float(np.log(lower[first, output]) - np.log(upper[other, output]))
    w, v = int(inputs[first]), int(inputs[other])
    return ExactEpsilon(epsilon, max(lower_bound, 0.0), w, v, output, float(distances[first, other]), loss)


MAX_EXACT_POINTS = 10_000
"""Points up to which divergences are computed for every pair: 2 n^3 operations an order."""
_BLOCK_ROWS = 256
_SUM_ROUNDING = 1e-9
"""Relative error allowed for in a sum of powers; it is in fact below n 2^-53 + 40 alpha 2^-53."""
_WITNESS_COUNT = 8
"""Worst pairs, and as many nearest ones, that are compared at all outputs where others are at one alone."""


class TabulatedLaw(Law):
    """A law given by exact rows; see `deniable.words.laws.law.Law` for its methods.

    Args:
        space: the domain, of n points.
        compute_rows: function of input points (k,) and their distances (k, n) that returns their probabilities
            (k, n). An object of this package may have a ``fingerprint``; any other law is not named, cached or keyed.
    """

    is_tabulated = True
    has_rows = True

    def __init__(self, space: Space, compute_rows: RowFunction) -> None:
        super().__init__(space)
        self._compute_rows = compute_rows

    @property
    def fingerprint(self) -> str | None:
        """That of the rows."""
        return get_part_fingerprint(self.space, self._compute_rows)

    def rows(self, points: PointIndices) -> FloatArray:
        """The probabilities (k, n) of k input points."""
        points = np.asarray(points)
        return self._compute_checked_rows(points, self.space.distances(points))

    def _compute_checked_rows(self, points: PointIndices, distances: FloatArray) -> FloatArray:
        """The probabilities (k, n), in the shape and type that draws and proofs read.

        Raises:
            InputError: the law gives something else.
        """
        rows = np.asarray(self._compute_rows(points, distances))
        if rows.shape != distances.shape or rows.dtype.kind not in "biuf":
            raise InputError(
                "The law of a mechanism must give a row of numbers for each input point, an array of shape "
                f"{distances.shape}. Got {rows.dtype} of shape {rows.shape}."
            )
        return np.ascontiguousarray(rows, dtype=np.float64)

    def map_rows(
        self, visit: Callable[[int, FloatArray], Result], points: PointIndices, workers: int | None = None
    ) -> list[Result]:
        """``visit(first, rows)`` for blocks of the rows of many points (N,)."""
        points = np.asarray(points)

        def visit_block(first: int, distances: FloatArray) -> Result:
            return visit(first, self._compute_checked_rows(points[first : first + len(distances)], distances))

        return self.space.map_row_blocks(visit_block, points, workers)

    def tables(self, points: PointIndices) -> IntegerTable:
        """The entries (k, n) of the integer tables, which sum to 2^62."""
        return compute_table_entries(self.rows(points))

    def sample(self, points: PointNumbers, streams: Streams, workers: int | None = None) -> PointNumbers:
        """One output point for each input point (N,)."""
        return sample_from_tables(self, points, streams.bits(), workers)

    def exact_epsilon(self, workers: int | None = None) -> ExactEpsilon:
        """What the tables spend: over all outputs up to 3,000 points, beyond them what a search finds."""
        count = self.space.point_count
        pairs = f"all {count * (count - 1):,} pairs"
        if count > MAX_MATRIX_INPUTS:
            rest = "and the worst and the nearest of them at all outputs, by integer tables"
            method = f"{pairs} at the output y = w, {rest}"
            return dataclasses.replace(
                find_witness(self, self._list_suspects(workers)), method=method, is_exhaustive=False
            )

        def compare_tables() -> FloatArray:
            inputs = np.arange(count)
            entries, distances = self.tables(inputs).astype(float), self.space.distances(inputs)
            found = compare_laws(
                self.space, inputs, distances, entries, entries, slack=LOGARITHM_ERROR, workers=workers
            )
            return np.array(dataclasses.astuple(found)[:7])

        # Kept: n^3 comparisons take seconds.
        name = f"outputs-{count}-{self.fingerprint}"
        numbers = load_or_compute_array(name, (7,), compare_tables) if self.fingerprint else compare_tables()
        epsilon, lower_bound, w, other, output, distance, loss = numbers.tolist()
        method = f"exact over {pairs} and all outputs of the integer tables"
        return ExactEpsilon(epsilon, lower_bound, int(w), int(other), int(output), distance, loss, method)

    def _list_suspects(self, workers: int | None) -> list[tuple[int, int]]:
        """The pairs that lose most per unit of distance at the output y = w, where most laws do, and the nearest pairs.

        Where rounding is most of a loss, near pairs lose most, and not at y = w.
        """
        points, error = np.arange(self.space.point_count), get_distance_error(self.space)

        def list_own_entries(first: int, rows: FloatArray) -> FloatArray:
            return np.diagonal(compute_table_entries(rows), offset=first).astype(np.float64)

        own_logs = np.log(np.concatenate(self.map_rows(list_own_entries, points, workers)))

        def compare_block(first: int, distances: FloatArray) -> FloatArray:
            block = first + np.arange(len(distances))
            separations = distances.copy()
            separations[block - first, block] = np.inf
            tables = compute_table_entries(self._compute_checked_rows(block, distances))
            ratios = (own_logs - np.log(tables)) / (separations + error)
            return np.stack([ratios.argmax(1), ratios.max(1), separations.argmin(1), separations.min(1)])

        found = np.concatenate(self.space.map_row_blocks(compare_block, points, workers), axis=1)
        worst, nearest = np.argsort(-found[1])[:_WITNESS_COUNT], np.argsort(found[3])[:_WITNESS_COUNT]
        return [(int(found[0, w]), int(w)) for w in worst] + [(int(found[2, w]), int(w)) for w in nearest]

    def outcomes(self, prior: FloatArray, workers: int | None = None) -> WordShares:
        """How often each word is released unchanged, and how often it is guessed."""
        return compute_row_outcomes(self, prior, workers)

    def renyi(self, order: float, workers: int | None = None) -> float | None:
        """The largest D_order of any two tables, up to 10,000 points."""
        return compute_exact_divergence(self, order, workers) if self.space.point_count <= MAX_EXACT_POINTS else None


def find_witness(law: Law, pairs: Iterable[tuple[int, int]]) -> ExactEpsilon:
    """The pair that loses most per unit of distance by its integer tables, at any output; without an upper bound."""

    def compare(pair: tuple[int, int]) -> ExactEpsilon:
        distance = float(law.space.distances([pair[0]])[0, pair[1]])
        tables = law.tables(np.array(pair))
        gains = tables - tables[::-1]
        losses = np.log1p(np.maximum(gains, 0) / tables[::-1])
        side, output = divmod(int(losses.argmax()), losses.shape[1])
        if losses[side, pair[side]] >= losses[side, output] - LOGARITHM_ERROR:  # y = w, where it says most
            output = pair[side]
        loss = float(losses[side, output])
        bound = max(loss - LOGARITHM_ERROR, 0.0) / (distance + get_distance_error(law.space)) * (1 - 2.0**-49)
        return ExactEpsilon(math.inf, bound, pair[side], pair[1 - side], output, distance, loss)

    return max(map(compare, pairs), key=lambda found: found.lower_bound)


def compute_exact_divergence(law: Law, alpha: float, workers: int | None = None) -> float:
    """The largest D_alpha of any two inputs, of the integer tables of a law; alpha is above 1."""

    def compute() -> dict[str, float]:
        count = law.space.point_count
        powers, probabilities = np.empty((2, count, count))

        def fill(first: int, rows: FloatArray) -> None:
            block = compute_table_entries(rows) / TABLE_TOTAL
            probabilities[first : first + len(block)] = block
            powers[first : first + len(block)] = block ** (1 - alpha)

        law.map_rows(fill, np.arange(count), workers)

        def find_block_maximum(first: int) -> float:
            return float((probabilities[first : first + _BLOCK_ROWS] ** alpha @ powers.T).max())

        return {"sum": max(parallel_map(find_block_maximum, range(0, count, _BLOCK_ROWS), workers))}

    name = f"renyi-{law.fingerprint}-{alpha!r}"
    facts = load_or_compute_facts(name, ("sum",), compute) if law.fingerprint else compute()
    return math.log(facts["sum"] * (1 + _SUM_ROUNDING)) / (alpha - 1)
