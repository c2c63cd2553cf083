"""How numbers read, the same in every command, certificate and page; rounding, and roots of functions."""

import decimal
from collections.abc import Callable

_WHOLE_FROM = 100
"""Numbers from which on no decimals are shown."""


def format_number(value: float) -> str:
    """Return a number for people: three figures, or from 100 on the nearest whole number with separators."""
    return f"{value:,.0f}" if value >= _WHOLE_FROM else f"{value:.3g}"


def format_exact(value: float) -> str:
    """Return the shortest decimal number that is read back as the very same float."""
    short_text = f"{value:g}"
    return short_text if float(short_text) == value else repr(float(value))


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
