"""How numbers read, the same in every command, certificate and page: bounds rounded outward.

Where a growing predicate turns true, and where a continuous function crosses 0.
"""

import decimal
import math
from bisect import bisect_left
from collections.abc import Callable

_LARGEST_WHOLE = 10**15
"""Numbers from which on powers of ten are shown."""
_PRECISE = decimal.Context(prec=400)
"""Digits enough for any float, and for logarithms and powers that are rounded afterwards."""
_MAX_PLAIN_LOSS = math.log(1000)
"""Losses up to which odds are shown as a plain number."""


def format_exact(value: float | decimal.Decimal) -> str:
    """Return the shortest decimal number that is read back as the very same number: how a user's own is shown."""
    if isinstance(value, decimal.Decimal) and value.is_finite():
        return f"{value.normalize(_PRECISE):f}"
    short_text = f"{value:g}"
    return short_text if float(short_text) == value else repr(float(value))


def format_upper(value: float | decimal.Decimal, digits: int = 3, *, decimals: int | None = None) -> str:
    """Return the least decimal number that is at least a value: how every upper bound is shown.

    Args:
        value: of either sign, or infinite.
        digits: significant digits, at most 15; numbers of more digits before the point are shown whole.
        decimals: digits after the point, in place of significant ones, where numbers stand in a column.
    """
    return _format_outward(value, digits, decimals, decimal.ROUND_CEILING)


def format_lower(value: float | decimal.Decimal, digits: int = 3, *, decimals: int | None = None) -> str:
    """Return the largest decimal number that is at most a value: how every lower bound is shown; see `format_upper`."""
    return _format_outward(value, digits, decimals, decimal.ROUND_FLOOR)


def format_beside(claim: float, bound: float, format_bound: Callable[..., str]) -> str:
    """Return a bound in 6 digits, or in full where rounding would change whether it is above the claim beside it.

    Args:
        claim: shown by `format_exact`.
        bound: on what is claimed.
        format_bound: `format_upper` or `format_lower`.
    """
    text = format_bound(bound, 6)
    shown = float(text.replace(",", ""))
    return text if (shown > claim) == (bound > claim) else format_exact(bound)


def format_odds(loss: float, format_bound: Callable[..., str]) -> str:
    """Return exp(loss) in plain figures, from 1,000 on as a power of ten.

    Args:
        loss: >= 0, in nats.
        format_bound: `format_upper` or `format_lower`.
    """
    exact_loss = decimal.Decimal(loss)
    if loss < _MAX_PLAIN_LOSS:
        return format_bound(exact_loss.exp(_PRECISE))
    exponent = _PRECISE.divide(exact_loss, decimal.Decimal(10).ln(_PRECISE))
    return f"10^{format_bound(exponent, decimals=1)}".replace(",", "")


def as_percent(share: float) -> decimal.Decimal:
    """Return 100 times a share, without any rounding, for the formatters of this module."""
    return 100 * _read_decimal(share)


def format_upper_percent(share: float) -> str:
    """Return the least percentage of one decimal that is at least a share, which may round to a little more than 1."""
    return f"{format_upper(as_percent(min(share, 1.0)), decimals=1)}%"


def round_up(value: float, digits: int) -> float:
    """Return the least float of so many decimal digits that is at least a value."""
    return float(_round_outward(_read_decimal(value), digits, decimal.ROUND_CEILING))


def round_down(value: float, digits: int) -> float:
    """Return the largest float of so many decimal digits that is at most a value."""
    return float(_round_outward(_read_decimal(value), digits, decimal.ROUND_FLOOR))


def _format_outward(value: float | decimal.Decimal, digits: int, decimals: int | None, rounding: str) -> str:
    """Return a number rounded one way; what has no more digits than asked for is shown as it is read."""
    number = _read_decimal(value)
    if not number.is_finite():
        return f"{float(number):g}"
    if decimals is not None:
        rounded = number.quantize(decimal.Decimal(1).scaleb(-decimals), rounding, _PRECISE)
        return f"{rounded or abs(rounded):,f}"
    rounded = _round_outward(number, digits, rounding)
    if 10**digits <= abs(rounded) < _LARGEST_WHOLE:
        return f"{int(number.to_integral_value(rounding)):,}"
    # A float tells 15 decimal digits apart, so that formatting what was rounded rounds no more.
    return f"{float(rounded):,.{digits}g}"


def _read_decimal(value: float | decimal.Decimal) -> decimal.Decimal:
    """Return the shortest decimal number that is read as a float."""
    return value if isinstance(value, decimal.Decimal) else decimal.Decimal(repr(float(value)))


def _round_outward(number: decimal.Decimal, digits: int, rounding: str) -> decimal.Decimal:
    return decimal.Context(prec=digits, rounding=rounding).plus(number)


_STEPS = 60
"""Halvings after which the ends of most intervals are neighbouring floats."""


def bisect(
    is_above: Callable[[float], bool], low: float, high: float, *, limit: float | None = None, steps: int = _STEPS
) -> tuple[float, float]:
    """The ends of a small interval in which a growing predicate turns true: false at the first, true at the second.

    What must not be too large takes the first, what must not be too small the second: neither lies beyond the turn,
    however early the search ends.

    Args:
        is_above: false at ``low``, true at ``high``.
        low: an end, not evaluated.
        high: the other, > 0 and evaluated where there is a limit.
        limit: up to which ``high`` is doubled until the predicate is true; where it never is, the second is infinite.
            None where it is true at ``high``.
        steps: halvings.
    """
    while limit is not None and not is_above(high):
        low, high = high, 2 * high
        if high > limit:
            return low, math.inf
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (low, middle) if is_above(middle) else (middle, high)
    return low, high


def find_least_count(holds: Callable[[int], bool], maximum: int) -> int:
    """The least number from 1 to a maximum at which a growing predicate holds; maximum + 1 if none does."""
    return bisect_left(range(maximum + 1), True, lo=1, key=holds)  # noqa: FBT003 - False < True


def find_root(function: Callable[[float], float], low: float, high: float, tolerance: float) -> float:
    """Where a continuous function crosses 0, within a tolerance: f(low) <= 0 < f(high).

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
