r"""An attacker who ranks K candidate texts: how often a claim lets the true one come first, and what refutes it.

One of K texts is drawn uniformly, the mechanism releases Y of it, and the attacker guesses k of the K texts,
the first k of a ranking. Let p_i be the law of Y for text i, S(y) the k texts named at y, and s the
probability that the true text is among them: K s is the sum of p_i(y) over all y and all i in S(y).

**Theorem.** If any two of the texts fulfil P_i(A) <= e^epsilon P_j(A) + delta for every event A, then::

    s <= (k e^epsilon + (K - 1) delta) / (k e^epsilon + K - k)

**Proof.** Let d_ij(y) = max(0, p_i(y) - e^epsilon p_j(y)), whose sum over y is at most delta: take A = {d_ij > 0}.
For i in S(y) and j outside, p_i <= e^epsilon p_j + d_ij. The mean over the K - k texts j outside, summed over
the k texts i in S(y)::

    sum_{i in S} p_i  <=  k e^epsilon / (K - k) sum_{j not in S} p_j  +  1 / (K - k) sum_{i in S, j not in S} d_ij

Summed over y, the left side is K s, the first sum on the right K (1 - s), and the last is at most the sum over
all ordered pairs, K (K - 1) delta. Solved for s this is the theorem. (Densities and integrals: word for word.)

**The bound is attained.** Pure: release a set T of k texts, with odds e^epsilon : 1 that it holds the true one,
uniform otherwise (subset selection, Ye and Barg 2018). Any two texts fulfil the claim, and an attacker who guesses T
is right with probability k e^epsilon / (k e^epsilon + K - k). With delta: with probability
q = delta (K - 1) / (K - k), marked as such, T is a uniform set of k that does hold the true text; of two texts the
second explains all of it but a share (K - k) / (K - 1), so this part has a sum of d_ij of delta, and the success is
q + (1 - q) times the pure one: the theorem with equality, as long as q <= 1.

For two texts and k = 1 the bound is sigmoid(epsilon), that of the coin-flip game (`deniable.auditing`). It
is nearly 1 from epsilon = ln K on, so no rate of success refutes a claim far above that. Trials with a fresh
true text each are independent, so Clopper and Pearson's interval applies.
"""

import dataclasses
import math
from typing import Literal

import numpy as np
from scipy.spatial.distance import cdist

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.errors import InputError, check_count, check_fraction, check_number_within, make_parameter_error
from deniable.core.parallel import parallel_map
from deniable.measure.intervals import Estimate, estimate_share
from deniable.vectors import VectorMechanism

REFUTATION_CONFIDENCE = 0.999
"""Of a refutation, one-sided: as in the zoo, a claim that holds is refuted once in a thousand tests at most."""
NormOrder = float
"""1, 2 or infinity."""
_METRICS: dict[NormOrder, Literal["cityblock", "sqeuclidean", "chebyshev"]] = {
    1: "cityblock",
    2: "sqeuclidean",
    math.inf: "chebyshev",
}
_RELEASES_PER_BLOCK = 256
"""Releases ranked at a time: for each, the distances to all candidates are in memory."""


def get_norm_order(mechanism: VectorMechanism) -> NormOrder:
    """Return the norm in which the nearest candidate is the likeliest: l1 under Laplace noise, l2 under Gaussian."""
    return {"gaussian": 2, "l2-norm": 2, "max-norm": math.inf}.get(mechanism.noise or "laplace", 1)


def rank_true_candidates(released: FloatArray, truths: IntArray, candidates: FloatArray, order: NormOrder) -> IntArray:
    """Return the rank (N,) of the true text among the candidates, from 1, nearest first.

    Under Laplace, Gaussian and K-norm noise the log-likelihood of a candidate decreases with this distance, so that
    among equally likely candidates no attacker has the true text more often among the first k.
    Candidates as near as the true text rank before it.

    Args:
        released: (N, n) vectors.
        truths: (N,) index of the candidate that each comes from.
        candidates: (K, n) clipped encodings, to which the mechanism adds its noise.
        order: of `get_norm_order`.

    Raises:
        InputError: arrays whose shapes do not match.
    """
    if released.ndim != 2 or released.shape[1:] != candidates.shape[1:] or len(released) != len(truths):  # noqa: PLR2004 - rows
        raise InputError(
            f"Releases (N, n), truths (N,) and candidates (K, n) must go together. Got {released.shape}, "
            f"{truths.shape} and {candidates.shape}."
        )

    def rank_block(first: int) -> IntArray:
        rows = slice(first, first + _RELEASES_PER_BLOCK)
        distances = cdist(released[rows], candidates, _METRICS[order])
        true_distances = np.take_along_axis(distances, truths[rows, None], axis=1)
        block_ranks: IntArray = (distances <= true_distances).sum(axis=1)
        return block_ranks

    blocks = parallel_map(rank_block, range(0, len(released), _RELEASES_PER_BLOCK))
    return np.concatenate(blocks) if blocks else np.empty(0, np.int64)


