"""The nearest point of each of many vectors, exactly: 8-bit scores propose, float64 distances decide.

With x a vector and y a point, both around the mean of the points, the nearest point has the largest score
x.y - |y|^2 / 2. Both are rounded to bytes, x = (q + e) / s with a scale s for each vector, and y = (p + f) / t with a
scale t for each block of points of about one length. The product is then off by at most (Cauchy and Schwarz)::

    |x.y - q.p / (s t)|  <=  (|e| |p| + |s x| |f|) / (s t)

Every point whose score may be the largest, given this bound, is a candidate: about one in 5,000 at 50 dimensions.
Where the distances of two candidates in float64 are as close as their rounding, all points are compared in full.
"""

import dataclasses
import functools
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray
from deniable.core.parallel import compile_loop
from deniable.space.byte_products import (
    BLOCK_POINTS,
    COPIES,
    OFFSET,
    POINT_LIMIT,
    ROWS,
    SUM_LIMIT,
    VECTOR_LIMIT,
    fill_tile,
)

BATCH_VECTORS, GROUP_BLOCKS = 16 * ROWS, 8
"""Vectors and blocks of points whose scores are computed before they are looked at, so that they stay in cache."""
_PART_DIMENSIONS = 52
"""Most dimensions whose products are summed in 16 bits."""
_POINT_REACH = 192.0
"""Longest part of a point in bytes; that of a vector is SUM_LIMIT / 192 = 170."""
_STRIDE = 32
"""Sums that are looked at together."""
_HITS = 64
"""Candidates of a vector that are collected before they are compared."""
_LARGEST, _SMALLEST = 1e100, 1e-100
"""Longer or shorter vectors are compared in full: their squares may leave the range of floats."""
_ROUNDING = 2.0**-50
"""Eight times the relative rounding of float64, which is that of a sum for each of its terms."""


class PointTable(NamedTuple):
    """Points in bytes, in blocks of falling length. A tuple, which compiled loops can read.

    Attributes:
        mean: (m,) of all points.
        order: (blocks * BLOCK_POINTS,) numbers of the points; the last is repeated to fill its block.
        packed: (blocks, parts, 1 + pairs, BLOCK_POINTS, 2) bytes as `fill_tile` reads them.
        scales: (blocks,) 1 / t.
        lengths: (blocks,) largest |p| / t.
        errors: (blocks,) largest |f| / t.
        biases: (blocks,) middle of |y|^2 / 2.
        spreads: (blocks,) how far |y|^2 / 2 is from that at most.
        radius: largest |y|.
        part_length: largest |p| of a part.
        shift: the sum of a part is halved that often, so that the sum of all parts fits into 16 bits.
    """

    mean: FloatArray
    order: npt.NDArray[np.int32]
    packed: npt.NDArray[np.int8]
    scales: FloatArray
    lengths: FloatArray
    errors: FloatArray
    biases: FloatArray
    spreads: FloatArray
    radius: float
    part_length: float
    shift: int


class VectorBatch(NamedTuple):
    """Vectors in bytes.

    Attributes:
        packed: (groups, parts, pairs, ROWS, COPIES) as `fill_tile` reads them.
        scales: (k,) 1 / s.
        lengths: (k,) |s x|.
        errors: (k,) |e|.
        slacks: (k,) bound on the rounding of scores and distances in float64; minus infinity for a vector that is to be
            compared in full, so that none of the points is a candidate.
    """

    packed: npt.NDArray[np.uint8]
    scales: FloatArray
    lengths: FloatArray
    errors: FloatArray
    slacks: FloatArray


class Contest(NamedTuple):
    """What is known of each of k vectors while blocks of points pass by.

    Attributes:
        sums: (k, GROUP_BLOCKS * BLOCK_POINTS) sums of products of bytes with the last blocks of points.
        maxima: (k, GROUP_BLOCKS) their maxima in each block.
        units: (k, GROUP_BLOCKS) score of a sum of one.
        offsets: (k, GROUP_BLOCKS) what is added, so that the score is at least that of the point.
        bounds: (k,) no smaller score is the largest.
        counts: (k,) number of candidates not yet compared.
        hits: (k, _HITS) their places in the order of the points.
        values: (k, _HITS) upper bounds on their scores.
        winners: (k,) nearest of the points compared.
        squares: (2, k) its squared distance, and that of the next.
    """

    sums: npt.NDArray[np.int16]
    maxima: npt.NDArray[np.int16]
    units: FloatArray
    offsets: FloatArray
    bounds: FloatArray
    counts: npt.NDArray[np.int64]
    hits: npt.NDArray[np.int32]
    values: FloatArray
    winners: npt.NDArray[np.int32]
    squares: FloatArray


