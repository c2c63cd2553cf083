"""The errors of the package: one line, the value and its domain."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from deniable.core.errors import (
    DeniableError,
    InputError,
    NotTractable,
    check_count,
    check_fraction,
    check_number_within,
    check_positive,
    escape_unprintable,
    is_interruption,
    make_parameter_error,
)


def test_all_errors_are_of_one_family():
    """Both kinds can be caught as one, and a bad input also as a ValueError."""
    assert issubclass(InputError, DeniableError)
    assert issubclass(InputError, ValueError)
    assert issubclass(NotTractable, DeniableError)
    assert not issubclass(NotTractable, ValueError)


def test_interruptions():
    """A Ctrl-C is known as one, and so is what was raised because of it, however far back; nothing else is."""
    assert is_interruption(KeyboardInterrupt())
    caused, handled = SystemError("an exception set"), InputError("failed")
    caused.__cause__ = KeyboardInterrupt()
    handled.__context__ = caused
    assert is_interruption(caused)
    assert is_interruption(handled)
    assert not is_interruption(None)
    assert not is_interruption(SystemError("an exception set"))
    assert not is_interruption(SystemExit(1))


def test_a_message_is_the_documented_one():
    """It names parameter, owner, domain and value."""
    error = make_parameter_error("TEM", "epsilon", "a float in (0, inf)", -1)
    assert str(error) == "The 'epsilon' parameter of TEM must be a float in (0, inf). Got -1."
    assert isinstance(error, InputError)


def test_a_message_stays_one_short_line():
    """Line breaks in a value become spaces, and a long value is cut."""
    text = str(make_parameter_error("TEM", "epsilon", "a float", np.zeros((40, 40))))
    assert "\n" not in text
    assert text.endswith("shape=(40, 40)).")
    assert "Got array([[0., 0., " in text
    assert " ... " in text
    assert len(text) < 300


@pytest.mark.parametrize("value", [1, 0.5, np.float32(0.25), np.int64(3), Fraction(1, 3), 5e-324])
def test_positive_numbers_of_any_type_become_floats(value):
    """Integers, fractions and numpy's numbers pass, as float."""
    assert check_positive("TEM", "epsilon", value) == float(value)
    assert type(check_positive("TEM", "epsilon", value)) is float


@pytest.mark.parametrize(
    "value", [0, -1, math.nan, math.inf, True, "1", None, Decimal(1), 1j, [1.0], 10**400, Fraction(1, 10**400)]
)
def test_what_is_no_positive_number_is_refused(value):
    """Zero, negative, infinite, too large, no number or no real one: the error names the value's domain."""
    with pytest.raises(InputError, match=r"'epsilon' parameter of TEM must be a float in \(0, inf\)\. Got "):
        check_positive("TEM", "epsilon", value)


def test_an_upper_bound_is_exclusive():
    """Values at the bound or above it are refused, those below it are not."""
    assert check_positive("Gaussian", "delta", 0.999, 1.0) == 0.999
    with pytest.raises(InputError, match=r"a float in \(0, 1\)\. Got 1\.0"):
        check_positive("Gaussian", "delta", 1.0, 1.0)


@pytest.mark.parametrize("value", [1, 3, np.int64(2)])
def test_a_count_is_returned_as_an_int(value):
    """Integers of Python and numpy within the limits pass, as ints."""
    number = check_count("training", "epochs", value, maximum=3)
    assert type(number) is int
    assert number == value


@pytest.mark.parametrize("value", [0, 4, True, 2.0, "2", None])
def test_what_is_no_count_is_refused(value):
    """Integers outside the limits, truth values, floats and texts: the error names both limits."""
    with pytest.raises(InputError, match=r"'epochs' parameter of training must be an int from 1 to 3\. Got "):
        check_count("training", "epochs", value, maximum=3)


def test_a_count_without_a_maximum_has_a_minimum_only():
    """Without a maximum the error names the minimum, and large numbers pass."""
    assert check_count("the measure", "folds", 10**12, minimum=2) == 10**12
    with pytest.raises(InputError, match=r"must be an int of at least 2\. Got 1\."):
        check_count("the measure", "folds", 1, minimum=2)


def test_the_limits_of_a_range_belong_to_it():
    """Both ends pass; what lies beyond them, is not a number or is too large for a float does not."""
    assert [check_number_within("training", "kappa", value, 0, 1) for value in (0, 0.5, 1)] == [0.0, 0.5, 1.0]
    for value in (-1e-9, 1.1, math.nan, True, "0.5", 10**400):
        with pytest.raises(InputError, match=r"'kappa' parameter of training must be a float in \[0, 1\]\. Got "):
            check_number_within("training", "kappa", value, 0, 1)


def test_a_fraction_may_be_zero_and_not_one():
    """0 passes, 1 and what is no number do not."""
    assert check_fraction("training", "average", 0) == 0.0
    for value in (1, -0.1, math.nan, None):
        with pytest.raises(InputError, match=r"must be a float in \[0, 1\)\. Got "):
            check_fraction("training", "average", value)


def test_what_moves_the_cursor_is_escaped():
    """Control characters, changes of direction, line ends and halves of pairs are shown as codes; letters stay."""
    assert escape_unprintable("日本 é\x1b[2J") == "日本 é\\u001b[2J"
    assert escape_unprintable("a\u202eb\n\ud800") == "a\\u202eb\\u000a\\ud800"
