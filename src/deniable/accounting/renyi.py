"""Renyi divergences of order alpha: what many small losses compose to, at a delta.

Divergences of releases that follow each other add up, order by order (Mironov 2017).
"""

import math

import numpy as np

from deniable.core.numbers import bisect

RENYI_ORDERS = tuple(1 + 2.0 ** (half / 2) for half in range(-16, 9))
"""Orders at which words are composed. At 20 powers of the least table entry, 2^-38, are still far above 1e-308."""
_LOG_ROUNDING = 2.0**-48
"""Bound on the rounding of the logarithm of a sum near 1."""


def convert_divergence(divergence: float, alpha: float, delta: float) -> float:
    """Epsilon at delta of a mechanism with this divergence (Canonne, Kamath and Steinke 2020, Proposition 12).

    With D_alpha the largest divergence of order alpha between the outputs of adjacent inputs::

        epsilon = D_alpha + ln((alpha - 1) / alpha) - (ln delta + ln alpha) / (alpha - 1)
    """
    return max(0.0, divergence + (math.log1p(-1 / alpha) - (math.log(delta) + math.log(alpha)) / (alpha - 1)))


def bound_divergence_by_loss(loss: float, alpha: float) -> float:
    """D_alpha of randomized response, the largest of any two laws of loss at most ``loss``."""
    # ln of p^alpha q^(1 - alpha) + q^alpha p^(1 - alpha), with p = e^loss / (1 + e^loss), q = 1 - p
    p, q = -math.log1p(math.exp(-loss)), -loss - math.log1p(math.exp(-loss))
    moment = float(np.logaddexp(alpha * p + (1 - alpha) * q, alpha * q + (1 - alpha) * p))
    return (max(moment, 0.0) + _LOG_ROUNDING) / (alpha - 1)


_LEAST_ORDER, _MAX_ORDER = 1 + 1e-9, 1e15
_RHO_STEPS = 250
"""Halvings after which a rho as small as 1e-60 is known to the last bit."""


def bound_zcdp_log_delta(rho: float, epsilon: float) -> float:
    """An upper bound on ln delta at epsilon of a mechanism with D_alpha <= rho alpha for all alpha > 1 (zCDP).

    By Canonne, Kamath and Steinke 2020, Proposition 12, at the order alpha that makes it least::

        ln delta = (alpha - 1)(alpha rho - epsilon) + alpha ln(1 - 1/alpha) - ln(alpha - 1)

    It is convex in alpha, and any order gives a bound.

    Args:
        rho: > 0.
        epsilon: >= 0.
    """
    _, alpha = bisect(
        lambda alpha: (2 * alpha - 1) * rho - epsilon + math.log1p(-1 / alpha) >= 0, _LEAST_ORDER, 2.0, limit=_MAX_ORDER
    )
    alpha = min(alpha, _MAX_ORDER)
    return min((alpha - 1) * (alpha * rho - epsilon) + alpha * math.log1p(-1 / alpha) - math.log(alpha - 1), 0.0)


def compute_zcdp_epsilon(rho: float, delta: float) -> float:
    """Epsilon at delta of a mechanism that is rho-zCDP, rho >= 0."""
    if not 0 < rho < math.inf:
        return rho
    enough = rho + 2 * math.sqrt(-rho * math.log(delta))
    return bisect(lambda epsilon: bound_zcdp_log_delta(rho, epsilon) <= math.log(delta), 0.0, enough)[1]


def compute_zcdp_rho(epsilon: float, delta: float) -> float:
    """A rho whose zCDP implies (epsilon, delta)-DP by `bound_zcdp_log_delta`, the largest but for rounding."""
    log_delta = math.log(delta)
    return bisect(
        lambda rho: bound_zcdp_log_delta(rho, epsilon) > log_delta, 0.0, 1.0, limit=_MAX_ORDER, steps=_RHO_STEPS
    )[0]
