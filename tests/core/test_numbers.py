"""Numbers for people and numbers that are read back."""

import pytest

from deniable.core.numbers import format_exact, format_number


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
