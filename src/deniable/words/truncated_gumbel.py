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

from deniable.cache import remember_array
from deniable.errors import InputError
from deniable.guarantees import MetricDP
from deniable.parallel import compiled, each
from deniable.space.metrics import Array
from deniable.space.space import Points, Space
from deniable.words.mechanism import WordMechanism
from deniable.words.truncated_gumbel_law import TOLERANCE, bounded_row, exact_row

TABULATED = 3_000
"""Points up to which the law is computed for every input, which takes minutes, and drawn from as tables."""
_STEEP = 25.0
"""Delta / b, up to which the law is computed to 1e-9; beyond 30 the last bits of the noise's law are those of 1."""
_WIDTH = 64
"""Neighbours kept per word. K is Poisson(ln n), so that more are almost never asked for."""
_ONE_AT_A_TIME = threading.Lock()
"""Held where a law or neighbours are computed on all cores: threads that need them at once share what one computes."""
_TINY = 1e-300
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
    euclidean_only = True

    def __init__(self, space: Space, *, epsilon: float) -> None:
        super().__init__(space, epsilon=epsilon)
        count = len(space.points)
        if space.separation == 0:
            raise InputError(
                "TruncatedGumbel needs different words at distances above 0. Two vectors of this space differ by so "
                "little that their distance is computed as 0: leave one of the words out."
            )
        bound = least_epsilon(count, space.separation)
        if self.epsilon <= bound:
            raise InputError(
                f"The 'epsilon' parameter of TruncatedGumbel must be above (5 + 2 ln n) / Delta0 = "
                f"{bound:.4g} for these {count} words (n = {count}, Delta0 = {space.separation:.4g}). "
                f"Got {epsilon!r}: raise it, or use TEM, which takes any epsilon."
            )
        self.scale = noise_scale(self.epsilon, count, space.diameter, space.separation)
        self.tabulated = count <= TABULATED and space.diameter <= _STEEP * self.scale

    @property
    def guarantee(self) -> MetricDP:
        """Theorem 1 of the paper, whose published proof is incomplete."""
        return MetricDP(
            self.epsilon,
            "euclidean",
            "truncated Gumbel paper (Xu et al. 2021), Theorem 1; its published proof has gaps",
            standing="claimed",
        )

    def rows(self, distances: Array) -> Array:
        """Return the exact law (k, number of points), by quadrature; seconds a row for large n.

        Raises:
            NotTractable: two quadrature grids disagree by more than 1e-9.
        """
        if not self.tabulated:
            return self._integrate(distances)
        points = distances.argmin(axis=1)  # a point's distance from itself alone is 0
        found: Array = self._computed(points)[points]
        return found

    def _integrate(self, distances: Array) -> Array:
        return np.stack([exact_row(row, self._poisson, self.scale, self.space.diameter) for row in distances])

    @functools.cached_property
    def _matrix(self) -> tuple[npt.NDArray[np.bool_], Array]:
        """Which points have their row computed; the law (n, n) that is verified and drawn from, row by row."""
        count = len(self.space.points)
        return np.zeros(count, dtype=bool), np.empty((count, count))

    def _computed(self, points: npt.NDArray[np.int64]) -> Array:
        """Return the law (n, n), the rows of these points filled in.

        Raises:
            NotTractable: two quadrature grids disagree by more than 1e-9.
        """
        known, matrix = self._matrix

        def fill(point: int) -> None:
            matrix[point] = self._integrate(self.space.distances([point]))[0]

        with _ONE_AT_A_TIME:
            missing = np.unique(points[~known[points]])
            each(fill, missing.tolist())
            known[missing] = True
        return matrix

    def _whole(self) -> Array:
        """Return the law (n, n), all of its rows filled in, from the cache if it is there."""
        known, matrix = self._matrix

        def usable(rows: Array) -> bool:
            stochastic = (rows >= 0).all() and (np.abs(rows.sum(axis=1) - 1) <= TOLERANCE).all()
            return bool(stochastic and (rows[known] == matrix[known]).all())

        if not known.all():
            everything = np.arange(len(known))
            name = f"law-{super().law_fingerprint}"
            matrix[:] = remember_array(name, matrix.shape, lambda: self._computed(everything), usable)
            known[:] = True
        return matrix

    @property
    def law_fingerprint(self) -> str | None:
        """A short text that differs between laws: of the computed law itself where that is what is drawn from."""
        name = super().law_fingerprint
        if name is None or not self.tabulated:
            return name
        return f"{name}-{hashlib.blake2b(self._whole().tobytes(), digest_size=16).hexdigest()}"

    def bounded_rows(self, distances: Array) -> tuple[Array, Array]:
        """Return the law by quadrature, and an estimate of its error.

        Twice the difference of two grids, plus rounding and underflow; 1 for a word whose
        probabilities do not sum to 1.
        """
        pairs = [bounded_row(row, self._poisson, self.scale, self.space.diameter) for row in distances]
        values, errors = (np.stack(side) for side in zip(*pairs, strict=True))
        whole = (np.abs(values.sum(axis=1) - 1) <= TOLERANCE)[:, None]
        return np.where(whole, values, 0.0), np.where(whole, 2.0 * errors + _ROUNDING * values + _TINY, 1.0)

    @functools.cached_property
    def _poisson(self) -> Array:
        """P(Y = 0), P(Y = 1), ... up to where the rest is below 1e-300, at most n values."""
        count = len(self.space.points)
        masses: Array = poisson.pmf(np.arange(min(count, 1000)), math.log(count))
        return masses[: int(np.flatnonzero(masses > _TINY)[-1]) + 1]

    @functools.cached_property
    def _near(self) -> tuple[npt.NDArray[np.bool_], Points, Array]:
        """Which points have their neighbours listed; (n, width) neighbours; (n, width) distances."""
        count = len(self.space.points)
        shape = (count, min(count, _WIDTH))
        return np.zeros(count, dtype=bool), np.empty(shape, dtype=np.int32), np.empty(shape)

    def _prepare_points(self, points: Points, workers: int | None) -> None:
        """List the nearest points, the point itself first, for those not listed yet."""

        def visit(first: int, rows: Array) -> None:
            for point, row in zip(missing[first : first + len(rows)], rows, strict=True):
                _nearest(row, point, near[point], distances[point])

        # What another thread has listed may be read by it already: it is not written again.
        with _ONE_AT_A_TIME:
            listed, near, distances = self._near
            missing = np.unique(points[~listed[points]])
            self.space.sweep(visit, missing, workers)
            listed[missing] = True

    def _draw_piece(self, points: Points, generator: AESCounter) -> Points:
        """Algorithm 2 for consecutive tokens of one record."""
        count = len(self.space.points)
        _, near, distances = self._near
        ks = np.searchsorted(np.cumsum(self._poisson), _uniform(generator, len(points)), side="right")
        ks[(ks == 0) | (ks >= len(self._poisson))] = count  # what lies beyond the listed masses is n or more
        ends = np.cumsum(ks)
        uniforms = _uniform(generator, int(ends[-1]))
        out = _choose(points, near, distances, ends, uniforms, self.scale, self.space.diameter)
        for token in np.flatnonzero(ks > near.shape[1]):
            row = self.space.distances(points[[token]])[0]
            order = np.arange(count)
            if ks[token] < count:
                order = np.argsort(row, kind="stable")[: ks[token]]
            u = uniforms[ends[token] - ks[token] : ends[token]]
            noise = truncated_gumbel(u, self.scale, self.space.diameter)
            out[token] = order[np.argmin(row[order] + noise)]
        return out


