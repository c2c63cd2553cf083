"""A law whose probabilities are integrals, with bounds on their errors, while draws are simulated in floating point."""

import dataclasses
from collections.abc import Callable
from typing import Protocol

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.errors import NotTractable
from deniable.core.parallel import parallel_map
from deniable.space.space import Space
from deniable.words.laws.law import (
    ExactEpsilon,
    PointIndices,
    SimulatedLaw,
    Simulation,
    WordShares,
    get_part_fingerprint,
)
from deniable.words.laws.tables import LOGARITHM_ERROR, compute_row_outcomes
from deniable.words.laws.tabulated import MAX_MATRIX_INPUTS, compare_laws

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


class QuadratureLaw(SimulatedLaw):
    """A law by quadrature, simulated in floating point; see `deniable.words.laws.law.Law` for its methods.

    Args:
        space: the domain, of n points.
        quadrature: the ideal law.
        simulation: what draws.
        search_losses: where given, finds a loss in a space of any size, without an upper bound: what is compared where
            all inputs would take too long.
    """

    has_rows = True

    def __init__(
        self,
        space: Space,
        quadrature: Quadrature,
        simulation: Simulation,
        search_losses: Callable[[], ExactEpsilon] | None = None,
    ) -> None:
        super().__init__(space, simulation)
        self._quadrature, self._search_losses = quadrature, search_losses

    @property
    def fingerprint(self) -> str | None:
        """That of the quadrature, where the simulation is this package's too."""
        return None if super().fingerprint is None else get_part_fingerprint(self.space, self._quadrature)

    def rows(self, points: PointIndices) -> FloatArray:
        """The ideal probabilities (k, n) of k input points; seconds a row for large n."""
        points = np.asarray(points)
        return self._quadrature(points, self.space.distances(points))

    def exact_epsilon(self, workers: int | None = None) -> ExactEpsilon:
        """What the ideal law spends: over all inputs up to 3,000 points, beyond them over some."""
        space, count = self.space, self.space.point_count
        is_exhaustive = count <= MAX_MATRIX_INPUTS
        inputs = np.arange(count) if is_exhaustive else np.unique(space.point_by_word[:SUBSET_SIZE]).astype(np.int64)
        found = self._compare_inputs(inputs, workers)
        ideal = "of the ideal law, its estimated error in the bounds"
        if is_exhaustive:
            method = f"exact over all {count * (count - 1):,} pairs and all outputs {ideal}"
            return dataclasses.replace(found, method=method, is_ideal=True)
        method = f"exact over all pairs of the {len(inputs)} most frequent of {count:,} inputs and all outputs {ideal}"
        if self._search_losses is not None:
            found = max(found, self._search_losses(), key=lambda one: one.lower_bound)
            method += ", and a lower bound in logarithms at some outputs of the most central inputs"
        method += "; other inputs are not covered"
        return dataclasses.replace(found, method=method, is_exhaustive=False, is_ideal=True)

    def _compare_inputs(self, inputs: PointIndices, workers: int | None) -> ExactEpsilon:
        distances = self.space.distances(inputs)
        bounded_rows = parallel_map(
            lambda i: self._quadrature.integrate_with_errors(inputs[i : i + 1], distances[i : i + 1].copy()),
            range(len(inputs)),
            workers,
        )
        values, errors = (np.concatenate(side) for side in zip(*bounded_rows, strict=True))
        upper, lower = values + errors, np.maximum(values - errors, 0.0)
        return compare_laws(
            self.space, inputs, distances[:, inputs], upper, lower, slack=LOGARITHM_ERROR, workers=workers
        )

    def outcomes(self, prior: FloatArray, workers: int | None = None) -> WordShares:
        """How often each word is released unchanged, and how often it is guessed.

        Raises:
            NotTractable: computing the law for every word would take hours.
        """
        count = self.space.point_count
        if count > MAX_MATRIX_INPUTS:
            raise NotTractable(
                f"The law of this mechanism takes too long to compute for {count:,} words. Take at most "
                f"{MAX_MATRIX_INPUTS:,}, or another mechanism."
            )
        return compute_row_outcomes(self, prior, workers)
