"""The truncated Gumbel mechanism (Xu, Feyisetan, Aggarwal, Xu, Teissier 2021, Algorithms 1 and 2)."""

import functools
import hashlib
import math
import threading

import numpy as np
import numpy.typing as npt
from randomgen import AESCounter
from scipy.special import lambertw
from scipy.stats import poisson

from deniable.core.arrays import FloatArray
from deniable.core.cache import load_or_compute_array
from deniable.core.errors import InputError
from deniable.core.guarantees import MetricDP
from deniable.core.parallel import compile_loop, parallel_map
from deniable.published.truncated_gumbel.law import QUADRATURE_TOLERANCE, integrate_row, integrate_row_with_error
from deniable.space.space import PointNumbers, Space
from deniable.words.mechanism import WordMechanism

MAX_TABULATED_POINTS = 3_000
"""Points up to which the law is computed for every input, which takes minutes, and drawn from as tables."""
_MAX_STEEPNESS = 25.0
"""Delta / b, up to which the law is computed to 1e-9; beyond 30 the last bits of the noise's law are those of 1."""
_MAX_NEIGHBOURS = 64
"""Neighbours kept per word. K is Poisson(ln n), so that more are almost never asked for."""
_COMPUTE_LOCK = threading.Lock()
"""Held where a law or neighbours are computed on all cores: threads that need them at once share what one computes."""
_MIN_MASS = 1e-300
_ROUNDING = 1e-11


