"""Numbers for people, numbers that are read back, rounding and roots."""

import decimal
import math

import mpmath
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deniable.core.numbers import (
    as_percent,
    format_beside,
    format_exact,
    format_lower,
    format_odds,
    format_upper,
    round_down,
    round_up,
)


def parse(text):
    """Return what a reader takes a number for, exactly."""
    return decimal.Decimal(text.replace(",", ""))


@pytest.mark.parametrize("value", [2.49, 3.0, 0.1 + 0.2, 1 / 3, 1234567.25, 1e-9, 5e22])
def test_numbers_that_are_read_back(value):
    """An exact number is read back as the same float, without decimals that it does not need."""
    assert float(format_exact(value)) == value
    assert len(format_exact(value)) <= len(repr(value))


@settings(max_examples=30)
@given(st.floats(1e-300, 1e6), st.floats(-1e-6, 1e-6))
def test_a_bound_beside_a_claim(claim, excess):
    """What is printed holds, and is above the claim just where the bound is."""
    bound = claim + claim * excess
    upper, lower = (parse(format_beside(claim, bound, each)) for each in (format_upper, format_lower))
    assert lower <= decimal.Decimal(repr(bound)) <= upper
    assert (float(lower) > claim) == (float(upper) > claim) == (bound > claim)


@pytest.mark.parametrize(
    ("value", "decimals", "upper", "lower"),
    [
        (163.42, None, "164", "163"),
        (1930.22, None, "1,931", "1,930"),
        (1930.0, None, "1,930", "1,930"),
        (999.6, None, "1,000", "999"),
        (2.3, None, "2.3", "2.3"),
        (1.00049, None, "1.01", "1"),
        (-2.346, None, "-2.34", "-2.35"),
        (1e-6, None, "1e-06", "1e-06"),
        (1.2345e20, None, "1.24e+20", "1.23e+20"),
        (math.inf, None, "inf", "inf"),
        (0.0, None, "0", "0"),
        (12.34, 1, "12.4", "12.3"),
        (12.3, 1, "12.3", "12.3"),
        (0.0004, 3, "0.001", "0.000"),
        (-0.04, 1, "0.0", "-0.1"),
        (1234.5, 0, "1,235", "1,234"),
        (math.inf, 1, "inf", "inf"),
        (1e300, 0, f"{10**300:,}", f"{10**300:,}"),
    ],
)
def test_bounds_for_people(value, decimals, upper, lower):
    """An upper bound is rounded up and a lower bound down, also to a number of decimals; an exact one is left."""
    assert (format_upper(value, decimals=decimals), format_lower(value, decimals=decimals)) == (upper, lower)


@settings(max_examples=30)
@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(1, 15))
def test_bounds_hold_as_printed(value, digits):
    """What is printed bounds the value from the side that it is printed for, however many digits are asked for."""
    upper, lower = (float(text.replace(",", "")) for text in (format_upper(value, digits), format_lower(value, digits)))
    assert lower <= value <= upper


@settings(max_examples=30)
@given(st.floats(0, 1), st.integers(0, 6))
@example(0.07, 1)
@example(0.12300000000000001, 1)
@example(0.57, 0)
def test_shares_in_percent(share, decimals):
    """A share in percent is scaled without rounding, and then bounds the share from its side by less than a digit."""
    percent = decimal.Decimal(repr(share)).scaleb(2)
    upper = parse(format_upper(as_percent(share), decimals=decimals))
    lower = parse(format_lower(as_percent(share), decimals=decimals))
    assert lower <= percent <= upper
    assert upper - lower <= decimal.Decimal(1).scaleb(-decimals)
    assert parse(format_exact(as_percent(share))) == percent == parse(format_exact(as_percent(share)))


def test_odds():
    """Odds are plain figures below 1,000, powers of ten beyond, and bound the exact ones from their side."""
    losses = [number / 10 for number in range(1, 250)]
    with mpmath.workdps(60):
        for loss in losses:
            upper, lower = format_odds(loss, format_upper), format_odds(loss, format_lower)
            (low, high) = (
                mpmath.mpf(10) ** mpmath.mpf(text[3:]) if text.startswith("10^") else mpmath.mpf(text.replace(",", ""))
                for text in (lower, upper)
            )
            assert low < mpmath.exp(mpmath.mpf(loss)) < high <= low * mpmath.mpf(10) ** mpmath.mpf("0.1001")
            assert upper.startswith("10^") == (loss >= math.log(1000))
    assert (format_odds(0.0, format_upper), format_odds(0.0, format_lower)) == ("1", "1")
    assert format_odds(math.log(6.31) + 1e-9, format_upper) == "6.32"
    assert format_odds(math.inf, format_upper) == "10^inf"


@settings(max_examples=30)
@given(st.floats(1e-300, 1e300), st.integers(1, 12))
@example(999.96, 4)
@example(0.1 + 0.2, 4)
@example(9.99999999999e-7, 9)
def test_rounded_numbers(value, digits):
    """Rounded numbers lie on their side by less than a unit of the last digit, and are left when rounded again."""
    down, up = round_down(value, digits), round_up(value, digits)
    assert down <= value <= up
    assert up <= down * (1 + 1.001 * 10.0 ** (1 - digits))
    for rounded in (down, up):
        assert float(f"{rounded:.{digits}g}") == rounded == round_down(rounded, digits) == round_up(rounded, digits)
