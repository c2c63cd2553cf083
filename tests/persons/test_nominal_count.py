"""The nominal number of units: declared, or the true one with noise of the promised deviation."""

import numpy as np
import pytest
from scipy import stats

from deniable.core.errors import InputError
from deniable.persons.budget import NOISE_STEPS, Budget, Measurement
from deniable.persons.collection import group_rows
from deniable.persons.nominal_count import COUNT_MEASUREMENT, find_nominal_count, plan_count_measurement
from deniable.vectors.discrete_noise import make_noise_generator
from tests.contracts.statistics import THRESHOLD

BUDGET = Budget(1.0, 1e-6, "person", (Measurement("others", 1.0, 10), *plan_count_measurement(None)))


def test_a_declared_number_costs_nothing():
    """A declared number is taken as it is, whatever the true one, and needs no measurement."""
    assert plan_count_measurement(7) == ()
    count = find_nominal_count(7, BUDGET, group_rows(100), make_noise_generator(0))
    assert (count.value, count.source) == (7, "declared")
    with pytest.raises(InputError, match="'records' parameter"):
        find_nominal_count(0, BUDGET, group_rows(100), make_noise_generator(0))


def test_a_measured_number_has_the_noise_of_its_share():
    """Numbers fit the true one with deviation s / B, and no deviation 30 % off; a person with many rows counts once."""
    units = group_rows(3_000, [row // 3 for row in range(3_000)])
    generator = make_noise_generator(1)
    values = np.array([find_nominal_count(None, BUDGET, units, generator).value for _ in range(3_000)])
    deviation = NOISE_STEPS / BUDGET.compute_norm_bound(COUNT_MEASUREMENT)
    noise = (values - 1_000 + np.random.default_rng(0).uniform(-0.5, 0.5, 3_000)) / deviation
    assert stats.kstest(noise, "norm").pvalue > THRESHOLD
    for factor in (0.7, 1.3):
        assert stats.kstest(noise / factor, "norm").pvalue < THRESHOLD


def test_a_number_is_at_least_one():
    """Of no units noise makes a number of at least 1."""
    values = [find_nominal_count(None, BUDGET, group_rows(0), make_noise_generator(seed)).value for seed in range(20)]
    assert min(values) == 1
    assert max(values) > 1
