"""The last bits of floats, against rational arithmetic."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.auditing.precision import fractional_bits


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
    assert fractional_bits(np.array(values)).tolist() == [bits(value) for value in values]


@given(st.integers(-(2**53), 2**53), st.integers(-60, 60))
def test_of_numbers_on_a_grid(steps, exponent):
    """A multiple of 2^-e has at most e bits behind the point."""
    assert steps == 0 or fractional_bits(np.array([math.ldexp(steps, -exponent)]))[0] <= exponent


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.0, 0), (-0.0, 0), (1.0, 0), (-3.0, 0), (0.5, 1), (-0.75, 2), (6.0, -1), (1024.0, -10), (0.1, 55),
        (5e-324, 1074), (-1.5e-323, 1074), (2.0**-1022, 1022), (2.0**1023, -1023), (1.7976931348623157e308, -971),
    ],
)  # fmt: skip
def test_known_numbers(value, expected):
    """Zeros of both signs, integers, the smallest and the largest floats."""
    assert fractional_bits(np.array([value])).tolist() == [expected]


def test_shape_is_kept():
    """An array (m, n) gives integers (m, n)."""
    found = fractional_bits(np.array([[0.5, 1.0, 0.25], [3.0, 0.125, 0.0]]))
    assert found.tolist() == [[1, 0, 2], [0, 3, 0]]
    assert found.dtype == np.int64