def least_epsilon(count: int, separation: float) -> float:
    """Return (5 + 2 ln n) / Delta0, below which no positive scale exists (erratum a)."""
    return (5 + 2 * math.log(count)) / separation


def noise_scale(epsilon: float, count: int, diameter: float, separation: float) -> float:
    """Return b of Algorithm 2, line 1; epsilon must exceed `least_epsilon`."""
    alpha = (epsilon - 2 * (1 + math.log(count)) / separation) / 3
    lambert = float(lambertw(2 * alpha * diameter).real)
    return 2 * diameter / min(lambert, math.log(alpha * separation))


def truncated_gumbel(uniform: Array, scale: float, limit: float) -> Array:
    """Return Gumbel(0, scale) conditioned on [-limit, limit], by inversion of its distribution."""
    low, high = np.exp(-np.exp(limit / scale)), np.exp(-np.exp(-limit / scale))
    noise: Array = -scale * np.log(-np.log(low + uniform * (high - low)))
    return noise


def _uniform(generator: AESCounter, count: int) -> Array:
    """Return (count,) uniform draws from (0, 1), never an end point."""
    uniform: Array = ((generator.random_raw(count) >> np.uint64(12)) + 0.5) * 2.0**-52
    return uniform


@compiled
def _nearest(row: Array, point: int, near: Points, distances: Array) -> None:  # pragma: no cover - compiled
    """Write the nearest points in order of (distance, number), ``point`` itself first."""
    width = near.size
    near[0], distances[0] = point, 0.0
    held = 1
    for y in range(row.size):
        d = row[y]
        if y == point or (held == width and d >= distances[width - 1]):
            continue
        at = min(held, width - 1)
        while at > 1 and distances[at - 1] > d:
            near[at], distances[at] = near[at - 1], distances[at - 1]
            at -= 1
        near[at], distances[at] = y, d
        held = min(held + 1, width)


@compiled
def _choose(  # pragma: no cover - compiled
    points: Points,
    near: Points,
    distances: Array,
    ends: npt.NDArray[np.int64],
    uniforms: Array,
    scale: float,
    limit: float,
) -> Points:
    """Lines 5 to 7 of Algorithm 2 for every token whose k is at most the width of ``near``."""
    low, high = np.exp(-np.exp(limit / scale)), np.exp(-np.exp(-limit / scale))
    out = np.zeros(points.size, dtype=np.int32)
    start = 0
    for token in range(points.size):
        end = ends[token]
        if end - start <= near.shape[1]:
            best = np.inf
            for j in range(end - start):
                u = uniforms[start + j]
                noisy = distances[points[token], j] - scale * np.log(-np.log(low + u * (high - low)))
                if noisy < best:
                    best = noisy
                    out[token] = near[points[token], j]
        start = end
    return out
