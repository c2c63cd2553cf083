"""Guarantees of several units: against Gaussian DP in 60 digits, and what certificates say."""

import math
import re

import mpmath
import pytest

from deniable.core.numbers import format_upper
from deniable.persons.budget import Budget, Measurement
from deniable.persons.group_privacy import GROUP_SIZES, bound_group_epsilon, describe_groups

SUMS = (Measurement("sums", 1.0, 1_000, 24),)


@pytest.mark.parametrize("size", [1, *GROUP_SIZES, 100])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.01, 1e-6), (1.0, 1e-5), (8.0, 1e-9), (200.0, 1e-6)])
def test_groups_have_the_gaussian_guarantee(epsilon, delta, size):
    """k units have delta at the returned epsilon by k-fold sensitivity in 60 digits, and not at a thousandth less."""
    budget = Budget(epsilon, delta, "record", SUMS)
    found = bound_group_epsilon(budget, size)
    bound = budget.compute_norm_bound("sums")
    with mpmath.workdps(60):
        mu = size * mpmath.sqrt(24) * bound / budget.describe_measurements()[0]["noise"]

        def compute_delta(claim):
            return mpmath.ncdf(-claim / mu + mu / 2) - mpmath.exp(claim) * mpmath.ncdf(-claim / mu - mu / 2)

        assert compute_delta(mpmath.mpf(found)) <= delta
        assert compute_delta(mpmath.mpf(found) * mpmath.mpf("0.999")) > delta
    if size == 1:
        assert found == pytest.approx(epsilon, rel=1e-4)


def test_lines_for_certificates():
    """Records as units have a line for each size, persons none; a selection of keys has what group privacy gives."""
    assert describe_groups(Budget(1.0, 1e-6, "person", SUMS)) == []
    lines = describe_groups(Budget(1.0, 1e-6, "record", SUMS))
    assert [line.split(":")[0] for line in lines] == [f"a person with {size} records" for size in GROUP_SIZES]
    assert all(line.endswith("at delta 1e-06") for line in lines)
    selecting = Budget(2.0, 1e-6, "record", SUMS, selection_delta=5e-7)
    assert describe_groups(selecting) == [
        f"a person with 2 records: epsilon 4 at delta {format_upper(2 * math.exp(2) * 1e-6)}",
        f"a person with 5 records: epsilon 10 at delta {format_upper(5 * math.exp(8) * 1e-6)}",
        "a person with 10 records: nothing",
    ]


def parse_promise(line):
    """Return epsilon and delta of a line, as a reader takes them."""
    epsilon, delta = re.fullmatch(r"a person with \d+ records: epsilon (\S+) at delta (\S+)", line).groups()
    return mpmath.mpf(epsilon.replace(",", "")), mpmath.mpf(delta)


@pytest.mark.parametrize("delta", [1e-5, 1e-6, 1 / 300_000])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 3.3, 8.0, 20.0, 50.0])
def test_groups_have_what_is_printed(epsilon, delta):
    """The epsilon of each line holds at the delta of that line, both as printed, by the exact formula in 60 digits."""
    budget = Budget(epsilon, delta, "record", SUMS)
    noise, bound = budget.describe_measurements()[0]["noise"], budget.compute_norm_bound("sums")
    for size, line in zip(GROUP_SIZES, describe_groups(budget), strict=True):
        with mpmath.workdps(60):
            claim, printed_delta = parse_promise(line)
            mu = size * mpmath.sqrt(24) * bound / noise
            exact = mpmath.ncdf(mu / 2 - claim / mu) - mpmath.exp(claim) * mpmath.ncdf(-claim / mu - mu / 2)
            assert exact <= printed_delta


@pytest.mark.parametrize("epsilon", [0.1, 0.55, 1.0, 1.234567])
def test_groups_with_a_selection_have_what_is_printed(epsilon):
    """Where words are selected, both printed numbers are at least those of group privacy in 60 digits."""
    budget = Budget(epsilon, 1e-6, "record", SUMS, selection_delta=5e-7)
    for size, line in zip(GROUP_SIZES, describe_groups(budget), strict=True):
        with mpmath.workdps(60):
            whole = mpmath.exp((size - 1) * mpmath.mpf(epsilon)) * size * mpmath.mpf(1e-6)
            if whole < 1:
                claim, printed_delta = parse_promise(line)
                assert claim >= mpmath.mpf(repr(epsilon)) * size
                assert whole <= printed_delta <= mpmath.mpf("1.01") * whole
            else:
                assert line.endswith(": nothing")
