"""The truncated Gumbel mechanism (Xu, Feyisetan, Aggarwal, Xu, Teissier 2021, Algorithms 1 and 2)."""

import dataclasses
import functools
import math

from deniable.core.errors import InputError
from deniable.core.guarantees import Guarantee
from deniable.core.numbers import format_upper
from deniable.published.truncated_gumbel.bound import search_far_outputs
from deniable.published.truncated_gumbel.law import GumbelQuadrature, GumbelTable, compute_gumbel_scale
from deniable.published.truncated_gumbel.quadrature_law import QuadratureLaw
from deniable.published.truncated_gumbel.simulation import GumbelSimulation
from deniable.words.laws import Law, TabulatedLaw
from deniable.words.mechanism import WordMechanism

MAX_TABULATED_POINTS = 3_000
"""Points up to which the law is computed for every input, which takes minutes, and drawn from as tables."""
_MAX_STEEPNESS = 25.0
"""Delta / b, up to which the law is computed to 1e-9; beyond 30 the last bits of the noise's law are those of 1."""


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
        """Return the tables of the law as computed, or its quadrature beside a simulation of Algorithm 2."""
        quadrature = GumbelQuadrature(self.space, self.epsilon, self.scale)
        if self.space.point_count <= MAX_TABULATED_POINTS and self.space.diameter <= _MAX_STEEPNESS * self.scale:
            return TabulatedLaw(self.space, GumbelTable(self.space, quadrature))
        simulation = GumbelSimulation(self.space, self.scale, quadrature.poisson_masses, quadrature.fingerprint)
        return QuadratureLaw(
            self.space, quadrature, simulation, functools.partial(search_far_outputs, self.space, self.scale)
        )


def compute_min_epsilon(count: int, separation: float) -> float:
    """Return (5 + 2 ln n) / Delta0, below which no positive scale exists (erratum a)."""
    return (5 + 2 * math.log(count)) / separation
