"""The exact output law of the truncated Gumbel mechanism: one integral per input word.

With F, S = 1 - F, f the distribution, survival and density of Gumbel(0, b) conditioned on [-C, C],
d_1 <= d_2 <= ... <= d_n the distances of all words from the input (d_1 = 0, itself), and
LS_k(t) = sum over j <= k of ln S(t - d_j)::

    P(u_i) = integral over t of  f(t - d_i) / S(t - d_i) * sum over k >= i of P(K = k) exp(LS_k(t))

t is the winning noisy distance d_i + g_i, and it lies in [-C, C]. The integrand has a kink at every
d_j - C, so that the panels of a Gauss-Legendre rule end there, unless the noise has next to no density
at -C (and for the nearest words only; beyond them the kinks are too small and too many to matter, which the
comparison of two grids confirms).

With inner = exp(-x / b), F is (exp(-inner) - low) / (high - low) and the hazard f / S is
inner exp(-inner) / (b (high - exp(-inner))); inner is a product of a factor of t and one of d.
"""

import functools
import math

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray
from deniable.core.errors import NotTractable
from deniable.core.parallel import compile_loop

_MAX_KINKS = 2048
_MIN_KINK = 1e-10
"""Where inner exp(-inner) at -C, which is b f, is less, a kink does not show."""
_PANELS = 512
ACCURATE_NODES, QUICK_NODES = (4, 6), (2, 3)
"""Nodes a panel of two grids that are compared."""
QUADRATURE_TOLERANCE = 1e-9
_BLOCK_NODES = 128
"""Nodes of the grid whose exponentials are taken together."""
_FACTORS_PER_LOG = 16
EXP_UNDERFLOW = -745.0
"""The exponential of anything below this is 0 in float64."""


def integrate_row(distances: FloatArray, poisson_masses: FloatArray, scale: float, limit: float) -> FloatArray:
    """Return the law (n,) of one input word, by the coarser grids where they serve; see `integrate_row_with_error`.

    Raises:
        NotTractable: two grids disagree by more than 1e-9.
    """
    worst = math.inf
    for grids in (QUICK_NODES, ACCURATE_NODES):
        law, error = integrate_row_with_error(distances, poisson_masses, scale, limit, grids)
        worst = max(float(error.max()), abs(float(law.sum()) - 1.0))
        if worst <= QUADRATURE_TOLERANCE:
            return law
    raise NotTractable(
        f"The law of this word could not be integrated to {QUADRATURE_TOLERANCE:g}: two grids differ by "
        f"{worst:.2g}. Draw samples instead."
    )


def integrate_row_with_error(
    unsorted_distances: FloatArray,
    poisson_masses: FloatArray,
    scale: float,
    limit: float,
    grids: tuple[int, int] = QUICK_NODES,
) -> tuple[FloatArray, FloatArray]:
    """Return the law (n,) of one input word, and by how much two grids differ (n,).

    Args:
        unsorted_distances: (n,) distances from the input to all words, 0 at the input.
        poisson_masses: P(Y = 0), P(Y = 1), ... of Y ~ Poisson(ln n); what is missing is negligible.
        scale: b.
        limit: C = Delta.
        grids: nodes a panel of the two grids.
    """
    order = np.lexsort((np.arange(len(unsorted_distances)), unsorted_distances))
    distances = unsorted_distances[order]
    masses = np.zeros(min(len(unsorted_distances), len(poisson_masses)) + 1)
    masses[1 : len(poisson_masses)] = poisson_masses[1 : len(masses)]
    full_mass = 1.0 - masses[: len(unsorted_distances)].sum()  # Y = 0 and Y >= n both give k = n.
    masses[len(unsorted_distances) :] = 0.0
    coarse, fine = (_integrate_sorted(distances, masses, full_mass, scale, limit, nodes) for nodes in grids)
    law, error = np.empty_like(fine), np.empty_like(fine)
    law[order], error[order] = fine, np.abs(fine - coarse)
    return law, error


