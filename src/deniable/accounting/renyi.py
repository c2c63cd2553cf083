"""Renyi divergences of order alpha: what many small losses compose to, at a delta.

Divergences of releases that follow each other add up, order by order (Mironov 2017).
"""

import math

import numpy as np

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
