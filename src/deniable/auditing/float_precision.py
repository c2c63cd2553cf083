"""The float-precision event: what the last bits of a released float say of the private number.

A textbook sampler returns x + noise in floating point. Its sum is rounded to the grid of the larger
of the two, so near 0 the noise keeps all its small bits when x = 0, and none finer than 2^-53 when
x = 1: the event "|y| < 1/2 and y 2^k is no integer" happens for one input and never for the other,
at any epsilon (Mironov 2012). An output on a grid that does not depend on the input, as those of
`deniable.vectors`, has no such bits. The attacker ``precision`` of `deniable.auditing.attackers` learns
from runs of its own how many bits each input leaves, and guesses by them alone. What a mechanism loses besides is seen
when its outputs are rounded to a grid, which takes those bits away.
"""

import numpy as np
import numpy.typing as npt

_MANTISSA_BITS = 53
_GRID_BITS = 20
"""The grid's step is between 2^-21 and 2^-20 of the spread of the outputs: far finer than what values can tell."""


def count_fractional_bits(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return the least k, for each number, with y 2^k an integer; 0 for y = 0, negative for large round numbers."""
    mantissa, exponent = np.frexp(values)
    digits = np.ldexp(np.abs(mantissa), _MANTISSA_BITS).astype(np.int64)
    is_zero = digits == 0
    _, last_bit = np.frexp(
        np.where(is_zero, 1, digits & -digits).astype(np.float64)
    )  # the last bit set is 2^(last - 1)
    bits: npt.NDArray[np.int64] = np.where(is_zero, 0, _MANTISSA_BITS - exponent.astype(np.int64) - (last_bit - 1))
    return bits


def choose_grid_exponent(values: npt.NDArray[np.float64]) -> int:
    """Return k: outputs (m, n) such as these are to be rounded to multiples of 2^k.

    By the least median distance from the median of any of the n numbers that vary at all.
    """
    spreads = np.median(np.abs(values - np.median(values, axis=0)), axis=0)
    positive_spreads = spreads[spreads > 0]
    return int(np.frexp(positive_spreads.min() if len(positive_spreads) else 1.0)[1]) - 1 - _GRID_BITS


def round_to_grid(values: npt.NDArray[np.float64], exponent: int) -> npt.NDArray[np.float64]:
    """Return the nearest multiples of 2^exponent; numbers too large for the grid are multiples already."""
    with np.errstate(over="ignore"):
        steps = np.rint(np.ldexp(values, -exponent))
        rounded: npt.NDArray[np.float64] = np.where(np.isfinite(steps), np.ldexp(steps, exponent), values)
    return rounded
