"""Candidate texts ranked by how likely a release comes from each (Habernal 2021, Appendix C)."""

import dataclasses
import math
from typing import Literal

import numpy as np
from scipy.spatial.distance import cdist

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.errors import InputError, make_parameter_error
from deniable.core.guarantees import ApproxDP
from deniable.core.intervals import Estimate, estimate_share
from deniable.core.parallel import parallel_map
from deniable.vectors import VectorMechanism

REFUTATION_CONFIDENCE = 0.999
"""Of a refutation, one-sided: as in the zoo, a claim that holds is refuted once in a thousand tests at most."""


@dataclasses.dataclass(frozen=True)
class RankingSuccess:
    """How often the true text was among the first of a ranking, beside what a claim permits.

    Attributes:
        first: k, how many texts the attacker names.
        candidates: K.
        success_rate: share of trials that found the true text, with its 95 % interval.
        max_success_rate: the largest chance that the claim leaves.
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
        """Whether so many finds refute the claim, at `REFUTATION_CONFIDENCE`."""
        return self.epsilon_lower_bound > self.claim


def compute_max_success(candidates: int, epsilon: float, *, delta: float = 0.0, first: int = 1) -> float:
    """Return the largest chance of naming the true text that a claim leaves: the theorem above.

    Args:
        candidates: K >= 2 equally likely texts.
        epsilon: for any two of them, >= 0.
        delta: likewise, in [0, 1).
        first: k, from 1 to K - 1: how many of them the attacker may name.

    Raises:
        InputError: a parameter out of its domain.
    """
    _check_ranking_parameters(candidates, first, delta)
    if not epsilon >= 0:
        raise make_parameter_error("most_found", "epsilon", "a float in [0, inf]", epsilon)
    # Over e^epsilon, which would leave float64's range.
    decay = math.exp(-epsilon)
    return min(1.0, (first + (candidates - 1) * delta * decay) / (first + (candidates - first) * decay))


def bound_epsilon_by_ranking(chance: float, candidates: int, *, delta: float = 0.0, first: int = 1) -> float:
    """Return the least epsilon whose claim permits a chance of success: `compute_max_success` turned round.

    Zero where no epsilon is needed, infinite where none is enough.

    Raises:
        InputError: a parameter out of its domain.
    """
    _check_ranking_parameters(candidates, first, delta)
    if not 0 <= chance <= 1:
        raise make_parameter_error("least_epsilon", "chance", "a float in [0, 1]", chance)
    needed = chance * (candidates - first) - delta * (candidates - 1)
    rest = first * (1 - chance)
    if needed <= rest:
        return 0.0
    return math.log(needed / rest) if rest else math.inf


def evaluate_success(
    hits: int, trials: int, candidates: int, *, epsilon: float, delta: float = 0.0, first: int = 1
) -> RankingSuccess:
    """Return what so many finds in independent trials say of a claim.

    Args:
        hits: trials in which the true text was among the first.
        trials: all of them, each with a true text drawn afresh from the candidates with equal chances.
        candidates: K.
        epsilon: claimed for any two of them.
        delta: likewise.
        first: k.

    Raises:
        InputError: no trials, or a parameter out of its domain.
    """
    max_success_rate = compute_max_success(candidates, epsilon, delta=delta, first=first)
    success_lower_bound = estimate_share(hits, trials, 1 - 2 * (1 - REFUTATION_CONFIDENCE)).low
    epsilon_lower_bound = bound_epsilon_by_ranking(success_lower_bound, candidates, delta=delta, first=first)
    return RankingSuccess(
        first, candidates, estimate_share(hits, trials), max_success_rate, epsilon, delta, epsilon_lower_bound
    )


def _check_ranking_parameters(candidates: int, first: int, delta: float) -> None:
    if candidates < 2:  # noqa: PLR2004 - a choice
        raise make_parameter_error("bound", "candidates", "an int of at least 2", candidates)
    if not 1 <= first < candidates:
        raise make_parameter_error(
            "bound", "first", f"an int from 1 to {candidates - 1}, one less than the texts", first
        )
    if not 0 <= delta < 1:
        raise make_parameter_error("bound", "delta", "a float in [0, 1)", delta)


NormOrder = Literal[1, 2]
_METRICS = {1: "cityblock", 2: "sqeuclidean"}
_RELEASES_PER_BLOCK = 256
"""Releases ranked at a time: a distance to every candidate is held for each."""


def get_norm_order(mechanism: VectorMechanism) -> NormOrder:
    """Return the norm in which the nearest candidate is the likeliest: l1 under Laplace noise, l2 under Gaussian."""
    return 2 if isinstance(mechanism.claim, ApproxDP) else 1


def rank_true_candidates(released: FloatArray, truths: IntArray, candidates: FloatArray, order: NormOrder) -> IntArray:
    """Return the place (N,) of the true text among the candidates, from 1, nearest first.

    With independent noise of one scale in every coordinate, the log-likelihood of a candidate is a falling function
    of this distance, so that among equally likely candidates nobody finds the truth more often among the first k.
    Candidates as near as the truth stand before it.

    Args:
        released: (N, n) vectors.
        truths: (N,) number of the candidate that each comes from.
        candidates: (K, n) what the mechanism adds its noise to: clipped encodings.
        order: 1 for Laplace noise, 2 for Gaussian.

    Raises:
        InputError: arrays that do not go together.
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


def find_nearest_candidates(released: FloatArray, candidates: FloatArray, order: NormOrder) -> IntArray:
    """Return the number (N,) of the likeliest candidate for each release."""
    blocks = parallel_map(
        lambda first: cdist(released[first : first + _RELEASES_PER_BLOCK], candidates, _METRICS[order]).argmin(axis=1),
        range(0, len(released), _RELEASES_PER_BLOCK),
    )
    return np.concatenate(blocks) if blocks else np.empty(0, np.int64)


def measure_ranking_success(
    ranks: IntArray, candidates: int, *, epsilon: float, delta: float = 0.0, first: int = 1
) -> RankingSuccess:
    """Return how often the truth was among the first k of a ranking, beside what the claim permits.

    Args:
        ranks: (N,) of the truth, from 1, in trials with a true text drawn afresh from the candidates.
        candidates: K.
        epsilon: claimed for any two of them.
        delta: likewise.
        first: k.
    """
    return evaluate_success(
        int((ranks <= first).sum()), len(ranks), candidates, epsilon=epsilon, delta=delta, first=first
    )
