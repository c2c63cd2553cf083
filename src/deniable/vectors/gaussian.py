"""The Gaussian mechanism on a bounded domain, released on a grid."""

import functools
import math
from fractions import Fraction

from randomgen import AESCounter

from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError, check_number_within, check_positive
from deniable.core.guarantees import ApproxDP
from deniable.core.numbers import format_exact
from deniable.vectors.discrete_noise import sample_discrete_gaussian
from deniable.vectors.domains import Domain
from deniable.vectors.grid import (
    GRID_ARITHMETIC,
    ROUNDING_FACTOR,
    NoiseGrid,
    compute_noise_steps,
    compute_step_exponent,
)
from deniable.vectors.mechanism import VectorMechanism, check_domain

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
    # Exactly, second <= first; where rounding cannot tell them apart, only the first is a bound.
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
            raise InputError(
                f"No Gaussian noise is ({format_exact(epsilon)}, {format_exact(delta)})-DP in float64; choose "
                "larger values."
            )
    while bound_log_delta(epsilon, high / 2) <= target:
        high /= 2
    low = high / 2
    for _ in range(_MAX_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if bound_log_delta(epsilon, middle) <= target else (middle, high)
    return high


_MAX_EPSILON = 1e9
"""Up to it the calibration has been compared with 400 digits; noise is then 22,000 times finer than its domain."""
MIN_DELTA, MAX_DELTA = 1e-200, 0.999999
"""The least is far above the n e^-999 by which delta can differ for the discrete Gaussian."""
DISCRETE_DELTA_SHARE = 1 - 2.0**-30
"""Share of delta that is left for the continuous Gaussian, see `compute_discretization_cost`."""


def compute_discretization_cost(epsilon: float, n: int) -> float:
    r"""Return how much epsilon the step from the continuous to the discrete Gaussian costs.

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
    s = 2^39, the least that a grid has: about n 2^-71.5; and if delta >= e^(n / 24 s^2) (delta' + n e^-999).
    With n <= 2^40 and delta >= 1e-200 the latter holds for delta' = (1 - 2^-30) delta.

    Nothing of this needs z to be known beforehand: where the coordinates are released in turn, and each
    grid point depends on what was released before, the bounds hold coordinate by coordinate, given the
    past, and n counts the coordinates of all releases.
    """
    return n * (2 * (epsilon + 1000) + 2) / (24 * 2.0**78)


class Gaussian(VectorMechanism):
    """Clips, rounds to a grid and adds discrete Gaussian noise, calibrated analytically.

    With S the l2 sensitivity of the domain, r(epsilon', delta') the least sigma / S that Balle and Wang
    (2018), Theorem 8, allows (any epsilon > 0; see `compute_noise_ratio`), and n coordinates::

        g = 2^ceil(log2(r S 2^-40))                    step of the grid
        s = ceil(r (S + sqrt(n) g) / g)                deviation of the noise in steps
        y = g (rint(clip(x) / g) + Z),                 P(Z_i = k) proportional to exp(-k^2 / (2 s^2))

    where epsilon' and delta' are epsilon and delta minus the cost of the discrete Gaussian, see
    `compute_discretization_cost`.

    Args:
        epsilon: of one row, > 0 and below 1e9.
        delta: of one row, from 1e-200 to 0.999999.
        domain: where inputs are clipped to.
        seed: for tests only, see `VectorMechanism`.

    Raises:
        InputError: a parameter is outside its domain.
    """

    name = "gaussian"
    noise = "gaussian"
    arithmetic = GRID_ARITHMETIC
    domain: Domain

    def __init__(self, *, epsilon: float, delta: float, domain: Domain, seed: int | None = None) -> None:
        super().__init__(seed=seed)
        owner = type(self).__name__
        self.epsilon = check_positive(owner, "epsilon", epsilon, upper=_MAX_EPSILON)
        self.delta = check_number_within(owner, "delta", delta, MIN_DELTA, MAX_DELTA)
        self.domain = check_domain(owner, domain)

    @property
    def claim(self) -> ApproxDP:
        """Epsilon and delta for any two inputs."""
        source = "Balle and Wang 2018, Theorem 8, on a grid with exact integer noise (Canonne, Kamath, Steinke 2020)"
        return ApproxDP(self.epsilon, self.delta, source)

    def sensitivity(self, n: int) -> float:
        """Return the l2 sensitivity of the domain."""
        return self.domain.sensitivity(2, n)

    def scale(self, n: int) -> float:
        """Return g s, the standard deviation.

        Raises:
            InputError: epsilon and domain are too far from usual size for so many coordinates.
        """
        return self.grid(n).scale

    def grid(self, n: int) -> NoiseGrid:
        """Return step and noise for vectors (n,); raises as `scale` does."""
        owner, sensitivity = type(self).__name__, self.sensitivity(n)
        remaining_epsilon = math.nextafter(
            self.epsilon - 1.001 * compute_discretization_cost(self.epsilon, n), -math.inf
        )
        if remaining_epsilon <= 0:
            raise InputError(
                f"{owner} cannot serve {n} coordinates with epsilon {format_exact(self.epsilon)}; choose a larger one."
            )
        ratio = compute_noise_ratio(remaining_epsilon, self.delta * DISCRETE_DELTA_SHARE)
        exponent = compute_step_exponent(owner, ratio * sensitivity, self.domain.max_coordinate)
        distance = self._bound_distance(n, exponent)
        return NoiseGrid(exponent, compute_noise_steps(owner, Fraction(ratio) * distance))

    def squared_mu(self, n: int) -> Fraction:
        """Return the square of the l2 sensitivity over the noise, of grid points (n,); raises as `scale` does."""
        grid = self.grid(n)
        return (self._bound_distance(n, grid.exponent) / grid.noise_steps) ** 2

    def _bound_distance(self, n: int, exponent: int) -> Fraction:
        """Return the largest l2 distance of two grid points (n,), in steps of 2^exponent.

        No charge for the clip: its result lies in the domain exactly (see `Domain.clip`).
        """
        steps = Fraction(self.sensitivity(n)) / Fraction(2) ** exponent
        return (steps + Fraction(math.sqrt(n))) * ROUNDING_FACTOR

    def worst_pair(self, n: int) -> tuple[FloatArray, FloatArray]:
        """Return two points of the domain that are farthest apart in l2."""
        return self.domain.worst_pair(2, n)

    def _sample_rows(self, rows: FloatArray, generator: AESCounter) -> FloatArray:
        grid = self.grid(rows.shape[1])
        points = grid.round(self.domain.clip(rows))
        points += sample_discrete_gaussian(generator, grid.noise_steps, rows.shape)
        return grid.to_vectors(points)
