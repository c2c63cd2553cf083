"""The analytic calibration of Gaussian noise (Balle and Wang 2018, Theorem 8)."""

import functools
import math

from deniable.errors import InputError

_TAIL_ERROR = 2.0**-45
"""Relative error granted to logarithms of normal tails, 2^7 roundings of float64."""
_MAX_HALVINGS = 60


def bound_log_delta(epsilon: float, ratio: float) -> float:
    """Return an upper bound on ln delta of Gaussian noise whose deviation is ``ratio`` times the l2 sensitivity.

    Theorem 8: noise N(0, sigma^2 I) on a function of l2 sensitivity S is (epsilon, delta)-DP if and only if::

        delta >= Phi(S / (2 sigma) - epsilon sigma / S) - e^epsilon Phi(-S / (2 sigma) - epsilon sigma / S)

    Both terms are taken as logarithms, so that neither e^epsilon overflows nor a small Phi vanishes, and
    the difference is widened by more than the rounding of everything that enters it.

    Args:
        epsilon: > 0.
        ratio: sigma / S, > 0.

    Returns:
        At most 0.
    """
    from scipy.special import log_ndtr  # noqa: PLC0415 - slow to import, and only Gaussian noise needs it

    half, shift = 1 / (2 * ratio), epsilon * ratio
    first = float(log_ndtr(half - shift))
    second = float(log_ndtr(-half - shift))
    error = _TAIL_ERROR * (1 + epsilon + abs(first) + abs(second))
    # second <= first in truth; where rounding cannot tell them apart, only the first is a bound.
    difference = min(epsilon + second - first, 0.0) - error
    return min(first + math.log(-math.expm1(difference)) + error, 0.0)


@functools.lru_cache(maxsize=256)
def compute_noise_ratio(epsilon: float, delta: float) -> float:
    """Return sigma / S such that Gaussian noise is (epsilon, delta)-DP, the least up to the rounding granted.

    It is a point at which the bound of `bound_log_delta` was computed to be at most ln delta, so a bisection
    that ends early costs noise and not privacy.

    Args:
        epsilon: > 0, at most 1e9.
        delta: in (0, 1).

    Raises:
        InputError: no noise that float64 can express is enough.
    """
    target = math.log(delta)
    target -= _TAIL_ERROR * (1 + abs(target))
    high = 1.0
    while bound_log_delta(epsilon, high) > target:
        high *= 2
        if high > 2.0**200:
            raise InputError(f"No Gaussian noise is ({epsilon:g}, {delta:g})-DP in float64; choose larger values.")
    while bound_log_delta(epsilon, high / 2) <= target:
        high /= 2
    low = high / 2
    for _ in range(_MAX_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if bound_log_delta(epsilon, middle) <= target else (middle, high)
    return high
