"""The truncated Gumbel mechanism (Xu, Feyisetan, Aggarwal, Xu, Teissier 2021, Algorithms 1 and 2)."""

import dataclasses
import functools
import math

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError
from deniable.core.guarantees import Guarantee
from deniable.core.numbers import format_upper
from deniable.core.parallel import parallel_map
from deniable.published.truncated_gumbel.law import (
    GumbelQuadrature,
    GumbelTable,
    QuadratureLaw,
    compute_gumbel_scale,
)
from deniable.published.truncated_gumbel.simulation import GumbelSimulation
from deniable.space.space import Space
from deniable.words.laws import Law, TabulatedLaw
from deniable.words.laws.law import ExactEpsilon
from deniable.words.mechanism import WordMechanism

MAX_TABULATED_POINTS = 3_000
"""Points up to which the law is computed for every input, which takes minutes, and drawn from as tables."""
_MAX_STEEPNESS = 25.0
"""Delta / b, up to which the law is computed to 1e-9; beyond 30 the last bits of the noise's law are those of 1."""
_INPUT_COUNT, _OUTPUT_COUNT = 16, 128
_ROUNDING = 1e-9
"""Share of a loss that rounding cannot reach, where the noise is no wider than its limits: the logarithms of a sum are
good to 1e-12. Wider noise loses as many times more to cancellation."""


@dataclasses.dataclass(frozen=True, repr=False)
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
    metrics = "euclidean"

    def __post_init__(self) -> None:
        """Check the parameters, and that the noise has a positive scale."""
        super().__post_init__()
        space, count = self.space, self.space.point_count
        if space.separation == 0:
            raise InputError(
                "TruncatedGumbel needs different words at distances above 0. Two vectors of this space differ by so "
                "little that their distance is computed as 0: leave one of the words out."
            )
        min_epsilon = compute_min_epsilon(count, space.separation)
        if self.epsilon <= min_epsilon:
            raise InputError(
                f"The 'epsilon' parameter of TruncatedGumbel must be above (5 + 2 ln n) / Delta0 = "
                f"{format_upper(min_epsilon, 4)} for these {count} words (n = {count}, Delta0 = "
                f"{space.separation:.4g}). "
                f"Got {self.epsilon!r}: raise it, or use TEM, which takes any epsilon."
            )

    @functools.cached_property
    def scale(self) -> float:
        """B of the noise."""
        space = self.space
        return compute_gumbel_scale(self.epsilon, space.point_count, space.diameter, space.separation)

    @property
    def guarantee(self) -> Guarantee:
        """Theorem 1 of the paper, whose published proof is incomplete."""
        return Guarantee.of_words(
            self.epsilon, self.space.metric_name, "Xu et al. 2021, Theorem 1; its published proof has gaps", "claimed"
        )

    def build_law(self) -> Law:
        """Return the tables of the law as computed, or its quadrature next to a simulation of Algorithm 2."""
        quadrature = GumbelQuadrature(self.space, self.epsilon)
        if self.space.point_count <= MAX_TABULATED_POINTS and self.space.diameter <= _MAX_STEEPNESS * self.scale:
            return TabulatedLaw(self.space, GumbelTable(quadrature))
        simulation = GumbelSimulation(self.space, self.scale, quadrature.poisson_masses, quadrature.fingerprint)
        return QuadratureLaw(
            self.space, quadrature, simulation, functools.partial(search_far_outputs, self.space, self.scale)
        )


def compute_min_epsilon(count: int, separation: float) -> float:
    """Return (5 + 2 ln n) / Delta0, below which no positive scale exists (erratum a)."""
    return (5 + 2 * math.log(count)) / separation


def search_far_outputs(space: Space, scale: float) -> ExactEpsilon:
    """Return the largest loss found between an input w and an output y far from it; its upper bound is infinite.

    Take an input w and an output y at distance d. For y to win, it must be a candidate, so that all words
    nearer to w are candidates too, and each of them must lose: d_j + g_j > d + g_y >= d - Delta. With S
    the survival function of one noise g::

        P(y|w) <= product over j with d_j < d of S(d - Delta - d_j)        P(y|y) >= P(K = 1) = ln(n) / n

    The product has as many factors as there are nearer words: in a large space it falls far below what
    exp(-epsilon d) allows, and below what float64 can hold, while its logarithm is a plain sum. (Appendix A of Xu et
    al. 2021 takes the distribution of untruncated noise, for which no such product appears.) The bound on epsilon is
    the largest quotient of ln P(y|y) - ln P(y|w) and d over the most central inputs and some of their outputs.

    Args:
        space: a Euclidean space of n points.
        scale: b of the noise.
    """
    count = space.point_count
    offsets = space.points - space.points.mean(axis=0)
    inputs = np.argsort(np.einsum("nd,nd->n", offsets, offsets), kind="stable")[:_INPUT_COUNT]
    rounding = min(_ROUNDING * max(scale / space.diameter, 1.0), 1.0)
    log_kept = math.log(math.log(count) / count)

    def search_outputs(row: FloatArray) -> tuple[float, float, float, int]:
        """Return epsilon, loss, distance and output of the worst of one input's outputs (n,) from near to far."""
        order = np.argsort(row, kind="stable")
        distances = row[order]
        best = (0.0, 0.0, 0.0, int(order[0]))
        for rank in np.unique(np.linspace(1, count - 1, _OUTPUT_COUNT).astype(np.int64)).tolist():
            d = float(distances[rank])
            nearer = distances[: np.searchsorted(distances, d)]
            log_survival = np.log1p(-_compute_distribution(d - space.diameter - nearer, scale, space.diameter)).sum()
            loss = log_kept - (1 - rounding) * float(log_survival)
            best = max(best, (loss / (d + space.distance_error), loss, d, int(order[rank])))
        return best

    results = parallel_map(search_outputs, list(space.distances(inputs)))
    worst = max(range(len(inputs)), key=lambda i: results[i][0])
    epsilon, loss, distance, output = results[worst]
    return ExactEpsilon(
        epsilon=math.inf,
        lower_bound=epsilon,
        input=output,
        other=int(inputs[worst]),
        output=output,
        distance=distance,
        loss=loss,
    )


# Little noise makes the inner exponential overflow: the distribution is then 0 there, as it should be.
@np.errstate(over="ignore")
def _compute_distribution(x: FloatArray, scale: float, limit: float) -> FloatArray:
    """Return the distribution function of Gumbel(0, scale) conditioned on [-limit, limit]."""
    low, high = (np.exp(-np.exp(-end / scale)) for end in (-limit, limit))
    values: FloatArray = (np.exp(-np.exp(-x / scale)) - low) / (high - low)
    return np.clip(values, 0.0, 1.0)