class TruncatedGumbel(WordMechanism):
    """Chooses among a random number of nearest words by noisy distance.

    With n words, Delta and Delta0 the largest and smallest distance between two of them, the
    scale is b = 2 Delta / min{W0(2 alpha Delta), ln(alpha Delta0)} with
    alpha = (epsilon - 2 (1 + ln n) / Delta0) / 3. Algorithm 2, for the input word w:

    1. k ~ TruncatedPoisson(ln n; 1, n): Y ~ Poisson(ln n), k = Y if 1 <= Y < n, else n
    2. u_1 = w, u_2, ..., u_k the k words nearest to w, at distances d_1, ..., d_k
    3. g_1, ..., g_k ~ Gumbel(0, b) conditioned on [-Delta, Delta], independent
    4. return u_j with j = argmin d_j + g_j

    b is positive only for epsilon > (5 + 2 ln n) / Delta0, a bound above the paper's. The paper's
    proof has gaps, so that the guarantee is only *claimed*. The output law is an integral over the
    winning noisy distance, computed by `probabilities`. Up to 3,000 points (and Delta <= 25 b, which
    is epsilon up to about e^50 / Delta0) draws come from integer tables of that law as computed; else
    they are simulated as above, in floating point.

    Args:
        space: a Euclidean space; Delta and Delta0 are taken exactly, over all pairs.
        epsilon: privacy parameter per unit of distance, above the bound.
    """

    name = "truncated-gumbel"
    requires_euclidean_metric = True

    def __init__(self, space: Space, *, epsilon: float) -> None:
        super().__init__(space, epsilon=epsilon)
        count = len(space.points)
        if space.separation == 0:
            raise InputError(
                "TruncatedGumbel needs different words at distances above 0. Two vectors of this space differ by so "
                "little that their distance is computed as 0: leave one of the words out."
            )
        min_epsilon = compute_min_epsilon(count, space.separation)
        if self.epsilon <= min_epsilon:
            raise InputError(
                f"The 'epsilon' parameter of TruncatedGumbel must be above (5 + 2 ln n) / Delta0 = "
                f"{min_epsilon:.4g} for these {count} words (n = {count}, Delta0 = {space.separation:.4g}). "
                f"Got {epsilon!r}: raise it, or use TEM, which takes any epsilon."
            )
        self.scale = compute_gumbel_scale(self.epsilon, count, space.diameter, space.separation)
        self.is_tabulated = count <= MAX_TABULATED_POINTS and space.diameter <= _MAX_STEEPNESS * self.scale

    @property
    def guarantee(self) -> MetricDP:
        """Theorem 1 of the paper, whose published proof is incomplete."""
        return MetricDP(
            self.epsilon,
            "euclidean",
            "truncated Gumbel paper (Xu et al. 2021), Theorem 1; its published proof has gaps",
            status="claimed",
        )

    def rows(self, distances: FloatArray) -> FloatArray:
        """Return the exact law (k, number of points), by quadrature; seconds a row for large n.

        Raises:
            NotTractable: two quadrature grids disagree by more than 1e-9.
        """
        if not self.is_tabulated:
            return self._integrate_rows(distances)
        points = distances.argmin(axis=1)  # a point's distance from itself alone is 0
        law_rows: FloatArray = self._compute_rows(points)[points]
        return law_rows

    def _integrate_rows(self, distances: FloatArray) -> FloatArray:
        return np.stack(
            [integrate_row(row, self._poisson_masses, self.scale, self.space.diameter) for row in distances]
        )

    @functools.cached_property
    def _law_matrix(self) -> tuple[npt.NDArray[np.bool_], FloatArray]:
        """Which points have their row computed; the law (n, n) that is verified and drawn from, row by row."""
        count = len(self.space.points)
        return np.zeros(count, dtype=bool), np.empty((count, count))

    def _compute_rows(self, points: npt.NDArray[np.int64]) -> FloatArray:
        """Return the law (n, n), the rows of these points filled in.

        Raises:
            NotTractable: two quadrature grids disagree by more than 1e-9.
        """
        known, matrix = self._law_matrix

        def fill(point: int) -> None:
            matrix[point] = self._integrate_rows(self.space.distances([point]))[0]

        with _COMPUTE_LOCK:
            missing = np.unique(points[~known[points]])
            parallel_map(fill, missing.tolist())
            known[missing] = True
        return matrix

    def _compute_all_rows(self) -> FloatArray:
        """Return the law (n, n), all of its rows filled in, from the cache if it is there."""
        known, matrix = self._law_matrix

        def is_usable(rows: FloatArray) -> bool:
            is_stochastic = (rows >= 0).all() and (np.abs(rows.sum(axis=1) - 1) <= QUADRATURE_TOLERANCE).all()
            return bool(is_stochastic and (rows[known] == matrix[known]).all())

        if not known.all():
            all_points = np.arange(len(known))
            name = f"law-{super().law_fingerprint}"
            matrix[:] = load_or_compute_array(name, matrix.shape, lambda: self._compute_rows(all_points), is_usable)
            known[:] = True
        return matrix

    @property
    def law_fingerprint(self) -> str | None:
        """A short text that differs between laws: of the computed law itself where that is what is drawn from."""
        name = super().law_fingerprint
        if name is None or not self.is_tabulated:
            return name
        return f"{name}-{hashlib.blake2b(self._compute_all_rows().tobytes(), digest_size=16).hexdigest()}"

    def rows_with_errors(self, distances: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the law by quadrature, and an estimate of its error.

        Twice the difference of two grids, plus rounding and underflow; 1 for a word whose
        probabilities do not sum to 1.
        """
        pairs = [
            integrate_row_with_error(row, self._poisson_masses, self.scale, self.space.diameter) for row in distances
        ]
        values, errors = (np.stack(side) for side in zip(*pairs, strict=True))
        is_distribution = (np.abs(values.sum(axis=1) - 1) <= QUADRATURE_TOLERANCE)[:, None]
        return np.where(is_distribution, values, 0.0), np.where(
            is_distribution, 2.0 * errors + _ROUNDING * values + _MIN_MASS, 1.0
        )

    @functools.cached_property
    def _poisson_masses(self) -> FloatArray:
        """P(Y = 0), P(Y = 1), ... up to where the rest is below 1e-300, at most n values."""
        count = len(self.space.points)
        masses: FloatArray = poisson.pmf(np.arange(min(count, 1000)), math.log(count))
        return masses[: int(np.flatnonzero(masses > _MIN_MASS)[-1]) + 1]

    @functools.cached_property
    def _neighbour_lists(self) -> tuple[npt.NDArray[np.bool_], PointNumbers, FloatArray]:
        """Which points have their neighbours listed; (n, width) neighbours; (n, width) distances."""
        count = len(self.space.points)
        shape = (count, min(count, _MAX_NEIGHBOURS))
        return np.zeros(count, dtype=bool), np.empty(shape, dtype=np.int32), np.empty(shape)

    def _prepare_points(self, points: PointNumbers, workers: int | None) -> None:
        """List the nearest points, the point itself first, for those not listed yet."""

        def visit(first: int, rows: FloatArray) -> None:
            for point, row in zip(missing[first : first + len(rows)], rows, strict=True):
                _find_nearest(row, point, neighbours[point], distances[point])

        # What another thread has listed may be read by it already: it is not written again.
        with _COMPUTE_LOCK:
            listed, neighbours, distances = self._neighbour_lists
            missing = np.unique(points[~listed[points]])
            self.space.map_row_blocks(visit, missing, workers)
            listed[missing] = True

    def _draw_chunk(self, points: PointNumbers, generator: AESCounter) -> PointNumbers:
        """Algorithm 2 for consecutive tokens of one record."""
        count = len(self.space.points)
        _, neighbours, distances = self._neighbour_lists
        neighbour_counts = np.searchsorted(
            np.cumsum(self._poisson_masses), _draw_uniform(generator, len(points)), side="right"
        )
        neighbour_counts[(neighbour_counts == 0) | (neighbour_counts >= len(self._poisson_masses))] = (
            count  # what lies beyond the listed masses is n or more
        )
        ends = np.cumsum(neighbour_counts)
        uniforms = _draw_uniform(generator, int(ends[-1]))
        out = _choose_noisy_nearest(points, neighbours, distances, ends, uniforms, self.scale, self.space.diameter)
        for token in np.flatnonzero(neighbour_counts > neighbours.shape[1]):
            row = self.space.distances(points[[token]])[0]
            order = np.arange(count)
            if neighbour_counts[token] < count:
                order = np.argsort(row, kind="stable")[: neighbour_counts[token]]
            u = uniforms[ends[token] - neighbour_counts[token] : ends[token]]
            noise = invert_truncated_gumbel(u, self.scale, self.space.diameter)
            out[token] = order[np.argmin(row[order] + noise)]
        return out


def compute_min_epsilon(count: int, separation: float) -> float:
    """Return (5 + 2 ln n) / Delta0, below which no positive scale exists (erratum a)."""
    return (5 + 2 * math.log(count)) / separation


def compute_gumbel_scale(epsilon: float, count: int, diameter: float, separation: float) -> float:
    """Return b of Algorithm 2, line 1; epsilon must exceed `compute_min_epsilon`."""
    alpha = (epsilon - 2 * (1 + math.log(count)) / separation) / 3
    lambert = float(lambertw(2 * alpha * diameter).real)
    return 2 * diameter / min(lambert, math.log(alpha * separation))


def invert_truncated_gumbel(uniform: FloatArray, scale: float, limit: float) -> FloatArray:
    """Return Gumbel(0, scale) conditioned on [-limit, limit], by inversion of its distribution."""
    low, high = np.exp(-np.exp(limit / scale)), np.exp(-np.exp(-limit / scale))
    noise: FloatArray = -scale * np.log(-np.log(low + uniform * (high - low)))
    return noise


def _draw_uniform(generator: AESCounter, count: int) -> FloatArray:
    """Return (count,) uniform draws from (0, 1), never an end point."""
    uniform: FloatArray = ((generator.random_raw(count) >> np.uint64(12)) + 0.5) * 2.0**-52
    return uniform


@compile_loop
def _find_nearest(
    row: FloatArray, point: int, neighbours: PointNumbers, distances: FloatArray
) -> None:  # pragma: no cover - compiled
    """Write the nearest points in order of (distance, number), ``point`` itself first."""
    width = neighbours.size
    neighbours[0], distances[0] = point, 0.0
    count = 1
    for y in range(row.size):
        d = row[y]
        if y == point or (count == width and d >= distances[width - 1]):
            continue
        at = min(count, width - 1)
        while at > 1 and distances[at - 1] > d:
            neighbours[at], distances[at] = neighbours[at - 1], distances[at - 1]
            at -= 1
        neighbours[at], distances[at] = y, d
        count = min(count + 1, width)


@compile_loop
def _choose_noisy_nearest(  # pragma: no cover - compiled
    points: PointNumbers,
    neighbours: PointNumbers,
    distances: FloatArray,
    ends: npt.NDArray[np.int64],
    uniforms: FloatArray,
    scale: float,
    limit: float,
) -> PointNumbers:
    """Lines 5 to 7 of Algorithm 2 for every token whose k is at most the width of ``neighbours``."""
    low, high = np.exp(-np.exp(limit / scale)), np.exp(-np.exp(-limit / scale))
    out = np.zeros(points.size, dtype=np.int32)
    start = 0
    for token in range(points.size):
        end = ends[token]
        if end - start <= neighbours.shape[1]:
            best = np.inf
            for j in range(end - start):
                u = uniforms[start + j]
                noisy = distances[points[token], j] - scale * np.log(-np.log(low + u * (high - low)))
                if noisy < best:
                    best = noisy
                    out[token] = neighbours[points[token], j]
        start = end
    return out
