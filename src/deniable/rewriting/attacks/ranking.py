"""Candidate texts ranked by how likely a release comes from each (Habernal 2021, Appendix C)."""

from typing import Literal

import numpy as np
from scipy.spatial.distance import cdist

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.errors import InputError
from deniable.core.parallel import parallel_map
from deniable.rewriting.attacks.success import RankingSuccess, evaluate_success
from deniable.vectors import VectorMechanism

NormOrder = Literal[1, 2]
_METRICS = {1: "cityblock", 2: "sqeuclidean"}
_RELEASES_PER_BLOCK = 256
"""Releases ranked at a time: for each, the distances to all candidates are in memory."""


def get_norm_order(mechanism: VectorMechanism) -> NormOrder:
    """Return the norm in which the nearest candidate is the likeliest: l1 under Laplace noise, l2 under Gaussian."""
    return 2 if mechanism.claim.delta > 0 else 1


def rank_true_candidates(released: FloatArray, truths: IntArray, candidates: FloatArray, order: NormOrder) -> IntArray:
    """Return the rank (N,) of the true text among the candidates, from 1, nearest first.

    With independent noise of one scale in every coordinate, the log-likelihood of a candidate decreases with this
    distance, so that among equally likely candidates no attacker has the true text more often among the first k.
    Candidates as near as the true text rank before it.

    Args:
        released: (N, n) vectors.
        truths: (N,) index of the candidate that each comes from.
        candidates: (K, n) clipped encodings, to which the mechanism adds its noise.
        order: 1 for Laplace noise, 2 for Gaussian.

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


def find_nearest_candidates(released: FloatArray, candidates: FloatArray, order: NormOrder) -> IntArray:
    """Return the index (N,) of the likeliest candidate for each release."""
    blocks = parallel_map(
        lambda first: cdist(released[first : first + _RELEASES_PER_BLOCK], candidates, _METRICS[order]).argmin(axis=1),
        range(0, len(released), _RELEASES_PER_BLOCK),
    )
    return np.concatenate(blocks) if blocks else np.empty(0, np.int64)


def measure_ranking_success(
    ranks: IntArray, candidates: int, *, epsilon: float, delta: float = 0.0, first: int = 1
) -> RankingSuccess:
    """Return how often the true text was among the first k of a ranking, beside what the claim permits.

    Args:
        ranks: (N,) of the true text, from 1, in trials with a true text drawn uniformly from the candidates.
        candidates: K.
        epsilon: claimed for any two of them.
        delta: likewise.
        first: k.
    """
    return evaluate_success(
        int((ranks <= first).sum()), len(ranks), candidates, epsilon=epsilon, delta=delta, first=first
    )
