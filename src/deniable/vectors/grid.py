"""The grid on which noisy vectors are released.

A float64 that is computed as input plus noise betrays its input by its last bits: which floats can come
out at all depends on the input (Mironov 2012). Here inputs are rounded to multiples of a power of two g,
the noise is an exact draw of integers, and the sum of two integers is what is released, times g. Rounding
moves each coordinate by at most g / 2, so two inputs at distance D are at most D / g + n steps apart in
l1 and D / g + sqrt(n) in l2: that is what the noise is calibrated to.

Grid points and noise are int64. A point lies at most 2^62 steps from 0, so the sum is exact unless noise of
a scale of at most 2^42 reaches 2^62 steps, once in e^(2^20) draws; then it wraps around, which is a function
of the exact sum. What is released is the float64 nearest to the sum, again a function of the sum alone. Up
to 2^53 steps it is the sum itself; beyond them, for inputs more than 8,192 times larger than the noise's scale,
floats lie farther apart than the steps. Both functions are post-processing, so no guarantee rests on where a
domain lies.
"""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.errors import InputError
from deniable.vectors.discrete_noise import MAX_NOISE_STEPS

FINENESS_BITS = 40
"""The step is between 2^-40 and 2^-39 of the noise's scale."""
_MAX_EXPONENT = 900
"""Steps beyond 2^+-900 are refused: inputs would leave the range where float64 keeps all its digits."""
GRID_ARITHMETIC = "exact integer noise on a grid, from AES-128-CTR, so that the guarantee is computational in that step"
"""How draws on the grid are made, in words."""
MAX_INPUT_STEPS = 1 << 62
"""Distance of an input from 0 in steps, at most: int64 holds it with noise as large again."""
ROUNDING_FACTOR = 1 + Fraction(1, 1 << 50)
"""More than three roundings of float64 can take away from a sensitivity."""


@dataclasses.dataclass(frozen=True)
class NoiseGrid:
    """Step and noise of one release.

    Attributes:
        exponent: the step is g = 2^exponent.
        noise_steps: scale of the integer noise in steps, from 1 to 2^42.
    """

    exponent: int
    noise_steps: int

    @property
    def step(self) -> float:
        """The step g."""
        return math.ldexp(1.0, self.exponent)

    @property
    def scale(self) -> float:
        """Scale of the noise in units of the input."""
        return self.noise_steps * self.step

    def round(self, x: FloatArray) -> IntArray:
        """Return the nearest grid points of ``x`` in steps, int64.

        A product with a power of two is exact, and so is rint: a float64 of 2^52 or more is an integer already.
        """
        points: IntArray = np.rint(x * math.ldexp(1.0, -self.exponent)).astype(np.int64)
        return points

    def to_vectors(self, points: IntArray) -> FloatArray:
        """Return the float64 nearest to each grid point: the point itself up to 2^53 steps.

        Privacy does not depend on that: whatever is done to the integers afterwards is post-processing.
        """
        vectors: FloatArray = points.astype(np.float64)
        vectors *= self.step
        return vectors

    def l1_distance(self, x: npt.NDArray[np.float64], other: npt.NDArray[np.float64]) -> int:
        """Return the l1 distance in steps of the grid points of two vectors (n,), exactly."""
        return sum(abs(int(a) - int(b)) for a, b in zip(self.round(x), self.round(other), strict=True))


def compute_step_exponent(owner: str, scale: float, max_coordinate: float) -> int:
    """Return ceil(log2(scale * 2^-40)), exactly.

    Args:
        owner: name of the mechanism, for the error.
        scale: of the noise before the charge for rounding.
        max_coordinate: largest absolute value of an input's coordinate.

    Raises:
        InputError: the scale is no number that float64 can serve, or inputs lie more than 2^62 steps from 0.
    """
    mantissa, exponent = math.frexp(scale)
    exponent -= FINENESS_BITS + (mantissa == 0.5)  # noqa: PLR2004 - frexp's mantissa of a power of two
    if not math.isfinite(scale) or scale <= 0 or abs(exponent) > _MAX_EXPONENT:
        raise InputError(f"{owner} cannot make noise of scale {scale:g}; choose epsilon and domain of usual size.")
    if math.ldexp(max_coordinate, -exponent) > MAX_INPUT_STEPS:
        raise InputError(
            f"{owner} cannot serve inputs up to {max_coordinate:g} with noise of scale {scale:g}, more than "
            "4,194,304 times smaller; choose a smaller epsilon or a domain nearer to 0 (subtract a public number)."
        )
    return exponent


def compute_noise_steps(owner: str, steps: Fraction) -> int:
    """Return the integer noise scale: ``steps`` rounded up.

    Raises:
        InputError: that is beyond 2^42: the rounding of so many coordinates outweighs so small an epsilon.
    """
    noise = math.ceil(steps)
    if noise > MAX_NOISE_STEPS:
        raise InputError(
            f"{owner} cannot charge the rounding of so many coordinates to so small an epsilon; choose a larger one."
        )
    return noise


def round_up_to_float(value: Fraction) -> float:
    """Return the least float64 that is not below a rational number."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def round_down_to_float(value: Fraction) -> float:
    """Return the largest float64 that is not above a rational number."""
    return -round_up_to_float(-value)
