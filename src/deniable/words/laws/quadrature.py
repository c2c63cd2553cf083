"""A law whose probabilities are integrals: computed with a bound on their error, while draws are simulated."""

import time
from collections.abc import Callable
from typing import Protocol

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.classes import WriteOnce
from deniable.core.errors import NotTractable
from deniable.core.parallel import Result, parallel_map
from deniable.core.randomness import Streams
from deniable.space.space import PointNumbers, Space
from deniable.words.laws.law import (
    ExactEpsilon,
    Finding,
    IntegerTable,
    PointIndices,
    RenyiBound,
    WordShares,
    get_part_fingerprint,
    load_or_compute_finding,
    map_computed_rows,
)
from deniable.words.laws.matrix import MAX_MATRIX_INPUTS, compare_laws
from deniable.words.laws.outcomes import compute_row_outcomes
from deniable.words.laws.simulated import Simulation, refuse_tables
from deniable.words.laws.tables import LOGARITHM_ERROR

MAX_QUADRATURE_POINTS = 3_000
"""Points up to which a law by quadrature is computed for every input."""
SUBSET_SIZE = 16
"""Inputs whose laws are compared where all of them would take too long."""


class Quadrature(Protocol):
    """Computes probabilities; an object of this package may have a ``fingerprint`` besides."""

    def __call__(self, points: PointIndices, distances: FloatArray) -> FloatArray:
        """Return the probabilities (k, n) of input points (k,) at distances (k, n).

        Raises:
            NotTractable: they cannot be integrated.
        """

    def integrate_with_errors(self, points: PointIndices, distances: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the probabilities and a bound on the error of each, both (k, n)."""


class QuadratureLaw(WriteOnce):
    """A law by quadrature, simulated in floating point; see `deniable.words.laws.law.Law` for its methods.

    Args:
        space: the domain, of n points.
        quadrature: the ideal law.
        simulation: what draws.
        search_losses: where given, finds a loss in a space of any size, without an upper bound: what is compared where
            all inputs would take too long.
    """

    is_tabulated = False
    has_rows = True

    def __init__(
        self,
        space: Space,
        quadrature: Quadrature,
        simulation: Simulation,
        search_losses: Callable[[], Finding] | None = None,
    ) -> None:
        self.space, self._quadrature, self._simulation = space, quadrature, simulation
        self._search_losses = search_losses

    @property
    def fingerprint(self) -> str | None:
        """That of the quadrature, where the simulation is this package's too."""
        if get_part_fingerprint(self.space, self._simulation) is None:
            return None
        return get_part_fingerprint(self.space, self._quadrature)

    def rows(self, points: PointIndices) -> FloatArray:
        """Return the ideal probabilities (k, n) of k input points; seconds a row for large n."""
        points = np.asarray(points)
        return self._quadrature(points, self.space.distances(points))

    def map_rows(
        self, visit: Callable[[int, FloatArray], Result], points: PointIndices, workers: int | None = None
    ) -> list[Result]:
        """Return ``visit(first, rows)`` for blocks of the rows of many points (N,)."""
        return map_computed_rows(self.space, self._quadrature, visit, points, workers)

    def tables(self, points: PointIndices) -> IntegerTable:
        """Raise `NotTractable`: there are no tables."""
        del points
        refuse_tables()

    def sample(self, points: PointNumbers, streams: Streams, workers: int | None = None) -> PointNumbers:
        """Return one output point for each input point (N,)."""
        return self._simulation.draw(points, streams, workers)

    def prepare_draws(self, workers: int | None = None) -> None:
        """Do nothing: draws keep nothing for later ones."""
        del workers

    def exact_epsilon(self, workers: int | None = None) -> ExactEpsilon:
        """Return what the ideal law spends: over all inputs up to 3,000 points, beyond them over some."""
        space, count = self.space, self.space.point_count
        is_exhaustive = count <= MAX_MATRIX_INPUTS
        inputs = np.arange(count) if is_exhaustive else np.unique(space.point_by_word[:SUBSET_SIZE]).astype(np.int64)
        name = f"outputs-{len(inputs)}-{self.fingerprint}"
        finding = (
            load_or_compute_finding(name, count, lambda: self._compare_inputs(inputs, workers))
            if self.fingerprint
            else self._compare_inputs(inputs, workers)
        )
        ideal = "of the ideal law, its estimated error in the bounds"
        if is_exhaustive:
            method = f"exact over all {count * (count - 1):,} pairs and all outputs {ideal}"
            return ExactEpsilon(finding, method, is_ideal=True)
        method = f"exact over all pairs of the {len(inputs)} most frequent of {count:,} inputs and all outputs {ideal}"
        if self._search_losses is not None:
            finding = max(finding, self._search_losses(), key=lambda one: one.lower_bound)
            method += ", and a lower bound in logarithms at some outputs of the most central inputs"
        return ExactEpsilon(finding, f"{method}; other inputs are not covered", is_exhaustive=False, is_ideal=True)

    def _compare_inputs(self, inputs: PointIndices, workers: int | None) -> Finding:
        start = time.perf_counter()
        distances = self.space.distances(inputs)
        bounded_rows = parallel_map(
            lambda i: self._quadrature.integrate_with_errors(inputs[i : i + 1], distances[i : i + 1].copy()),
            range(len(inputs)),
            workers,
        )
        values, errors = (np.concatenate(side) for side in zip(*bounded_rows, strict=True))
        return compare_laws(
            self.space,
            inputs,
            distances[:, inputs],
            values + errors,
            np.maximum(values - errors, 0.0),
            slack=LOGARITHM_ERROR,
            start=start,
            workers=workers,
        )

    def outcomes(self, prior: FloatArray, workers: int | None = None) -> WordShares:
        """Return how often each word is released unchanged, and how often it is guessed.

        Raises:
            NotTractable: computing the law for every word would take hours.
        """
        count = self.space.point_count
        if count > MAX_QUADRATURE_POINTS:
            raise NotTractable(
                f"The law of this mechanism takes too long to compute for {count:,} words. Take at most "
                f"{MAX_QUADRATURE_POINTS:,}, or another mechanism."
            )
        return compute_row_outcomes(self.space, self._quadrature, prior, workers)

    def worst_loss(self, workers: int | None = None) -> float | None:
        """Return None: the claim bounds the loss."""
        del workers
        return None

    def input_losses(self, points: PointIndices, workers: int | None = None) -> FloatArray | None:
        """Return None: the claim bounds the losses."""
        del points, workers
        return None

    def renyi(self, order: float, workers: int | None = None) -> RenyiBound | None:
        """Return None: the largest loss bounds the divergence."""
        del order, workers
        return None
