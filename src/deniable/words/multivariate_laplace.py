"""The multivariate Laplace mechanism, "Madlib" (Feyisetan et al. 2020; Carvalho et al. 2021, Algorithm 1)."""

import dataclasses
import functools

import numpy as np
from randomgen import AESCounter

from deniable.core.arrays import FloatArray
from deniable.core.guarantees import Guarantee
from deniable.space.nearest_points import NearestPointSearch
from deniable.space.space import PointNumbers, Space
from deniable.words.laws import SimulatedLaw, Simulation
from deniable.words.laws.law import derive_law_name, format_fingerprint
from deniable.words.mechanism import WordMechanism


@dataclasses.dataclass(frozen=True, repr=False)
class MultivariateLaplace(WordMechanism):
    """Adds noise to the word's vector and returns the nearest word.

    Algorithm 1 of Carvalho et al. 2021, for the input word w in R^m:

    1. phi = vector of w
    2. phi' = phi + N, density of N proportional to exp(-epsilon |z|): a direction uniform on the
       unit *sphere* times a radius from Gamma(shape m, scale 1 / epsilon)
    3. return the word nearest to phi'

    (Xu et al. 2021 write "unit ball" in step 2: that is not metric DP.) The nearest
    word is exact: products in float32 propose it, and distances in float64 decide. No closed form of the law is known.

    Args:
        space: a Euclidean space.
        epsilon: privacy parameter per unit of distance, > 0.
    """

    name = "multivariate-laplace"
    metrics = "euclidean"

    @property
    def guarantee(self) -> Guarantee:
        """Theorem 1 of Carvalho et al. 2021; the nearest-word step is post-processing.

        It is about real numbers. The noise drawn here has the precision of float64, and its radius an end: at shape 1
        numpy's gamma draws never exceed 44.4, so that words farther apart than 44.4 / epsilon lose without bound.
        """
        source = "Carvalho et al. 2021, Theorem 1; the noise is drawn in floating point"
        return Guarantee.of_words(self.epsilon, self.space.metric_name, source, "proved for ideal arithmetic")

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
        return self._search.find_nearest(noisy, workers)

    @functools.cached_property
    def _search(self) -> NearestPointSearch:
        return NearestPointSearch(self.space.points)


def sample_spherical_laplace(generator: np.random.Generator, shape: tuple[int, ...], epsilon: float) -> FloatArray:
    """Return (k, m) noise with density proportional to exp(-epsilon |z|) in R^m."""
    count, dimensions = shape
    direction = generator.standard_normal((count, dimensions))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    radius = generator.gamma(dimensions, 1 / epsilon, size=count)
    direction *= radius[:, None]
    return direction
