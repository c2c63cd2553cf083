"""How numbers read, the same in every command, certificate and page; rounding, and roots of functions."""

import decimal
import math
from collections.abc import Callable

_LARGEST_WHOLE = 10**15
"""Numbers from which on powers of ten are shown."""
_WHOLE_FROM = 100
"""Numbers from which on no decimals are shown."""


def format_number(value: float) -> str:
    """Return a number for people: three figures, or from 100 on the nearest whole number with separators."""
    return f"{value:,.0f}" if value >= _WHOLE_FROM else f"{value:.3g}"


def format_exact(value: float) -> str:
    """Return the shortest decimal number that is read back as the very same float."""
    short_text = f"{value:g}"
    return short_text if float(short_text) == value else repr(float(value))


def format_upper(value: float, digits: int = 3) -> str:
    """Return the least decimal number that is at least a value: how every upper bound is shown.

    Args:
        value: of either sign, or infinite.
        digits: significant digits, at most 15; numbers of more digits before the point are shown whole.
    """
    return _format_outward(value, digits, decimal.ROUND_CEILING)


def format_lower(value: float, digits: int = 3) -> str:
    """Return the largest decimal number that is at most a value: how every lower bound is shown; see `format_upper`."""
    return _format_outward(value, digits, decimal.ROUND_FLOOR)


def _format_outward(value: float, digits: int, rounding: str) -> str:
    """Return a number rounded one way; what has no more digits than asked for is shown as it is read."""
    if not math.isfinite(value):
        return f"{value:g}"
    number = decimal.Decimal(repr(float(value)))
    rounded = decimal.Context(prec=digits, rounding=rounding).plus(number)
    if 10**digits <= abs(rounded) < _LARGEST_WHOLE:
        return f"{int(number.to_integral_value(rounding)):,}"
    # A float tells 15 decimal digits apart, so that formatting what was rounded rounds no more.
    return f"{float(rounded):,.{digits}g}"


def round_down(value: float, digits: int) -> float:
    """Return the largest float of so many decimal digits that is at most a positive value."""
    nearest = float(f"{value:.{digits}g}")
    if nearest <= value:
        return nearest
    return float(decimal.Context(prec=digits, rounding=decimal.ROUND_DOWN).create_decimal(value))


def find_root(function: Callable[[float], float], low: float, high: float, tolerance: float) -> float:
    """Return where a continuous function crosses 0, within a tolerance: f(low) <= 0 < f(high).

    By the Illinois variant of false position (Dowell and Jarratt 1971), with a bisection wherever three steps have not
    halved the interval.
    """
    low_value, high_value = function(low), function(high)
    kept_end, checked_width, steps = 0, high - low, 0
    while high - low > tolerance and low_value < 0:
        steps += 1
        middle = (low * high_value - high * low_value) / (high_value - low_value)
        if steps % 3 == 0:
            if high - low > checked_width / 2:
                middle, kept_end = (low + high) / 2, 0
            checked_width = high - low
        if not low < middle < high:
            middle = (low + high) / 2
        if middle in (low, high):
            break
        value = function(middle)
        if value <= 0:
            low, low_value = middle, value
            high_value /= 2 if kept_end > 0 else 1
            kept_end = 1
        else:
            high, high_value = middle, value
            low_value /= 2 if kept_end < 0 else 1
            kept_end = -1
    return low
