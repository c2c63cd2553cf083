"""Numbers for people, numbers that are read back, rounding and roots."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.core.numbers import find_root, format_exact, format_lower, format_number, format_upper, round_down


@pytest.mark.parametrize(
    ("value", "text"),
    [(2613.4, "2,613"), (100.0, "100"), (99.96, "100"), (12.345, "12.3"), (0.012345, "0.0123"), (7e9, "7,000,000,000")],
)
def test_numbers_for_people(value, text):
    """A number has three figures, or from 100 on is whole with separators, and never has an exponent there."""
    assert format_number(value) == text


@pytest.mark.parametrize("value", [2.49, 3.0, 0.1 + 0.2, 1 / 3, 1234567.25, 1e-9, 5e22])
def test_numbers_that_are_read_back(value):
    """An exact number is read back as the same float, without decimals that it does not need."""
    assert float(format_exact(value)) == value
    assert len(format_exact(value)) <= len(repr(value))


@pytest.mark.parametrize(
    ("value", "upper", "lower"),
    [
        (163.42, "164", "163"),
        (1930.22, "1,931", "1,930"),
        (1930.0, "1,930", "1,930"),
        (999.6, "1,000", "999"),
        (2.3, "2.3", "2.3"),
        (0.1, "0.1", "0.1"),
        (1.00049, "1.01", "1"),
        (-2.346, "-2.34", "-2.35"),
        (1e-6, "1e-06", "1e-06"),
        (1.2345e20, "1.24e+20", "1.23e+20"),
        (math.inf, "inf", "inf"),
        (0.0, "0", "0"),
    ],
)
def test_bounds_for_people(value, upper, lower):
    """An upper bound is rounded up and a lower bound down; what needs no rounding is shown as it is."""
    assert (format_upper(value), format_lower(value)) == (upper, lower)


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(1, 15))
def test_bounds_hold_as_printed(value, digits):
    """What is printed bounds the value from the side that it is printed for, however many digits are asked for."""
    upper, lower = (float(text.replace(",", "")) for text in (format_upper(value, digits), format_lower(value, digits)))
    assert lower <= value <= upper


@pytest.mark.parametrize("value", [2.551025532987, 9.99999999999e-7, 12345678912345.0, 1.0, 0.3, 0.100000001])
@pytest.mark.parametrize("digits", [3, 9])
def test_rounding_down(value, digits):
    """It never goes up, by less than a unit of the last digit down, and leaves what it has rounded."""
    rounded = round_down(value, digits)
    assert rounded <= value < rounded * (1 + 1.001 * 10.0 ** (1 - digits))
    assert float(f"{rounded:.{digits}g}") == rounded == round_down(rounded, digits)


@pytest.mark.parametrize(
    ("function", "root"),
    [
        (lambda x: x * x - 2, math.sqrt(2)),
        (lambda x: math.exp(20 * x) - 1e6, math.log(1e6) / 20),
        (lambda x: max(x - 0.3, 10 * (x - 0.5)), 0.3),
        (lambda x: -1 if x < 0.123 else 1, 0.123),
        (lambda x: x - 2, 2),
    ],
)
def test_roots(function, root):
    """The root of a function, smooth or not, is found within the tolerance, in few steps."""
    steps = []

    def count_steps(x):
        steps.append(x)
        return function(x)

    assert find_root(count_steps, 0.0, 3.0, 1e-12) == pytest.approx(root, abs=2e-12)
    assert len(steps) < 60