@dataclasses.dataclass(frozen=True)
class RankingSuccess:
    """How often the true text was among the first of a ranking, beside what a claim permits.

    Attributes:
        first: k, number of texts that the attacker guesses.
        candidates: K.
        success_rate: share of trials with the true text among those named, with its 95% interval.
        max_success_rate: the largest probability of success that the claim permits.
        claim: epsilon.
        delta: of the claim.
        epsilon_lower_bound: lower bound on the true epsilon at `REFUTATION_CONFIDENCE`, for the same delta.
    """

    first: int
    candidates: int
    success_rate: Estimate
    max_success_rate: float
    claim: float
    delta: float
    epsilon_lower_bound: float

    @property
    def is_refuted(self) -> bool:
        """Whether the number of successes refutes the claim, at `REFUTATION_CONFIDENCE`."""
        return self.epsilon_lower_bound > self.claim


def compute_max_success(candidates: int, epsilon: float, *, delta: float = 0.0, first: int = 1) -> float:
    """Return the largest probability of naming the true text that a claim permits: the theorem above.

    Args:
        candidates: K >= 2 equally likely texts.
        epsilon: for any two of them, >= 0.
        delta: likewise, in [0, 1).
        first: k, from 1 to K - 1: number of texts that the attacker may guess.

    Raises:
        InputError: a parameter outside its domain.
    """
    _check_ranking_parameters(candidates, first, delta)
    if not epsilon >= 0:
        raise make_parameter_error("compute_max_success", "epsilon", "a float in [0, inf]", epsilon)
    # Divided by e^epsilon, which would leave float64's range.
    decay = math.exp(-epsilon)
    return min(1.0, (first + (candidates - 1) * delta * decay) / (first + (candidates - first) * decay))


def bound_epsilon_by_ranking(chance: float, candidates: int, *, delta: float = 0.0, first: int = 1) -> float:
    """Return the least epsilon whose claim permits a probability of success: the inverse of `compute_max_success`.

    Zero where no epsilon is needed, infinite where none is enough.

    Raises:
        InputError: a parameter outside its domain.
    """
    _check_ranking_parameters(candidates, first, delta)
    check_number_within("bound_epsilon_by_ranking", "chance", chance, 0, 1)
    needed = chance * (candidates - first) - delta * (candidates - 1)
    rest = first * (1 - chance)
    if needed <= rest:
        return 0.0
    return math.log(needed / rest) if rest else math.inf


def evaluate_success(
    hits: int, trials: int, candidates: int, *, epsilon: float, delta: float = 0.0, first: int = 1
) -> RankingSuccess:
    """Return how a number of successes in independent trials compares with a claim.

    Args:
        hits: trials in which the true text was among those named.
        trials: all trials, each with a true text drawn uniformly from the candidates.
        candidates: K.
        epsilon: claimed for any two of them.
        delta: likewise.
        first: k.

    Raises:
        InputError: no trials, or a parameter outside its domain.
    """
    max_success_rate = compute_max_success(candidates, epsilon, delta=delta, first=first)
    success_lower_bound = estimate_share(hits, trials, 1 - 2 * (1 - REFUTATION_CONFIDENCE)).low
    epsilon_lower_bound = bound_epsilon_by_ranking(success_lower_bound, candidates, delta=delta, first=first)
    return RankingSuccess(
        first, candidates, estimate_share(hits, trials), max_success_rate, epsilon, delta, epsilon_lower_bound
    )


def _check_ranking_parameters(candidates: int, first: int, delta: float) -> None:
    check_count("bound", "candidates", candidates, minimum=2)
    check_count("bound", "first", first, maximum=candidates - 1)
    check_fraction("bound", "delta", delta)
