"""The exact output law of the truncated Gumbel mechanism: one integral per input word.

With F, S = 1 - F, f the distribution, survival and density of Gumbel(0, b) conditioned on [-C, C],
d_1 <= d_2 <= ... <= d_n the distances of all words from the input (d_1 = 0, itself), and
LS_k(t) = sum over j <= k of ln S(t - d_j)::

    P(u_i) = integral over t of  f(t - d_i) / S(t - d_i) * sum over k >= i of P(K = k) exp(LS_k(t))

t is the winning noisy distance d_i + g_i, and it lies in [-C, C]. The integrand has a kink at every
d_j - C, so that the panels of a Gauss-Legendre rule end there (for the nearest words; beyond them
the kinks are too small and too many to matter, which the comparison of two grids confirms).
"""

import numpy as np

from deniable.errors import NotTractable
from deniable.parallel import compiled
from deniable.space.metrics import Array

_KINKS = 2048
_PANELS = 512
_NODES = (6, 8)
_TOLERANCE = 1e-9
NEGLIGIBLE = -745.0
"""The exponential of anything below this is 0 in float64."""


def exact_row(row: Array, poisson: Array, scale: float, limit: float) -> Array:
    """Return the law (n,) of one input word.

    Args:
        row: (n,) distances from the input to all words, 0 at the input.
        poisson: P(Y = 0), P(Y = 1), ... of Y ~ Poisson(ln n); what is missing is negligible.
        scale: b.
        limit: C = Delta.

    Raises:
        NotTractable: two grids disagree by more than 1e-9.
    """
    order = np.lexsort((np.arange(len(row)), row))
    distances = row[order]
    masses = np.zeros(min(len(row), len(poisson)) + 1)
    masses[1 : len(poisson)] = poisson[1 : len(masses)]
    whole = 1.0 - masses[: len(row)].sum()  # Y = 0 and Y >= n both give k = n.
    masses[len(row) :] = 0.0
    coarse, fine = (_integrate(distances, masses, whole, scale, limit, nodes) for nodes in _NODES)
    error = max(float(np.abs(coarse - fine).max()), abs(float(fine.sum()) - 1.0))
    if not error <= _TOLERANCE:
        raise NotTractable(
            f"The law of this word could not be integrated to {_TOLERANCE:g}: two grids differ by "
            f"{error:.2g}. Draw samples instead."
        )
    law = np.empty_like(fine)
    law[order] = fine
    return law


def _integrate(distances: Array, masses: Array, whole: float, scale: float, limit: float, nodes: int) -> Array:
    kinks = np.unique(distances[:_KINKS]) - limit
    ends = np.unique(np.concatenate([kinks, np.linspace(-limit, limit, _PANELS + 1)]))
    x, w = np.polynomial.legendre.leggauss(nodes)
    halves = np.diff(ends)[:, None] / 2
    times = (ends[:-1, None] + halves * (1 + x)).ravel()
    weights = (halves * w).ravel()
    return _accumulate(distances, masses, whole, scale, limit, times, weights)


@compiled
def _accumulate(  # noqa: C901 - one loop nest; pragma: no cover - compiled
    distances: Array, masses: Array, whole: float, scale: float, limit: float, times: Array, weights: Array
) -> Array:
    """Sum weight * hazard_i(t) * sum over k >= i of P(K = k) exp(LS_k(t)) over the grid."""
    count = distances.size
    low, high = np.exp(-np.exp(limit / scale)), np.exp(-np.exp(-limit / scale))
    out = np.zeros(count)
    hazards = np.empty(count)
    few = masses.size  # P(K = k) = masses[k] for k < few; P(K = n) = whole besides
    survive = np.empty(few)
    for node in range(times.size):
        t = times[node]
        log_survival = 0.0
        reached = 0
        for j in range(count):
            x = t - distances[j]
            if x <= -limit:
                break
            inner = np.exp(-x / scale)
            distribution = np.exp(-inner)
            hazards[j] = distribution * inner / (scale * (high - distribution))
            log_survival += np.log((high - distribution) / (high - low))
            reached = j + 1
            if reached < few:
                survive[reached] = log_survival
            elif log_survival < NEGLIGIBLE:
                break
        for k in range(reached + 1, few):
            survive[k] = log_survival
        tail = whole * np.exp(log_survival)
        if tail > 0.0:
            for i in range(few - 1, reached):
                out[i] += weights[node] * hazards[i] * tail
        for k in range(few - 1, 0, -1):
            tail += masses[k] * np.exp(survive[k])
            if k <= reached:
                out[k - 1] += weights[node] * hazards[k - 1] * tail
    return out