def _integrate_sorted(
    distances: FloatArray, masses: FloatArray, full_mass: float, scale: float, limit: float, nodes: int
) -> FloatArray:
    steepest = math.exp(limit / scale)
    kinks = distances[:_MAX_KINKS] - limit if steepest * math.exp(-steepest) > _MIN_KINK else distances[:0]
    ends = np.unique(np.concatenate([kinks, np.linspace(-limit, limit, _PANELS + 1)]))
    x, w = np.polynomial.legendre.leggauss(nodes)
    halves = np.diff(ends)[:, None] / 2
    times = (ends[:-1, None] + halves * (1 + x)).ravel()
    weights = (halves * w).ravel()
    low, high = math.exp(-math.exp(limit / scale)), math.exp(-math.exp(-limit / scale))
    growth = np.exp(distances / scale)
    out = np.zeros(len(distances))
    is_full_reachable = True
    buffers = np.empty((2, _BLOCK_NODES, len(distances)))
    for start in range(0, len(times), _BLOCK_NODES):
        t, weight = times[start : start + _BLOCK_NODES], weights[start : start + _BLOCK_NODES]
        # Words beyond these cannot win yet; and once all n words together cannot lose, few matter.
        word_limit = int(np.searchsorted(distances, t[-1] + limit)) if is_full_reachable else len(masses)
        exponents, decay = buffers[:, : len(t), :word_limit]
        np.multiply(-np.exp(-t / scale)[:, None], growth[:word_limit], out=exponents)
        np.exp(exponents, out=decay)
        reach = np.searchsorted(distances[:word_limit], t + limit)
        is_full_reachable = _accumulate_nodes(exponents, decay, reach, weight, masses, full_mass, scale, low, high, out)
    return out


@functools.partial(compile_loop, relaxed=True)
def _accumulate_nodes(  # noqa: C901 - one loop nest; pragma: no cover - compiled
    exponents: FloatArray,
    decay: FloatArray,
    reach: npt.NDArray[np.int64],
    weights: FloatArray,
    masses: FloatArray,
    full_mass: float,
    scale: float,
    low: float,
    high: float,
    out: FloatArray,
) -> bool:
    """Add weight * hazard_i(t) * sum over k >= i of P(K = k) exp(LS_k(t)) for a block of nodes t.

    Args:
        exponents: -exp((d_j - t) / b) (nodes, words), minus what is called inner above.
        decay: their exponentials.
        reach: (nodes,) number of words with d_j - C < t.
        weights: (nodes,) of the rule.
        masses: P(K = k) for k below len(masses).
        full_mass: P(K = n) besides.
        scale: b.
        low: exp(-exp(C / b)).
        high: exp(-exp(-C / b)).
        out: (n,) added to.

    Returns:
        Whether exp(LS_n(t)) is above 0 at the last node.
    """
    mass_count = masses.size
    span = 1.0 / (high - low)
    survivals, chances = np.empty(mass_count), np.empty(mass_count)
    mass_tails = np.cumsum(masses[::-1])[::-1]  # sums of masses[k], masses[k + 1], ...
    tail = 0.0
    for node in range(weights.size):
        reached = reach[node]
        product = 1.0
        for j in range(min(mass_count - 1, reached)):
            product *= (high - decay[node, j]) * span
            survivals[j + 1] = product
        few_survival = product
        log_survival = np.log(product)
        # One logarithm for many factors: beyond the nearest words none of them is close to 0.
        for start in range(mass_count - 1, reached, _FACTORS_PER_LOG):
            product = 1.0
            for j in range(start, min(start + _FACTORS_PER_LOG, reached)):
                product *= (high - decay[node, j]) * span
            log_survival += np.log(product)
            if log_survival < EXP_UNDERFLOW:
                break
        tail = full_mass * np.exp(log_survival)
        factor = -weights[node] / scale
        if tail > 0.0:
            for i in range(mass_count - 1, reached):
                out[i] += factor * tail * decay[node, i] * exponents[node, i] / (high - decay[node, i])
        # What is beyond the words reached has lost: their survival is that of the last one.
        running = tail
        near_count = min(mass_count - 1, reached)
        if near_count < mass_count - 1:
            running += mass_tails[near_count + 1] * few_survival
        for k in range(near_count, 0, -1):
            running += masses[k] * survivals[k]
            chances[k] = running
        for k in range(1, near_count + 1):
            hazard = decay[node, k - 1] * exponents[node, k - 1] / (high - decay[node, k - 1])
            out[k - 1] += factor * chances[k] * hazard
    return tail > 0.0
