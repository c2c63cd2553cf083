"""Searches: both ends of a turn, doubled ends, least counts, roots."""

import math
from unittest import mock

import pytest

from deniable.core.numbers import bisect, find_least_count, find_root


@pytest.mark.parametrize(("high", "limit"), [(8.0, None), (1.0, 100.0), (0.5, math.inf), (100.0, 100.0)])
def test_the_ends_lie_on_both_sides_of_the_turn(high, limit):
    """The predicate is false at the first end and true at the second, which are neighbouring floats."""
    low, found = bisect(lambda x: x * x > 2, 0.0, high, limit=limit)
    assert low * low <= 2 < found * found
    assert found == pytest.approx(low, rel=1e-15)


def test_an_end_that_is_doubled_in_vain_is_infinite():
    """Where the predicate is true nowhere up to the limit, the first end is the last number that was tried."""
    assert bisect(lambda x: x > 1000, 0.0, 1.0, limit=100.0) == (64.0, math.inf)


def test_an_interval_without_a_width_has_two_equal_ends():
    """Nothing lies between 0 and 0."""
    assert bisect(lambda x: x > 1, 0.0, 0.0) == (0.0, 0.0)


def test_few_steps_leave_a_wide_interval_around_the_turn():
    """Both ends are valid however early the search ends."""
    low, high = bisect(lambda x: x >= 0.3, 0.0, 1.0, steps=3)
    assert (low, high) == (0.25, 0.375)


@pytest.mark.parametrize("least", [1, 2, 57, 100, 101])
def test_least_counts(least):
    """The least count at which a predicate holds is found, and one more than the maximum where there is none."""
    assert find_least_count(lambda count: count >= least, 100) == least


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
    counted = mock.Mock(side_effect=function)
    assert find_root(counted, 0.0, 3.0, 1e-12) == pytest.approx(root, abs=2e-12)
    assert counted.call_count < 60