@dataclasses.dataclass(frozen=True)
class NearestPointSearch:
    """Finds the nearest of the points (n, m) in the Euclidean metric."""

    points: FloatArray

    @functools.cached_property
    def _table(self) -> PointTable:
        return build_table(self.points)

    def find_nearest(self, vectors: FloatArray) -> npt.NDArray[np.int32]:
        """Return the number (k,) of the point nearest to each vector (k, m), the first of equally near ones."""
        winners = np.empty(len(vectors), dtype=np.int32)
        batch, contest = allocate_batch(self._table), allocate_contest()
        _find_nearest(np.ascontiguousarray(vectors), self.points, self._table, batch, contest, winners)
        for row in np.flatnonzero(winners < 0):
            offsets = self.points - vectors[row]
            with np.errstate(over="ignore", invalid="ignore"):
                winners[row] = np.argmin(np.einsum("nd,nd->n", offsets, offsets))
        return winners

    def prepare(self) -> None:
        """Compute what all searches share."""
        _ = self._table


def allocate_batch(table: PointTable) -> VectorBatch:
    """Return room for BATCH_VECTORS vectors."""
    _, parts, steps = table.packed.shape[:3]
    packed = np.full((BATCH_VECTORS // ROWS, parts, steps - 1, ROWS, COPIES), OFFSET, dtype=np.uint8)
    return VectorBatch(packed, *np.zeros((4, BATCH_VECTORS)))


def allocate_contest() -> Contest:
    """Return room for the state of BATCH_VECTORS vectors."""
    return Contest(
        sums=np.empty((BATCH_VECTORS, GROUP_BLOCKS * BLOCK_POINTS), dtype=np.int16),
        maxima=np.empty((BATCH_VECTORS, GROUP_BLOCKS), dtype=np.int16),
        units=np.zeros((BATCH_VECTORS, GROUP_BLOCKS)),
        offsets=np.zeros((BATCH_VECTORS, GROUP_BLOCKS)),
        bounds=np.empty(BATCH_VECTORS),
        counts=np.empty(BATCH_VECTORS, dtype=np.int64),
        hits=np.empty((BATCH_VECTORS, _HITS), dtype=np.int32),
        values=np.empty((BATCH_VECTORS, _HITS)),
        winners=np.empty(BATCH_VECTORS, dtype=np.int32),
        squares=np.empty((2, BATCH_VECTORS)),
    )


def build_table(points: FloatArray) -> PointTable:
    """Return the bytes of points (n, m), and how far they are from the points."""
    count, dimensions = points.shape
    mean = points.mean(axis=0)
    lengths = _measure_lengths(points, mean)
    order = np.argsort(-lengths, kind="stable").astype(np.int32)
    order = np.pad(order, (0, -count % BLOCK_POINTS), mode="edge")
    halves = (0.5 * lengths**2)[order].reshape(-1, BLOCK_POINTS)
    blocks, parts = len(halves), -(-dimensions // _PART_DIMENSIONS)
    pairs = -(-dimensions // (2 * parts))
    table = PointTable(
        mean=mean,
        order=order,
        packed=np.zeros((blocks, parts, 1 + pairs, BLOCK_POINTS, 2), dtype=np.int8),
        scales=np.empty(blocks),
        lengths=np.empty(blocks),
        errors=np.empty(blocks),
        biases=(halves[:, 0] + halves[:, -1]) / 2,
        spreads=(halves[:, 0] - halves[:, -1]) / 2,
        radius=float(lengths.max()),
        part_length=0.0,
        shift=(parts - 1).bit_length(),
    )
    return table._replace(part_length=_pack_points(points, table))


@compile_loop
def _measure_lengths(points: FloatArray, mean: FloatArray) -> FloatArray:  # pragma: no cover - compiled
    """Return (n,) the distances of the points from the mean."""
    lengths = np.empty(len(points))
    for point in range(len(points)):
        total = 0.0
        for at in range(len(mean)):
            total += (points[point, at] - mean[at]) ** 2
        lengths[point] = np.sqrt(total)
    return lengths


@compile_loop
def _pack_points(points: FloatArray, table: PointTable) -> float:  # pragma: no cover - compiled
    """Write the bytes of each block with its scale, lengths and errors; return the length of the longest part."""
    dimensions = points.shape[1]
    blocks, parts, steps = table.packed.shape[:3]
    width = 2 * (steps - 1)
    centred = np.zeros((BLOCK_POINTS, parts, width))
    longest = 0.0
    for block in range(blocks):
        largest = part_square = 0.0
        for number in range(BLOCK_POINTS):
            point = table.order[block * BLOCK_POINTS + number]
            for part in range(parts):
                square = 0.0
                for at in range(min(width, dimensions - part * width)):
                    value = points[point, part * width + at] - table.mean[part * width + at]
                    centred[number, part, at] = value
                    largest = max(largest, abs(value))
                    square += value * value
                part_square = max(part_square, square)
        scale = min(POINT_LIMIT / largest, _POINT_REACH / np.sqrt(part_square), _LARGEST)
        length = error = 0.0
        for number in range(BLOCK_POINTS):
            point_square = point_error = 0.0
            for part in range(parts):
                square = total = 0.0
                for at in range(width):
                    scaled = scale * centred[number, part, at]
                    byte = np.rint(scaled)
                    table.packed[block, part, 1 + at // 2, number, at % 2] = np.int8(byte)
                    total += byte
                    square += byte * byte
                    point_error += (scaled - byte) ** 2
                longest = max(longest, square)
                point_square += square
                start = np.int64(-OFFSET * total)  # 16 bits in two bytes
                table.packed[block, part, 0, number, 0] = np.int8(start)
                table.packed[block, part, 0, number, 1] = np.int8(start >> 8)
            length, error = max(length, point_square), max(error, point_error)
        table.scales[block] = 1 / scale
        table.lengths[block] = np.sqrt(length) / scale
        table.errors[block] = np.sqrt(error) / scale
    return float(np.sqrt(longest))


@compile_loop
def pack_vectors(vectors: FloatArray, table: PointTable, batch: VectorBatch) -> None:  # pragma: no cover - compiled
    """Write the bytes of vectors (k, m); a scale is the largest at which no byte and no sum can overflow."""
    count, dimensions = vectors.shape
    _, parts, steps = table.packed.shape[:3]
    width = 2 * (steps - 1)
    longest = SUM_LIMIT / max(table.part_length, 1.0) - 0.5 * np.sqrt(width)  # rounding may add the last term
    for row in range(count):
        largest = square = part_square = 0.0
        for part in range(parts):
            total = 0.0
            for at in range(part * width, min((part + 1) * width, dimensions)):
                value = vectors[row, at] - table.mean[at]
                total += value * value
                largest = max(largest, abs(value))
            square += total
            part_square = max(part_square, total)
        reach = np.sqrt(square) + table.radius
        if not _SMALLEST < reach < _LARGEST:
            batch.slacks[row] = -np.inf
            continue
        scale = min(VECTOR_LIMIT / largest, longest / np.sqrt(part_square), _LARGEST)
        error = 0.0
        for at in range(dimensions):
            scaled = scale * (vectors[row, at] - table.mean[at])
            rounded = np.rint(scaled)
            error += (scaled - rounded) ** 2
            place = at % width
            copies = batch.packed[row // ROWS, at // width, place // 2, row % ROWS]
            copies[place % 2 :: 2] = np.uint8(rounded + OFFSET)
        batch.scales[row] = 1 / scale
        batch.lengths[row] = scale * np.sqrt(square)
        batch.errors[row] = np.sqrt(error)
        batch.slacks[row] = (dimensions + 8) * _ROUNDING * reach * reach


@compile_loop
def _raise_bounds(
    count: int, span: tuple[int, int], batch: VectorBatch, table: PointTable, contest: Contest
) -> None:  # pragma: no cover - compiled
    """Note how sums of a span of blocks turn into scores, and raise bounds to what the largest are at least."""
    first, last = span
    # Each part lost less than one unit when its sum was halved.
    halved, lost = 2.0**table.shift, float(table.packed.shape[1]) * (table.shift > 0)
    for row in range(count):
        scale, vector_error, vector_length = batch.scales[row], batch.errors[row], batch.lengths[row]
        bound, slack = contest.bounds[row], batch.slacks[row]
        for at in range(last - first):
            block = first + at
            unit = halved * scale * table.scales[block]
            product_error = scale * (vector_error * table.lengths[block] + vector_length * table.errors[block])
            error = product_error + lost * unit + table.spreads[block] + slack
            contest.units[row, at], contest.offsets[row, at] = unit, error - table.biases[block]
            bound = max(bound, unit * contest.maxima[row, at] - table.biases[block] - error)
        contest.bounds[row] = bound


@compile_loop
def _collect_candidates(
    span: tuple[int, int], rows: FloatArray, points: FloatArray, table: PointTable, contest: Contest
) -> None:  # pragma: no cover - compiled
    """Note the points of a span of blocks whose scores may reach the bounds."""
    first, last = span
    for row in range(len(rows)):
        bound = contest.bounds[row]
        for at in range(last - first):
            unit, offset = contest.units[row, at], contest.offsets[row, at]
            if unit * contest.maxima[row, at] + offset < bound:
                continue
            least = np.int16(max(min(np.floor((bound - offset) / unit), SUM_LIMIT), -SUM_LIMIT - 1))
            for start in range(at * BLOCK_POINTS, (at + 1) * BLOCK_POINTS, _STRIDE):
                if not _has_reached(contest.sums, row, start, least):
                    continue
                for column in range(start, start + _STRIDE):
                    if contest.sums[row, column] >= least:
                        if contest.counts[row] == _HITS:
                            _compare_candidates(row, rows, points, table, contest)
                        contest.hits[row, contest.counts[row]] = first * BLOCK_POINTS + column
                        contest.values[row, contest.counts[row]] = unit * contest.sums[row, column] + offset
                        contest.counts[row] += 1


@compile_loop
def _has_reached(
    sums: npt.NDArray[np.int16], row: int, start: int, least: np.int16
) -> bool:  # pragma: no cover - compiled
    """Tell whether one of _STRIDE sums is large enough."""
    reached = 0
    for column in range(start, start + _STRIDE):  # to the end, so that the loop is vectorized
        reached += sums[row, column] >= least
    return reached > 0


@compile_loop
def _compare_candidates(
    row: int, rows: FloatArray, points: FloatArray, table: PointTable, contest: Contest
) -> None:  # pragma: no cover - compiled
    """Compare the distances of the candidates noted for a vector."""
    for hit in range(contest.counts[row]):
        point = table.order[contest.hits[row, hit]]
        if contest.values[row, hit] < contest.bounds[row] or point == contest.winners[row]:
            continue
        square = _square_distance(rows[row], points[point])
        if square < contest.squares[0, row]:
            contest.squares[1, row] = contest.squares[0, row]
            contest.squares[0, row] = square
            contest.winners[row] = point
        else:
            contest.squares[1, row] = min(contest.squares[1, row], square)
    contest.counts[row] = 0


@functools.partial(compile_loop, relaxed=True)
def _square_distance(left: FloatArray, right: FloatArray) -> float:  # pragma: no cover - compiled
    total = 0.0
    for at in range(len(left)):
        total += (left[at] - right[at]) ** 2
    return total


@compile_loop
def _find_nearest(
    vectors: FloatArray,
    points: FloatArray,
    table: PointTable,
    batch: VectorBatch,
    contest: Contest,
    winners: npt.NDArray[np.int32],
) -> None:  # pragma: no cover - compiled
    """Write the number of the nearest point of each vector, and -1 where float64 cannot tell."""
    blocks = len(table.packed)
    for start in range(0, len(vectors), BATCH_VECTORS):
        rows = vectors[start : start + BATCH_VECTORS]
        pack_vectors(rows, table, batch)
        contest.bounds[:] = -np.inf
        contest.counts[:] = 0
        contest.winners[:] = -1
        contest.squares[:] = np.inf
        for first in range(0, blocks, GROUP_BLOCKS):
            span = first, min(first + GROUP_BLOCKS, blocks)
            fill_sums(len(rows), batch.packed, table, span, contest)
            _raise_bounds(len(rows), span, batch, table, contest)
            _collect_candidates(span, rows, points, table, contest)
        for row in range(len(rows)):
            _compare_candidates(row, rows, points, table, contest)
            nearest, next_nearest = contest.squares[:, row]
            is_clear = next_nearest > nearest * (1 + 2 * (rows.shape[1] + 8) * _ROUNDING)
            winners[start + row] = contest.winners[row] if is_clear else -1


@compile_loop
def fill_sums(
    count: int, packed: npt.NDArray[np.uint8], table: PointTable, span: tuple[int, int], contest: Contest
) -> None:  # pragma: no cover - compiled
    """Write the sums of products of the first vectors of a batch with a span of blocks, and their maxima in each."""
    first, last = span
    sums, maxima = contest.sums, contest.maxima
    for group in range((count + ROWS - 1) // ROWS):
        for block in range(first, last):
            fill_tile(
                sums.ctypes.data + group * ROWS * sums.strides[0] + (block - first) * BLOCK_POINTS * sums.itemsize,
                sums.shape[1],
                maxima.ctypes.data + group * ROWS * maxima.strides[0] + (block - first) * maxima.itemsize,
                maxima.shape[1],
                packed.ctypes.data + group * packed.strides[0],
                table.packed.ctypes.data + block * table.packed.strides[0],
                table.packed.shape[1],
                table.packed.shape[2] - 1,
                table.shift,
            )
