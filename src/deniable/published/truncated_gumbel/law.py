"""The rows of the truncated Gumbel mechanism's law, by quadrature: one at a time, or all kept as a table."""

import functools
import hashlib
import math
import threading

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray
from deniable.core.cache import load_or_compute_array
from deniable.core.parallel import parallel_map
from deniable.published.truncated_gumbel.quadrature import (
    QUADRATURE_TOLERANCE,
    integrate_row,
    integrate_row_with_error,
)
from deniable.space.space import Space
from deniable.words.laws.law import PointIndices, derive_law_name, format_fingerprint

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
        scale: b of its noise.
    """

    def __init__(self, space: Space, epsilon: float, scale: float) -> None:
        self.space, self._epsilon, self._scale = space, epsilon, scale

    @property
    def fingerprint(self) -> str | None:
        """Names epsilon and the space; None for another scale than theirs, which neither of them names."""
        space = self.space
        if self._scale != compute_gumbel_scale(self._epsilon, space.point_count, space.diameter, space.separation):
            return None
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
        space: a Euclidean space.
        quadrature: of the mechanism over that space.
    """

    def __init__(self, space: Space, quadrature: GumbelQuadrature) -> None:
        count = space.point_count
        self.space, self._quadrature = space, quadrature
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
    def fingerprint(self) -> str | None:
        """Names epsilon, the space and the rows as computed, all of which it computes; None as for the quadrature."""
        if self._quadrature.fingerprint is None or self._quadrature.space is not self.space:
            return None
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
