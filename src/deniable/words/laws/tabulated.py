"""Any law that is known row by row: draws come from its integer tables, which are what is verified."""

import time
from collections.abc import Callable

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.classes import WriteOnce
from deniable.core.errors import InputError
from deniable.core.parallel import Result
from deniable.core.randomness import Streams
from deniable.space.space import PointNumbers, Space
from deniable.words.laws.divergence import MAX_EXACT_POINTS, compute_exact_divergence
from deniable.words.laws.law import (
    ExactEpsilon,
    Finding,
    IntegerTable,
    PointIndices,
    RenyiBound,
    RowFunction,
    WordShares,
    get_part_fingerprint,
    load_or_compute_finding,
    map_computed_rows,
)
from deniable.words.laws.matrix import MAX_MATRIX_INPUTS, compare_laws
from deniable.words.laws.outcomes import compute_row_outcomes
from deniable.words.laws.own_outputs import search_own_outputs
from deniable.words.laws.tables import LOGARITHM_ERROR, compute_table_entries, sample_from_tables


class TabulatedLaw(WriteOnce):
    """A law given by exact rows; see `deniable.words.laws.law.Law` for its methods.

    Args:
        space: the domain, of n points.
        compute_rows: function of input points (k,) and their distances (k, n) that returns their probabilities
            (k, n). An object of this package may have a ``fingerprint``; any other law is not named, cached or keyed.
    """

    is_tabulated = True
    has_rows = True

    def __init__(self, space: Space, compute_rows: RowFunction) -> None:
        self.space, self._compute_rows = space, compute_rows

    @property
    def fingerprint(self) -> str | None:
        """That of the rows."""
        return get_part_fingerprint(self.space, self._compute_rows)

    def rows(self, points: PointIndices) -> FloatArray:
        """Return the probabilities (k, n) of k input points."""
        points = np.asarray(points)
        return self._compute_checked_rows(points, self.space.distances(points))

    def _compute_checked_rows(self, points: PointIndices, distances: FloatArray) -> FloatArray:
        """Return the probabilities (k, n), in the shape and type that draws and proofs read.

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
        """Return ``visit(first, rows)`` for blocks of the rows of many points (N,)."""
        return map_computed_rows(self.space, self._compute_checked_rows, visit, points, workers)

    def tables(self, points: PointIndices) -> IntegerTable:
        """Return the entries (k, n) of the integer tables, which sum to 2^62."""
        return compute_table_entries(self.rows(points))

    def sample(self, points: PointNumbers, streams: Streams, workers: int | None = None) -> PointNumbers:
        """Return one output point for each input point (N,)."""
        return sample_from_tables(self.space, self._compute_checked_rows, points, streams.bits(), workers)

    def prepare_draws(self, workers: int | None = None) -> None:
        """Do nothing: draws keep nothing for later ones."""
        del workers

    def exact_epsilon(self, workers: int | None = None) -> ExactEpsilon:
        """Return what the tables spend: over all outputs up to 3,000 points, beyond them what a search finds."""
        count = self.space.point_count
        if count > MAX_MATRIX_INPUTS:
            method = (
                f"all {count * (count - 1):,} pairs at the output y = w, and the worst and the nearest of them at all "
                "outputs, by integer tables"
            )
            finding = search_own_outputs(self.space, self._compute_checked_rows, workers)
            return ExactEpsilon(finding, method, is_exhaustive=False)
        fingerprint = self.fingerprint
        name = f"outputs-{count}-{fingerprint}"
        finding = (
            load_or_compute_finding(name, count, lambda: self._compare_tables(workers))
            if fingerprint
            else self._compare_tables(workers)
        )
        method = f"exact over all {count * (count - 1):,} pairs and all outputs of the integer tables"
        return ExactEpsilon(finding, method)

    def _compare_tables(self, workers: int | None) -> Finding:
        start = time.perf_counter()
        inputs = np.arange(self.space.point_count)
        entries = self.tables(inputs).astype(float)
        return compare_laws(
            self.space,
            inputs,
            self.space.distances(inputs),
            entries,
            entries,
            slack=LOGARITHM_ERROR,
            start=start,
            workers=workers,
        )

    def outcomes(self, prior: FloatArray, workers: int | None = None) -> WordShares:
        """Return how often each word is released unchanged, and how often it is guessed."""
        return compute_row_outcomes(self.space, self._compute_checked_rows, prior, workers)

    def worst_loss(self, workers: int | None = None) -> float | None:
        """Return None: the claim bounds the loss."""
        del workers
        return None

    def input_losses(self, points: PointIndices, workers: int | None = None) -> FloatArray | None:
        """Return None: the claim bounds the losses."""
        del points, workers
        return None

    def renyi(self, order: float, workers: int | None = None) -> RenyiBound | None:
        """Return the largest D_order of any two tables, up to 10,000 points."""
        if self.space.point_count > MAX_EXACT_POINTS:
            return None
        divergence = compute_exact_divergence(self.space, self._compute_checked_rows, order, self.fingerprint, workers)
        return RenyiBound(divergence, is_exact=True)
