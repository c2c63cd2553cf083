"""A lower bound on the epsilon of the truncated Gumbel mechanism in large spaces, in logarithms."""

import math

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.parallel import parallel_map
from deniable.space.space import Space
from deniable.words.laws.law import ExactEpsilon

_INPUT_COUNT, _OUTPUT_COUNT = 16, 128
_ROUNDING = 1e-9
"""Share of a loss that rounding cannot reach, where the noise is no wider than its limits: the logarithms of a sum are
good to 1e-12. Wider noise loses as many times more to cancellation."""


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
