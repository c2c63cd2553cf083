"""A lower bound on the epsilon of the truncated Gumbel mechanism in large spaces, in logarithms."""

import math

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.parallel import parallel_map
from deniable.published.truncated_gumbel.mechanism import TruncatedGumbel

_INPUTS, _OUTPUTS = 16, 128


def far_output_bound(mechanism: TruncatedGumbel) -> float:
    """Return a lower bound on the epsilon that the mechanism spends, per unit of distance.

    Take an input w and an output y at distance d. For y to win, it must be a candidate, so that all words
    nearer to w are candidates too, and each of them must lose: d_j + g_j > d + g_y >= d - Delta. With S
    the survival function of one noise g::

        P(y|w) <= product over j with d_j < d of S(d - Delta - d_j)        P(y|y) >= P(K = 1) = ln(n) / n

    The product has as many factors as there are nearer words: in a large space it falls far below what
    exp(-epsilon d) allows, and below what float64 can hold, while its logarithm is a plain sum. (The paper's
    Appendix A takes the distribution of untruncated noise, for which no such product appears.) The bound is the
    largest quotient of ln P(y|y) - ln P(y|w) and d over the most central inputs and some of their outputs.
    """
    space = mechanism.space
    count = len(space.points)
    offsets = space.points - space.points.mean(axis=0)
    inputs = np.argsort(np.einsum("nd,nd->n", offsets, offsets), kind="stable")[:_INPUTS]
    kept = math.log(math.log(count) / count)
    rows = [np.sort(row) for row in space.distances(inputs)]
    return max(parallel_map(lambda row: _largest(row, kept, mechanism.scale, space.diameter), rows))


def _largest(row: FloatArray, kept: float, scale: float, limit: float) -> float:
    """Return the largest bound for one input, from its sorted distances (n,), at outputs from near to far."""
    places = np.unique(np.linspace(1, len(row) - 1, _OUTPUTS).astype(np.int64))
    best = 0.0
    for d in row[places]:
        nearer = row[: np.searchsorted(row, d)]
        lost = -float(np.log1p(-_distribution(d - limit - nearer, scale, limit)).sum())
        best = max(best, (kept + lost) / float(d))
    return best


# Little noise makes the inner exponential overflow: the distribution is then 0 there, as it should be.
@np.errstate(over="ignore")
def _distribution(x: FloatArray, scale: float, limit: float) -> FloatArray:
    """Return the distribution function of Gumbel(0, scale) conditioned on [-limit, limit]."""
    low, high = (np.exp(-np.exp(-end / scale)) for end in (-limit, limit))
    found: FloatArray = (np.exp(-np.exp(-x / scale)) - low) / (high - low)
    return np.clip(found, 0.0, 1.0)
