"""The errors that deniable raises, and the one form of message they share."""

import math
from numbers import Real

_MAX_SHOWN = 200
"""Characters of a value that a message shows."""


class DeniableError(Exception):
    """Base of every error that deniable raises on purpose; its text is one line."""


class InputError(DeniableError, ValueError):
    """A value, option or file cannot be used; the message names it and the fix."""


class NotTractable(DeniableError):  # noqa: N818 - the name is part of the public surface
    """No exact output law is known, or computing it would cost too much."""


def make_parameter_error(owner: str, name: str, expected: str, value: object) -> InputError:
    """Return the error for a parameter outside its domain.

    Example: ``The 'epsilon' parameter of TEM must be a float in (0, inf). Got -1.``
    """
    return InputError(f"The {name!r} parameter of {owner} must be {expected}. Got {abbreviate_value(value)}.")


def abbreviate_value(value: object) -> str:
    """Return a value as a message shows it: on one line, and cut off where it is long."""
    shown = " ".join(repr(value).split())
    return f"{shown[:_MAX_SHOWN]}..." if len(shown) > _MAX_SHOWN else shown


def check_positive(owner: str, name: str, value: object, upper: float = math.inf) -> float:
    """Return ``value`` as a float if it lies in (0, upper), else raise `InputError`."""
    expected = f"a float in (0, {upper:g})"
    if isinstance(value, bool) or not isinstance(value, Real):
        raise make_parameter_error(owner, name, expected, value)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not 0 < number < upper:
        raise make_parameter_error(owner, name, expected, value)
    return number
