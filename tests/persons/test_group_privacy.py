"""Guarantees of several units: against Gaussian DP in 60 digits, and what certificates say."""

import math

import mpmath
import pytest

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
        f"a person with 2 records: epsilon 4 at delta {2 * math.exp(2) * 1e-6:.2g}",
        f"a person with 5 records: epsilon 10 at delta {5 * math.exp(8) * 1e-6:.2g}",
        "a person with 10 records: nothing",
    ]
