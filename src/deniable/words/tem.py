"""TEM, the metric truncated exponential mechanism (Carvalho, Vasiloudis, Feyisetan 2021)."""

import dataclasses
import functools
import math

from deniable.core.errors import InputError, check_positive
from deniable.core.guarantees import Guarantee
from deniable.words.laws import ExponentialKernel, ExponentialLaw, RingLaw, make_exponential_law
from deniable.words.mechanism import WordMechanism


@dataclasses.dataclass(frozen=True, repr=False)
class TEM(WordMechanism):
    r"""Draws near words by the exponential mechanism, all words beyond gamma alike.

    Algorithm 2 of the paper, for the input word w:

    1. L_w = {y : d(w, y) <= gamma}
    2. score f(w, y) = -d(w, y) for y in L_w
    3. score f(w, bottom) = -gamma + 2 ln|W \\ L_w| / epsilon
    4. add Gumbel noise of scale 2 / epsilon to every score
    5. take the element with the largest noisy score
    6. if it is bottom, return a uniform draw from W \\ L_w
    7. else return it

    The maximum of scores with Gumbel noise of scale 2 / epsilon is distributed as
    exp(score * epsilon / 2), and bottom stands for |W \\ L_w| words of score -gamma, so that::

        P(y|w)  is proportional to  exp(-(epsilon / 2) * min(d(w, y), gamma))

    Draws come from integer tables of that law; see `deniable.words.laws.tables`.

    Args:
        space: any metric. Distances must be exact: an approximate neighbour search voids the proof.
        epsilon: privacy parameter per unit of distance, > 0.
        beta: probability, at most, of an output farther than gamma (Theorem 3), in (0, 1).
        gamma: truncation threshold; by default the least that Theorem 3 allows for ``beta``.
    """

    name = "tem"
    beta: float = dataclasses.field(default=0.001, kw_only=True)
    gamma: float | None = dataclasses.field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        object.__setattr__(self, "beta", check_positive("TEM", "beta", self.beta, upper=1.0))
        if self.gamma is not None:  # infinity too is a float, whatever number it came as: noise is named by it
            gamma = math.inf if self.gamma == math.inf else check_positive("TEM", "gamma", self.gamma)
            object.__setattr__(self, "gamma", gamma)
        self.cutoff  # noqa: B018 - refuses a beta for which there is none

    @functools.cached_property
    def cutoff(self) -> float:
        """The truncation threshold: gamma, or the least beyond which an output falls with probability beta at most.

        That is (2 / epsilon) ln((1 - beta)(n - 1) / beta), for n points; it looks at no data.

        Raises:
            InputError: beta is so large that the bound is not positive.
        """
        if self.gamma is not None:
            return self.gamma
        count = self.space.point_count
        gamma = (2 / self.epsilon) * math.log((1 - self.beta) * (count - 1) / self.beta)
        if gamma <= 0:
            raise InputError(
                f"The 'beta' parameter of TEM must be below {1 - 1 / count:g} for {count} words. Got {self.beta!r}."
            )
        return gamma

    @property
    def parameters(self) -> dict[str, float]:
        """Epsilon and the truncation threshold."""
        return {"epsilon": self.epsilon, "gamma": self.cutoff}

    @property
    def guarantee(self) -> Guarantee:
        """Theorem 2: epsilon-metric-DP for any metric."""
        return Guarantee.of_words(self.epsilon, self.space.metric_name, "Carvalho et al. 2021, Theorem 2")

    def build_law(self) -> ExponentialLaw | RingLaw:
        """Return the closed form above."""
        return make_exponential_law(self.space, self.kernel)

    @property
    def kernel(self) -> ExponentialKernel:
        """Scale and cutoff of the closed form."""
        return ExponentialKernel(self.epsilon / 2, self.cutoff)
