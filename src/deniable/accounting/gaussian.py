"""Gaussian noise, counted exactly: delta from epsilon, noise from both, and what discrete noise costs beyond it.

Noise is given by its ratio sigma / S, the standard deviation per unit of the l2 sensitivity, or by mu = S / sigma, how
many deviations a sum moves. Releases with mu_1, mu_2, ... compose to one with the root of the sum of their squares,
also where later ones depend on earlier ones (Dong, Roth, Su 2022, Corollary 3.3).
"""

import functools
import math

from deniable.core.errors import InputError
from deniable.core.numbers import bisect, format_exact

MIN_DELTA, MAX_DELTA = 1e-200, 0.999999
"""The least is far above the n e^-999 by which delta can differ for the discrete Gaussian."""
DISCRETE_DELTA_SHARE = 1 - 2.0**-30
"""Share of delta that is left for the continuous Gaussian, see `compute_discretization_cost`."""
_TAIL_ERROR = 2.0**-45
"""Relative error granted to logarithms of normal tails, 2^7 roundings of float64."""
_MAX_RATIO = 2.0**200


def bound_log_delta(epsilon: float, ratio: float) -> float:
    """An upper bound on ln delta of Gaussian noise whose deviation is ``ratio`` times the l2 sensitivity.

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
    from scipy.special import log_ndtr

    half, shift = 1 / (2 * ratio), epsilon * ratio
    first = float(log_ndtr(half - shift))
    second = float(log_ndtr(-half - shift))
    error = _TAIL_ERROR * (1 + epsilon + abs(first) + abs(second))
    # Exactly, second <= first; where rounding cannot tell them apart, only the first is a bound.
    difference = min(epsilon + second - first, 0.0) - error
    return min(first + math.log(-math.expm1(difference)) + error, 0.0)


@functools.lru_cache(maxsize=256)
def compute_noise_ratio(epsilon: float, delta: float) -> float:
    """Sigma / S such that Gaussian noise is (epsilon, delta)-DP, the least up to the rounding granted.

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

    def is_enough(ratio: float) -> bool:
        return bound_log_delta(epsilon, ratio) <= target

    high = 1.0
    while is_enough(high / 2):
        high /= 2
    found = bisect(is_enough, high / 2, high, limit=_MAX_RATIO)[1]
    if math.isinf(found):
        raise InputError(
            f"No Gaussian noise is ({format_exact(epsilon)}, {format_exact(delta)})-DP in float64; choose larger "
            "values."
        )
    return found


def bracket_gaussian_epsilon(ratio: float, log_delta: float) -> tuple[float, float]:
    """Neighbouring floats between which the epsilon of Gaussian noise lies, at this ratio and ln delta.

    The second is an upper bound on epsilon, the first is just below it: by what `bound_log_delta` grants to rounding
    at most, it may exceed the exact epsilon.
    """
    # Phi(mu / 2 - epsilon / mu) alone is at most delta at the upper end, mu = 1 / ratio.
    high = (1 / (2 * ratio) + math.sqrt(-2 * log_delta)) / ratio
    return bisect(lambda epsilon: bound_log_delta(epsilon, ratio) <= log_delta, 0.0, high)


def compute_gaussian_epsilon(mu: float, delta: float) -> float:
    """Epsilon at delta of Gaussian noise on a sum that moves by mu >= 0 standard deviations."""
    return bracket_gaussian_epsilon(1 / mu, math.log(delta))[0] if mu > 0 else 0.0


def compute_discretization_cost(epsilon: float, n: int) -> float:
    r"""How much epsilon the step from the continuous to the discrete Gaussian costs.

    Let z be a grid point in Z^n, P_z the law of z plus discrete Gaussian noise of parameter s, and Q_z
    that of z + N(0, s^2 I) rounded to integers. Rounding is post-processing, so whatever epsilon' and
    delta' Theorem 8 gives for the distance of two grid points hold for Q. In one coordinate, with
    p(k) = exp(-k^2 / 2 s^2) / Z and q(k) the normal mass of [k - 1/2, k + 1/2]::

        q(k) s sqrt(2 pi) / exp(-k^2 / 2 s^2) = integral of exp(-u^2 / 2 s^2) cosh(k u / s^2) over |u| <= 1/2

    which is at least exp(-1 / 24 s^2) by Jensen's inequality (cosh >= 1, the mean of u^2 is 1/12) and at
    most sinh(v) / v <= exp(v^2 / 6) for v = k / 2 s^2, that is exp(k^2 / 24 s^4). By Poisson's summation
    formula Z / (s sqrt(2 pi)) is from 1 to 1 + 3 exp(-2 pi^2 s^2), which for s >= 2^39 is 1 to more than
    10^24 digits; ln of it is below 1 / 24 s^2. Hence::

        -k^2 / 24 s^4 - 1 / 24 s^2  <=  ln p(k) - ln q(k)  <=  1 / 24 s^2

    For any event A, with T the event that some noise coordinate exceeds R s, R^2 = 2 (epsilon + 1000)::

        P_z(A) <= e^(n / 24 s^2) Q_z(A)
               <= e^(n / 24 s^2) (e^epsilon' Q_z'(A) + delta')
               <= e^(n / 24 s^2) (e^epsilon' (e^(n (R^2 + 1) / 24 s^2) P_z'(A) + Q_z'(T)) + delta')

    and Q(T) <= n exp(-(R - 1 / 2 s)^2 / 2) <= n e^(-epsilon - 999). So the discrete Gaussian is
    (epsilon, delta)-DP if epsilon' = epsilon - n (R^2 + 2) / 24 s^2, which this function takes at
    s = 2^39, the least that a grid has, and a thousandth more for rounding: about n 2^-71.5; and if
    delta >= e^(n / 24 s^2) (delta' + n e^-999).
    With n <= 2^40 and delta >= 1e-200 the latter holds for delta' = (1 - 2^-30) delta.

    Nothing of this needs z to be known beforehand: where the coordinates are released in turn, and each
    grid point depends on what was released before, the bounds hold coordinate by coordinate, given the
    past, and n counts the coordinates of all releases.
    """
    return 1.001 * (n * (2 * (epsilon + 1000) + 2) / (24 * 2.0**78))


def compute_continuous_epsilon(epsilon: float, n: int) -> float:
    """What of epsilon is left for continuous Gaussian noise, where discrete noise is drawn for n coordinates."""
    return math.nextafter(epsilon - compute_discretization_cost(epsilon, n), -math.inf)
