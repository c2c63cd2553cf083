"""TEM, the metric truncated exponential mechanism (Carvalho, Vasiloudis, Feyisetan 2021)."""

import math

from deniable.core.errors import InputError, check_positive
from deniable.core.guarantees import MetricDP
from deniable.space.space import Space
from deniable.words.laws import ExponentialKernel, ExponentialLaw, RingLaw, make_exponential_law
from deniable.words.mechanism import WordMechanism
from deniable.words.search import KernelSearch


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

    def __init__(self, space: Space, *, epsilon: float, beta: float = 0.001, gamma: float | None = None) -> None:
        super().__init__(space, epsilon=epsilon)
        self.beta = check_positive("TEM", "beta", beta, upper=1.0)
        if gamma is None:
            self.gamma = compute_truncation_threshold(self.epsilon, self.beta, space.point_count)
        elif gamma == math.inf:
            self.gamma = math.inf  # whatever type of number it came as: noise is named by it
        else:
            self.gamma = check_positive("TEM", "gamma", gamma)

    @property
    def parameters(self) -> dict[str, float]:
        """Epsilon and the truncation threshold."""
        return {"epsilon": self.epsilon, "gamma": self.gamma}

    @property
    def guarantee(self) -> MetricDP:
        """Theorem 2: epsilon-metric-DP for any metric."""
        return MetricDP(self.epsilon, self.space.metric_name, "Carvalho et al. 2021, Theorem 2")

    def build_law(self) -> ExponentialLaw | RingLaw:
        """Return the closed form above."""
        return make_exponential_law(self.space, self.kernel)

    @property
    def kernel(self) -> ExponentialKernel:
        """Scale and cutoff of the closed form."""
        return ExponentialKernel(self.epsilon / 2, self.gamma)

    @classmethod
    def kernel_search(cls, space: Space) -> KernelSearch:
        """Return the kernels by epsilon."""
        return KernelSearch(lambda epsilon: cls(space, epsilon=epsilon).kernel)


def compute_truncation_threshold(epsilon: float, beta: float, size: int) -> float:
    """Return the least gamma beyond which an output falls with probability at most beta.

    (2 / epsilon) ln((1 - beta)(size - 1) / beta), for ``size`` words; it looks at no data.

    Raises:
        InputError: beta is so large that the bound is not positive.
    """
    gamma = (2 / epsilon) * math.log((1 - beta) * (size - 1) / beta)
    if gamma <= 0:
        raise InputError(f"The 'beta' parameter of TEM must be below {1 - 1 / size:g} for {size} words. Got {beta!r}.")
    return gamma
