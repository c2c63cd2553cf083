"""Draws from an exponential law: by whole rows, and by block sums as soon as many rows would be needed."""

import threading

import numpy as np
import numpy.typing as npt

from deniable.core.stored_table import load_table, store_table
from deniable.space.space import PointNumbers, Space
from deniable.space.vector_distances import EuclideanPanels
from deniable.words.laws.block_sums import BlockSums, compute_block_sums, count_table_columns
from deniable.words.laws.kernel import ExponentialKernel, load_or_compute_normalisers
from deniable.words.laws.law import IntegerTable, RowFunction
from deniable.words.laws.tables import group_tokens_by_point, sample_from_tables

_ROW_SHARE = 0.25
"""Share of the points whose rows a process computes before it computes the block sums of all."""


class BlockSampler:
    """Draws from the integer tables of an exponential law over a Euclidean space.

    Args:
        space: the domain.
        panels: its points.
        kernel: of the law.
        rows: the same law, row by row.
    """

    def __init__(self, space: Space, panels: EuclideanPanels, kernel: ExponentialKernel, rows: RowFunction) -> None:
        self._space, self._panels, self._kernel, self._rows = space, panels, kernel, rows
        self._lock = threading.Lock()
        self._name = f"blocks-{space.fingerprint}-{kernel.fingerprint}"
        table = load_table(self._name, (space.point_count, count_table_columns(space.point_count)))
        self._sums = None if table is None else BlockSums(panels, kernel, table)
        self._computed_rows = 0

    def prepare(self, workers: int | None = None) -> None:
        """Compute and keep the block sums of all points, which later draws then need not wait for."""

        def compute() -> IntegerTable:
            normalisers = load_or_compute_normalisers(self._space, self._kernel, workers)
            return compute_block_sums(self._space, self._kernel, normalisers, workers)

        with self._lock:
            if self._sums is None:
                self._sums = BlockSums(self._panels, self._kernel, store_table(self._name, compute))

    def sample(self, points: PointNumbers, bits: npt.NDArray[np.uint64], workers: int | None = None) -> PointNumbers:
        """Return one output point for each input point (N,), from the upper 62 of its 64 random bits (N,)."""
        if not len(points):
            return np.empty(0, dtype=np.int32)
        order = self._sort_by_point(points)
        is_first = np.diff(points[order], prepend=-1) != 0
        distinct_points = points[order[is_first]]
        if self._sums is None and self._computed_rows + len(distinct_points) > _ROW_SHARE * self._space.point_count:
            self.prepare(workers)
        out = np.empty(len(points), dtype=np.int32)
        row_tokens, sums = order, self._sums
        if sums is None:
            self._computed_rows += len(distinct_points)
        elif sums.table.is_genuine(distinct_points):
            row_tokens = sums.draw(points, bits, order, out, workers)
        else:
            self._sums = None
        if len(row_tokens):
            out[row_tokens] = sample_from_tables(self._space, self._rows, points[row_tokens], bits[row_tokens], workers)
        return out

    def _sort_by_point(self, points: PointNumbers) -> IntegerTable:
        """Return the tokens (N,) sorted by their point."""
        if len(points) > self._space.point_count:
            return group_tokens_by_point(points, self._space.point_count)[0]
        return np.argsort(points, kind="stable")
