"""The truncated Gumbel mechanism's law by quadrature: row by row, kept as a table, or beside draws that are simulated.

Its probabilities are integrals, with bounds on their errors.
"""

import dataclasses
import functools
import hashlib
import math
import threading
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray
from deniable.core.cache import load_or_compute_array
from deniable.core.errors import NotTractable
from deniable.core.parallel import parallel_map
from deniable.published.truncated_gumbel.quadrature import (
    QUADRATURE_TOLERANCE,
    integrate_row,
    integrate_row_with_error,
)
from deniable.space.space import Space
from deniable.words.laws.law import (
    ExactEpsilon,
    PointIndices,
    SimulatedLaw,
    Simulation,
    WordShares,
    derive_law_name,
    format_fingerprint,
    get_part_fingerprint,
)
from deniable.words.laws.tables import LOGARITHM_ERROR, compute_row_outcomes
from deniable.words.laws.tabulated import MAX_MATRIX_INPUTS, compare_laws

SUBSET_SIZE = 16
"""Inputs whose laws are compared where all of them would take too long."""
_COMPUTE_LOCK = threading.Lock()
"""Held where rows are computed on all cores: threads that need them at once share what one computes."""
_MIN_MASS = 1e-300
_ROUNDING = 1e-11


def compute_gumbel_scale(epsilon: float, count: int, diameter: float, separation: float) -> float:
    """Return b of Algorithm 2, line 1; epsilon must exceed the least that has a positive scale."""
    alpha = (epsilon - 2 * (1 + math.log(count)) / separation) / 3
    from scipy.special import lambertw

    lambert = float(lambertw(2 * alpha * diameter).real)
    return 2 * diameter / min(lambert, math.log(alpha * separation))


class GumbelQuadrature:
    """The ideal law, integrated row by row; seconds a row for large n.

    Args:
        space: a Euclidean space.
        epsilon: of the mechanism.
    """

    def __init__(self, space: Space, epsilon: float) -> None:
        self.space, self._epsilon = space, epsilon
        self._scale = compute_gumbel_scale(epsilon, space.point_count, space.diameter, space.separation)

    @property
    def fingerprint(self) -> str:
        """Names epsilon and the space."""
        return derive_law_name(format_fingerprint("truncated-gumbel", {"epsilon": self._epsilon}, self.space))

    @functools.cached_property
    def poisson_masses(self) -> FloatArray:
        """P(Y = 0), P(Y = 1), ... up to where the rest is below 1e-300, at most n values."""
        count = self.space.point_count
        from scipy.stats import poisson

        masses: FloatArray = poisson.pmf(np.arange(min(count, 1000)), math.log(count))
        return masses[: int(np.flatnonzero(masses > _MIN_MASS)[-1]) + 1]

    def __call__(self, points: PointIndices, distances: FloatArray) -> FloatArray:
        """Return the probabilities (k, n) of input points (k,) at distances (k, n).

        Raises:
            NotTractable: two quadrature grids disagree by more than 1e-9.
        """
        del points
        return np.stack(
            [integrate_row(row, self.poisson_masses, self._scale, self.space.diameter) for row in distances]
        )

    def integrate_with_errors(self, points: PointIndices, distances: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the probabilities and an estimate of the error of each, both (k, n).

        Twice the difference of two grids, plus rounding and underflow; 1 for a word whose
        probabilities do not sum to 1.
        """
        del points
        pairs = [
            integrate_row_with_error(row, self.poisson_masses, self._scale, self.space.diameter) for row in distances
        ]
        values, errors = (np.stack(side) for side in zip(*pairs, strict=True))
        is_distribution = (np.abs(values.sum(axis=1) - 1) <= QUADRATURE_TOLERANCE)[:, None]
        return np.where(is_distribution, values, 0.0), np.where(
            is_distribution, 2.0 * errors + _ROUNDING * values + _MIN_MASS, 1.0
        )


class GumbelTable:
    """The law (n, n) as computed, each row once: what is drawn from and verified.

    Args:
        quadrature: of the mechanism over a Euclidean space.
    """

    def __init__(self, quadrature: GumbelQuadrature) -> None:
        self.space, self._quadrature = quadrature.space, quadrature
        count = self.space.point_count
        self._is_known = np.zeros(count, dtype=bool)
        self._rows = np.empty((count, count))

    def __call__(self, points: PointIndices, distances: FloatArray) -> FloatArray:
        """Return the probabilities (k, n) of input points (k,).

        Raises:
            NotTractable: two quadrature grids disagree by more than 1e-9.
        """
        del distances
        self._compute_rows(points)
        return self._rows[points]

    @property
    def fingerprint(self) -> str:
        """Names epsilon, the space and the rows as computed, all of which it computes."""
        digest = hashlib.blake2b(self._load_or_compute_rows().tobytes(), digest_size=16).hexdigest()
        return f"{self._quadrature.fingerprint}-{digest}"

    def _compute_rows(self, points: PointIndices) -> FloatArray:
        """Return the law (n, n), the rows of these points filled in."""

        def fill(point: int) -> None:
            self._rows[point] = self._quadrature(np.array([point]), self.space.distances([point]))[0]

        with _COMPUTE_LOCK:
            missing = np.unique(points[~self._is_known[points]])
            parallel_map(fill, missing.tolist())
            self._is_known[missing] = True
        return self._rows

    def _load_or_compute_rows(self) -> npt.NDArray[np.float64]:
        """Return the law (n, n), all of its rows filled in, from the cache if it is there."""

        def is_usable(rows: FloatArray) -> bool:
            is_stochastic = (rows >= 0).all() and (np.abs(rows.sum(axis=1) - 1) <= QUADRATURE_TOLERANCE).all()
            return bool(is_stochastic and (rows[self._is_known] == self._rows[self._is_known]).all())

        if not self._is_known.all():
            all_points = np.arange(len(self._is_known))
            name = f"law-{self._quadrature.fingerprint}"
            self._rows[:] = load_or_compute_array(
                name, self._rows.shape, lambda: self._compute_rows(all_points), is_usable
            )
            self._is_known[:] = True
        return self._rows


class QuadratureLaw(SimulatedLaw):
    """A law by quadrature, simulated in floating point; see `deniable.words.laws.law.Law` for its methods.

    Args:
        space: the domain, of n points.
        quadrature: the ideal law.
        simulation: what draws.
        search: finds a loss, without an upper bound, where all inputs would take too long.
    """

    has_rows = True

    def __init__(
        self, space: Space, quadrature: GumbelQuadrature, simulation: Simulation, search: Callable[[], ExactEpsilon]
    ) -> None:
        super().__init__(space, simulation)
        self._quadrature, self._search_losses = quadrature, search

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
        method += ", and a lower bound in logarithms at some outputs of the most central inputs"
        method += "; other inputs are not covered"
        found = max(found, self._search_losses(), key=lambda one: one.lower_bound)
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
