"""The last bits of floats, against rational arithmetic."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.auditing.float_precision import choose_grid_exponent, count_fractional_bits, round_to_grid


def bits(value):
    """Return the least k with value 2^k an integer, by fractions; 0 for 0."""
    exact = Fraction(value)
    if exact == 0:
        return 0
    if exact.denominator > 1:
        return exact.denominator.bit_length() - 1
    return 1 - (exact.numerator & -exact.numerator).bit_length()


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_against_fractions(values):
    """For any finite floats, subnormal ones among them, k is that of rational arithmetic."""
    assert count_fractional_bits(np.array(values)).tolist() == [bits(value) for value in values]


@given(st.integers(-(2**53), 2**53), st.integers(-60, 60))
def test_of_numbers_on_a_grid(steps, exponent):
    """A multiple of 2^-e has at most e bits behind the point."""
    assert steps == 0 or count_fractional_bits(np.array([math.ldexp(steps, -exponent)]))[0] <= exponent


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.0, 0), (-0.0, 0), (1.0, 0), (-3.0, 0), (0.5, 1), (-0.75, 2), (6.0, -1), (1024.0, -10), (0.1, 55),
        (5e-324, 1074), (-1.5e-323, 1074), (2.0**-1022, 1022), (2.0**1023, -1023), (1.7976931348623157e308, -971),
    ],
)  # fmt: skip
def test_known_numbers(value, expected):
    """Zeros of both signs, integers, the smallest and the largest floats."""
    assert count_fractional_bits(np.array([value])).tolist() == [expected]


def test_shape_is_kept():
    """An array (m, n) gives integers (m, n)."""
    found = count_fractional_bits(np.array([[0.5, 1.0, 0.25], [3.0, 0.125, 0.0]]))
    assert found.tolist() == [[1, 0, 2], [0, 3, 0]]
    assert found.dtype == np.int64


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20), st.integers(-300, 300))
def test_rounding_is_to_the_nearest_multiple(values, exponent):
    """Rounded numbers have no bit below the grid, and lie within half a step of what they were."""
    given_values = np.array(values)
    rounded = round_to_grid(given_values, exponent)
    assert (count_fractional_bits(rounded)[rounded != 0] <= -exponent).all()
    for one, other in zip(values, rounded.tolist(), strict=True):
        assert abs(Fraction(one) - Fraction(other)) <= Fraction(2) ** (exponent - 1)


@pytest.mark.parametrize("scale", [1e-200, 1e-3, 1.0, 7.0, 1e200])
def test_grid_is_a_millionth_of_the_spread(scale):
    """The step is from 2^-22 to 2^-20 of the least spread of a number that varies, whatever its place and size."""
    noise = np.random.default_rng(0).laplace(scale=scale, size=(2_000, 3)) * [1, 5, 0] + [0, 0, 3 * scale]
    spread = np.median(np.abs(noise[:, 0] - np.median(noise[:, 0])))
    assert 2.0**-22 < math.ldexp(1.0, choose_grid_exponent(noise)) / spread <= 2.0**-20
    assert choose_grid_exponent(np.full((10, 2), scale)) == -20
