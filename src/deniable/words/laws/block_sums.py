"""Running sums of integer tables at the ends of blocks: a draw computes one block of a row in place of the whole row.

Of the table of each point w (`deniable.words.laws.tables`) are stored: the running sums at the ends of its blocks,
1 / Z, and the place and size of the residue. A draw finds its block by those sums, computes the block's entries by the
operations that the whole row is computed by, and checks that they add up to the block's sum. So the same bits give the
same output, for the law of 50,000 points from 80 MB in place of 20 GB.

All points' sums are stored, or none: which of them were computed would tell which words occurred.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray
from deniable.core.parallel import Result, compile_loop, parallel_map
from deniable.core.stored_table import StoredTable
from deniable.space.space import PointNumbers, Space
from deniable.space.vector_distances import PANEL_SIZE, EuclideanPanels, write_panel_distances
from deniable.words.laws.exponentials import write_decays
from deniable.words.laws.kernel import ExponentialKernel
from deniable.words.laws.law import IntegerTable
from deniable.words.laws.tables import TABLE_FLOOR, TABLE_TOTAL, find_first_above

_MAX_BLOCKS = 200
"""Blocks of a row: more need more memory, fewer are longer."""
_FACT_COLUMNS = 3
"""Columns behind the sums: the bits of 1 / Z, the place of the residue, and the residue."""
_TOKENS_PER_THREAD = 20_000
_GROUP_POINTS = 16
"""Points whose entries in one block are computed together, from vectors that are loaded once."""


class _LawArrays(NamedTuple):
    """What draws read of a law over n points. A tuple, which compiled loops can read.

    Attributes:
        table: see `BlockSums`.
        facts: the same memory as floats.
        panels: of the points, see `EuclideanPanels`.
        vectors: (n, d) the points.
        squares: (n,) theirs.
        weights: c (n,).
        scale: s.
        cutoff: gamma.
    """

    table: IntegerTable
    facts: FloatArray
    panels: FloatArray
    vectors: FloatArray
    squares: FloatArray
    weights: FloatArray
    scale: float
    cutoff: float


@dataclasses.dataclass(frozen=True, eq=False)
class BlockSums:
    """The sums of all points of a space, and what draws need beside them.

    Attributes:
        panels: the points.
        kernel: of the law.
        table: (n, blocks + 3) running sums at the ends of the blocks, the bits of 1 / Z, place and size of the residue.
    """

    panels: EuclideanPanels
    kernel: ExponentialKernel
    table: StoredTable

    @functools.cached_property
    def _arrays(self) -> _LawArrays:
        rows, panels, kernel = self.table.rows, self.panels, self.kernel
        return _LawArrays(
            rows,
            rows.view(np.float64),
            panels.panels,
            panels.vectors,
            panels.squares,
            np.ones(len(rows)) if kernel.weights is None else kernel.weights,
            kernel.scale,
            kernel.cutoff,
        )

    def draw(
        self,
        points: PointNumbers,
        bits: npt.NDArray[np.uint64],
        order: IntegerTable,
        out: PointNumbers,
        workers: int | None = None,
    ) -> IntegerTable:
        """Draw for all tokens, and return those whose block does not add up to what is stored.

        Args:
            points: (N,) input points of the tokens.
            bits: (N,) random 64-bit numbers, of which the upper 62 bits are used.
            order: (N,) the tokens; those of one point stand together.
            out: (N,) written to.
            workers: threads; the result does not depend on them.
        """
        law, width = self._arrays, compute_block_width(len(self.table.rows))
        map_spans = functools.partial(_map_spans, len(order), workers)
        blocks = np.concatenate(map_spans(lambda span: _find_blocks(law.table, points, bits, order[span])))
        by_block = np.argsort(blocks, kind="stable")
        order, blocks = order[by_block], blocks[by_block]

        def draw_span(span: slice) -> IntegerTable:
            is_right = _draw_tokens(law, points, bits, order[span], blocks[span], out, width)
            return order[span][~is_right]

        return np.concatenate(map_spans(draw_span))


def _map_spans(count: int, workers: int | None, visit: Callable[[slice], Result]) -> list[Result]:
    """Return what visits of spans of so many tokens return, by several threads where there are many."""
    spans = [slice(start, start + _TOKENS_PER_THREAD) for start in range(0, max(1, count), _TOKENS_PER_THREAD)]
    return [visit(spans[0])] if len(spans) == 1 else parallel_map(visit, spans, workers)


class _TileEntries(NamedTuple):
    """Table entries of r inputs: their sums (r, panels) by panel, the largest probability (r,), and its place (r,)."""

    sums: IntegerTable
    maxima: FloatArray
    places: IntegerTable


def compute_block_sums(
    space: Space, kernel: ExponentialKernel, normalisers: FloatArray, workers: int | None = None
) -> IntegerTable:
    """Return the table (n, blocks + 3) of `BlockSums`, in one pass over all pairs of points.

    Args:
        space: a Euclidean space.
        kernel: of the law.
        normalisers: Z (n,), as `ExponentialKernel.normalisers` returns them.
        workers: threads.
    """
    count = space.point_count
    inverses = 1.0 / normalisers
    weights = np.ones(count) if kernel.weights is None else kernel.weights
    width = compute_block_width(count)
    sums_by_block = np.zeros((count, -(-count // width)), dtype=np.int64)
    largest, places = np.full(count, -1.0), np.zeros(count, dtype=np.int64)

    def visit(rows: slice, columns: slice, distances: FloatArray) -> list[tuple[slice, int, _TileEntries]]:
        decay = kernel.decay(distances)
        entries = [(rows, columns.start, _TileEntries(*_sum_entries(decay, weights[columns], inverses[rows], count)))]
        if rows != columns:
            sums, maxima, at = _sum_entries_down(decay, weights[rows], inverses[columns], count)
            entries.append((columns, rows.start, _TileEntries(sums.T, maxima, at)))
        return entries

    # Tile by tile in their order, which is that of the outputs: a tie goes to the first.
    def take(entries: list[tuple[slice, int, _TileEntries]]) -> None:
        for inputs, first_output, (panel_sums, maxima, at) in entries:
            for panel, sums in enumerate(panel_sums.T):
                sums_by_block[inputs, (first_output + PANEL_SIZE * panel) // width] += sums
            is_larger = maxima > largest[inputs]
            largest[inputs] = np.where(is_larger, maxima, largest[inputs])
            places[inputs] = np.where(is_larger, first_output + at, places[inputs])

    space.fold_tiles(visit, take, workers)
    residues = TABLE_TOTAL - sums_by_block.sum(axis=1)
    sums_by_block[np.arange(count), places // width] += residues
    np.cumsum(sums_by_block, axis=1, out=sums_by_block)
    return np.column_stack([sums_by_block, inverses.view(np.int64), places, residues])


def compute_block_width(count: int) -> int:
    """Return how many of n points a block holds: whole panels, so that there are at most `_MAX_BLOCKS` blocks."""
    return PANEL_SIZE * -(-count // (PANEL_SIZE * _MAX_BLOCKS))


def count_table_columns(count: int) -> int:
    """Return how many columns the table of n points has."""
    return -(-count // compute_block_width(count)) + _FACT_COLUMNS


@compile_loop
def _sum_entries(  # pragma: no cover - compiled
    decay: FloatArray, weights: FloatArray, inverses: FloatArray, count: int
) -> tuple[IntegerTable, FloatArray, IntegerTable]:
    """Return the sums (r, panels) of the entries of rows by panel, their largest probability (r,) and its place."""
    free_mass = float(TABLE_TOTAL - TABLE_FLOOR * count)
    sums: IntegerTable = np.zeros((decay.shape[0], -(-decay.shape[1] // PANEL_SIZE)), dtype=np.int64)
    maxima, at = np.full(decay.shape[0], -1.0), np.zeros(decay.shape[0], dtype=np.int64)
    row, peaks = np.empty(PANEL_SIZE), np.empty(PANEL_SIZE)
    for i in range(decay.shape[0]):
        for panel in range(sums.shape[1]):
            start = panel * PANEL_SIZE
            values = decay[i, start : start + PANEL_SIZE]
            total = np.int64(0)
            for j in range(values.size):
                row[j] = values[j] * weights[start + j] * inverses[i]
            for j in range(values.size):
                total += TABLE_FLOOR + np.int64(free_mass * row[j])
            sums[i, panel] = total
            for j in range(values.size):
                peaks[j] = row[j]
            size = values.size
            while size > 1:  # by halves: numba does not take the maximum of scalars by vector instructions
                half = (size + 1) // 2
                for j in range(size - half):
                    peaks[j] = max(peaks[j], peaks[half + j])
                size = half
            if peaks[0] > maxima[i]:
                maxima[i] = peaks[0]
                j = 0
                while row[j] != peaks[0]:
                    j += 1
                at[i] = start + j
    return sums, maxima, at


@compile_loop
def _sum_entries_down(  # pragma: no cover - compiled
    decay: FloatArray, weights: FloatArray, inverses: FloatArray, count: int
) -> tuple[IntegerTable, FloatArray, IntegerTable]:
    """Return what `_sum_entries` does for the columns (c,) of a tile as inputs: sums (panels, c), maxima and places."""
    free_mass = float(TABLE_TOTAL - TABLE_FLOOR * count)
    size = decay.shape[1]
    sums = np.zeros((-(-decay.shape[0] // PANEL_SIZE), size), dtype=np.int64)
    maxima, at = np.full(size, -1.0), np.zeros(size, dtype=np.int64)
    for i in range(decay.shape[0]):
        values, totals, weight = decay[i], sums[i // PANEL_SIZE], weights[i]
        for j in range(size):
            value = values[j] * weight * inverses[j]
            totals[j] += TABLE_FLOOR + np.int64(free_mass * value)
            is_larger = value > maxima[j]
            maxima[j] = value if is_larger else maxima[j]
            at[j] = i if is_larger else at[j]
    return sums, maxima, at


@compile_loop
def _find_blocks(
    table: IntegerTable, points: PointNumbers, bits: npt.NDArray[np.uint64], tokens: IntegerTable
) -> npt.NDArray[np.int16]:  # pragma: no cover - compiled
    """Return the block (k,) of each of some tokens."""
    blocks, last_block = np.empty(tokens.size, dtype=np.int16), table.shape[1] - _FACT_COLUMNS - 1
    for number in range(tokens.size):
        value = np.int64(bits[tokens[number]] >> np.uint64(2))
        blocks[number] = find_first_above(table[points[tokens[number]]], 0, last_block, value)
    return blocks


@compile_loop
def _cumulate_block(  # pragma: no cover - compiled
    law: _LawArrays, inputs: IntegerTable, block: int, running: IntegerTable
) -> None:
    """Write the running sums of one block of the tables of some points.

    Args:
        law: to draw from.
        inputs: (k,) numbers of the points.
        block: number of the block.
        running: (k, points a block), written to.
    """
    table, vectors, squares = law.table, law.vectors, law.squares
    count, width, blocks = vectors.shape[0], running.shape[1], table.shape[1] - _FACT_COLUMNS
    free_mass = float(TABLE_TOTAL - TABLE_FLOOR * count)
    first, last = block * width, min((block + 1) * width, count)
    distances = np.empty((inputs.size, PANEL_SIZE))
    totals = np.zeros(inputs.size, dtype=np.int64)
    rows, row_squares = np.empty((inputs.size, vectors.shape[1])), np.empty(inputs.size)
    for i in range(inputs.size):
        row_squares[i] = squares[inputs[i]]
        for k in range(vectors.shape[1]):
            rows[i, k] = vectors[inputs[i], k]
        if block > 0:
            totals[i] = table[inputs[i], block - 1]
    for start in range(first, last, PANEL_SIZE):
        end = min(start + PANEL_SIZE, last)
        panel = law.panels[start // PANEL_SIZE]
        write_panel_distances(rows, row_squares, panel, vectors[start:end], squares[start:end], distances)
        for i in range(inputs.size):
            if start <= inputs[i] < end:
                distances[i, inputs[i] - start] = 0.0
            write_decays(distances[i], law.scale, law.cutoff)
            inverse, place = law.facts[inputs[i], blocks], table[inputs[i], blocks + 1]
            total = totals[i]
            for j in range(end - start):
                total += TABLE_FLOOR + np.int64(free_mass * (distances[i, j] * law.weights[start + j] * inverse))
                if start + j == place:
                    total += table[inputs[i], blocks + 2]
                running[i, start + j - first] = total
            totals[i] = total


@compile_loop
def _draw_tokens(  # pragma: no cover - compiled
    law: _LawArrays,
    points: PointNumbers,
    bits: npt.NDArray[np.uint64],
    tokens: IntegerTable,
    blocks: npt.NDArray[np.int16],
    out: PointNumbers,
    width: int,
) -> npt.NDArray[np.bool_]:
    """Write the outputs of some tokens, and return whether the block of each adds up to its sum.

    Args:
        law: to draw from.
        points: input points of all tokens.
        bits: of all tokens.
        tokens: (k,) those to draw for, by block and point.
        blocks: (k,) theirs.
        out: of all tokens.
        width: points a block.
    """
    is_right = np.ones(tokens.size, dtype=np.bool_)
    inputs, running = np.empty(_GROUP_POINTS, dtype=np.int64), np.empty((_GROUP_POINTS, width), dtype=np.int64)
    start = 0
    while start < tokens.size:
        # The tokens from here to `end` lie in one block, and are of few points.
        block, size, end = blocks[start], 0, start
        while end < tokens.size and blocks[end] == block:
            if size == 0 or points[tokens[end]] != inputs[size - 1]:
                if size == _GROUP_POINTS:
                    break
                inputs[size] = points[tokens[end]]
                size += 1
            end += 1
        _cumulate_block(law, inputs[:size], block, running[:size])
        last = min(width, len(law.vectors) - block * width) - 1
        i = 0
        for number in range(start, end):
            token = tokens[number]
            if points[token] != inputs[i]:
                i += 1
            value = np.int64(bits[token] >> np.uint64(2))
            out[token] = block * width + find_first_above(running[i], 0, last, value)
            is_right[number] = running[i, last] == law.table[inputs[i], block]
        start = end
    return is_right
