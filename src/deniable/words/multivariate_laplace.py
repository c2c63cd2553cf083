"""The multivariate Laplace mechanism, "Madlib" (Feyisetan et al. 2020; Carvalho et al. 2021, Algorithm 1)."""

import functools

import numpy as np
import numpy.typing as npt
from randomgen import AESCounter

from deniable.core.arrays import FloatArray
from deniable.core.guarantees import MetricDP
from deniable.core.parallel import parallel_map
from deniable.space.space import PointNumbers, Space
from deniable.words.laws import SimulatedLaw, Simulation
from deniable.words.laws.law import derive_law_name, format_fingerprint
from deniable.words.mechanism import WordMechanism, check_euclidean

BLOCK_TOKENS, BLOCK_COLUMNS = 256, 4096
"""Shape of one product: noisy vectors by points, so that a tile of scores stays in cache."""
_VECTORS_PER_THREAD = 8 * BLOCK_TOKENS
"""Noisy vectors that one thread searches at a time."""


class MultivariateLaplace(WordMechanism):
    """Adds noise to the word's vector and returns the nearest word.

    Algorithm 1 of Carvalho et al. 2021, for the input word w in R^m:

    1. phi = vector of w
    2. phi' = phi + N, density of N proportional to exp(-epsilon |z|): a direction uniform on the
       unit *sphere* times a radius from Gamma(shape m, scale 1 / epsilon)
    3. return the word nearest to phi'

    (Xu et al. 2021 write "unit ball" in step 2: that is not metric DP.) The nearest
    word is exact: products in float32 propose it, and wherever their rounding could matter the
    search is repeated in float64. No closed form of the law is known.

    Args:
        space: a Euclidean space.
        epsilon: privacy parameter per unit of distance, > 0.
    """

    name = "multivariate-laplace"

    def __init__(self, space: Space, *, epsilon: float) -> None:
        super().__init__(space, epsilon=epsilon)
        check_euclidean(self)

    @property
    def guarantee(self) -> MetricDP:
        """Theorem 1 of Carvalho et al. 2021; the nearest-word step is post-processing.

        It is about real numbers. The noise drawn here has the precision of float64, and its radius an end: at shape 1
        numpy's gamma draws never exceed 44.4, so that words farther apart than 44.4 / epsilon lose without bound.
        """
        source = "Carvalho et al. 2021, Theorem 1; the noise is drawn in floating point"
        return MetricDP(self.epsilon, self.space.metric_name, source, status="proved for ideal arithmetic")

    def build_law(self) -> SimulatedLaw:
        """Return the law of the algorithm above, of which no probabilities are known."""
        return SimulatedLaw(self.space, NearestNoisyPoint(self.space, self.epsilon))


class NearestNoisyPoint(Simulation):
    """Steps 1 to 3: adds noise to the point of the input and finds the nearest point.

    Args:
        space: a Euclidean space.
        epsilon: of the noise.
    """

    def __init__(self, space: Space, epsilon: float) -> None:
        self.space, self._epsilon = space, epsilon

    @property
    def fingerprint(self) -> str:
        """Names epsilon and the space."""
        return derive_law_name(format_fingerprint(MultivariateLaplace.name, {"epsilon": self._epsilon}, self.space))

    def draw_chunk(self, points: PointNumbers, generator: AESCounter) -> FloatArray:
        """Return the noisy vectors (k, m) of consecutive tokens of one record."""
        vectors = self.space.points[points]
        return vectors + sample_spherical_laplace(np.random.Generator(generator), vectors.shape, self._epsilon)

    def resolve(self, noisy: FloatArray, workers: int | None) -> PointNumbers:
        """Return the nearest points (k,) of noisy vectors (k, m)."""
        starts = range(0, len(noisy), _VECTORS_PER_THREAD)
        return np.concatenate(
            parallel_map(lambda at: self._find_nearest(noisy[at : at + _VECTORS_PER_THREAD]), starts, workers)
        )

    @functools.cached_property
    def _centred_points(self) -> tuple[FloatArray, npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Mean of the points (m,); the points around it as float32 (m, n); half their squares (n,)."""
        mean = self.space.points.mean(axis=0)
        centred = self.space.points - mean
        halves = 0.5 * np.einsum("nd,nd->n", centred, centred)
        return mean, np.ascontiguousarray(centred.T, dtype=np.float32), halves.astype(np.float32)

    # A tiny epsilon makes float32 overflow; those words are searched in float64.
    @np.errstate(over="ignore", invalid="ignore")
    def _find_nearest(self, noisy: FloatArray) -> PointNumbers:
        """Return (k,) the point nearest to each vector (k, m): argmax of x.y - |y|^2 / 2, centred."""
        mean, transposed, bias = self._centred_points
        out = np.empty(len(noisy), dtype=np.int32)
        for start in range(0, len(noisy), BLOCK_TOKENS):
            x = noisy[start : start + BLOCK_TOKENS] - mean
            x32 = x.astype(np.float32)
            rows = np.arange(len(x))
            best, second = np.full((2, len(x)), -np.inf, dtype=np.float32)
            winner = np.zeros(len(x), dtype=np.int32)
            for column in range(0, len(bias), BLOCK_COLUMNS):
                scores = x32 @ transposed[:, column : column + BLOCK_COLUMNS]  # (k, COLUMNS)
                scores -= bias[column : column + BLOCK_COLUMNS]
                first = scores.argmax(axis=1)
                top = scores[rows, first]
                scores[rows, first] = -np.inf
                second = np.maximum(np.maximum(second, scores.max(axis=1)), np.minimum(best, top))
                winner = np.where(top > best, first + column, winner).astype(np.int32)
                best = np.maximum(best, top)
            uncertain = np.flatnonzero(~(best - second > self._bound_score_rounding(x)))
            for row in uncertain:
                offsets = self.space.points - noisy[start + row]
                winner[row] = np.argmin(np.einsum("nd,nd->n", offsets, offsets))
            out[start : start + BLOCK_TOKENS] = winner
        return out

    def _bound_score_rounding(self, x: FloatArray) -> FloatArray:
        """Return (k,) a bound on the rounding in the difference of two float32 scores.

        A float32 sum of m products errs by at most (m + 2) u sum|x_i y_i| with u = 2^-24, the
        rounded inputs and the bias add 4 u; twice that for two scores, doubled once for safety.
        """
        reach = np.sqrt(2.0 * float(self._centred_points[2].max()))
        bound: FloatArray = (x.shape[1] + 6) * 2.0**-24 * (np.linalg.norm(x, axis=1) * reach + reach**2 / 2)
        bound *= 4
        return bound


def sample_spherical_laplace(generator: np.random.Generator, shape: tuple[int, ...], epsilon: float) -> FloatArray:
    """Return (k, m) noise with density proportional to exp(-epsilon |z|) in R^m."""
    count, dimensions = shape
    direction = generator.standard_normal((count, dimensions))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    radius = generator.gamma(dimensions, 1 / epsilon, size=count)
    direction *= radius[:, None]
    return direction
