"""Accounting: known values, bounds from elsewhere, and budgets that are met or refused with one that can be."""

import math
import re

import numpy as np
import pytest
from scipy import optimize, stats

from deniable import InputError
from deniable.core.guarantees import EMPTY_RECORD
from deniable.learning import accounting
from deniable.learning.accounting import (
    SamplingSchedule,
    build_dp_sgd_guarantee,
    compute_epsilon_spent,
    count_steps_within,
    find_noise_multiplier,
)

MNIST = SamplingSchedule(2048 / 60_000, 150)


def test_known_values():
    """The figures of dp-accounting for a run of MNIST, under both meanings of neighbouring."""
    assert compute_epsilon_spent(MNIST, 2.0, 1e-5) == pytest.approx(0.8873, abs=1e-4)
    assert compute_epsilon_spent(MNIST, 2.0, 1e-5, "replace one") == pytest.approx(1.642, abs=1e-3)


@pytest.mark.parametrize("multiplier", [1.0, 3.0])
@pytest.mark.parametrize("steps", [1, 4, 9])
def test_the_gaussian_mechanism(multiplier, steps):
    """Without sampling it is the exact epsilon of the Gaussian mechanism (Balle and Wang 2018, Theorem 8), from above.

    T steps without sampling are one with the noise divided by the root of T.
    """
    sigma = multiplier / math.sqrt(steps)

    def excess(epsilon):
        tail = np.exp(epsilon + stats.norm.logcdf(-1 / (2 * sigma) - epsilon * sigma))
        return stats.norm.cdf(1 / (2 * sigma) - epsilon * sigma) - tail - 1e-5

    exact = optimize.brentq(excess, 0, 100)
    assert exact <= compute_epsilon_spent(SamplingSchedule(1.0, steps), multiplier, 1e-5) <= exact + 2e-3


@pytest.mark.parametrize(
    ("rate", "steps", "multiplier"), [(2048 / 60_000, 150, 2.0), (0.01, 1_000, 1.0), (1.0, 5, 4.0)]
)
def test_renyi_accounting_is_above(rate, steps, multiplier):
    """The moments accountant, another way to compose, gives more, and not very much more."""
    import dp_accounting
    from dp_accounting.rdp import RdpAccountant

    accountant = RdpAccountant()
    step = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(multiplier))
    other = accountant.compose(step, steps).get_epsilon(1e-5)
    assert 0.5 * other < compute_epsilon_spent(SamplingSchedule(rate, steps), multiplier, 1e-5) < other


def test_more_of_anything_costs_more():
    """Epsilon grows with the rate and the steps, and falls with noise and delta; replacing costs more than adding."""
    base = compute_epsilon_spent(MNIST, 2.0, 1e-5)
    assert compute_epsilon_spent(SamplingSchedule(0.05, 150), 2.0, 1e-5) > base
    assert compute_epsilon_spent(SamplingSchedule(MNIST.rate, 151), 2.0, 1e-5) > base
    assert compute_epsilon_spent(MNIST, 2.1, 1e-5) < base
    assert compute_epsilon_spent(MNIST, 2.0, 1.1e-5) < base
    assert base < compute_epsilon_spent(MNIST, 2.0, 1e-5, "replace one") < 2.5 * base


BUDGETS = [(MNIST, 1.0), (MNIST, 0.05), (SamplingSchedule(1.0, 3), 1.0)]


@pytest.mark.parametrize(("schedule", "epsilon"), BUDGETS)
def test_the_noise_fits_the_budget(schedule, epsilon):
    """The noise spends at most the budget, and one part in a thousand less would spend more."""
    multiplier = find_noise_multiplier(schedule, epsilon, 1e-5)
    assert compute_epsilon_spent(schedule, multiplier, 1e-5) <= epsilon
    assert compute_epsilon_spent(schedule, multiplier * 0.999, 1e-5) > epsilon


@pytest.mark.parametrize(
    ("schedule", "epsilon", "delta"),
    [
        (SamplingSchedule(1.0, 10), 1e-9, 1e-5),
        (SamplingSchedule(1.0, 1_000_000), 0.2, 1e-9),
        (SamplingSchedule(0.1, 3), 1e6, 1e-5),
        (SamplingSchedule(1.0, 90), 1e6, 1e-5),
    ],
)
def test_the_nearest_epsilon_can_be_met(schedule, epsilon, delta, monkeypatch):
    """A budget out of reach is refused in one line, and the number that it names is accepted as it stands."""
    monkeypatch.setattr(accounting, "_MIN_MULTIPLIER", 1.0)  # less takes long to compose
    with pytest.raises(InputError) as raised:
        find_noise_multiplier(schedule, epsilon, delta)
    assert "\n" not in str(raised.value)
    nearest = float(re.search(r"nearest that can.* is ([\d.]+\d)", str(raised.value))[1])
    assert compute_epsilon_spent(schedule, find_noise_multiplier(schedule, nearest, delta), delta) <= nearest
    with pytest.raises(InputError, match="nearest"):  # a hundredth on, there is nothing
        find_noise_multiplier(schedule, nearest * (0.99 if nearest > epsilon else 1.01), delta)


def test_no_epsilon_at_all(monkeypatch):
    """A delta that is next to zero is refused, and at one that covers everything any noise will do."""
    monkeypatch.setattr(accounting, "_MIN_MULTIPLIER", 1.0)
    with pytest.raises(InputError, match="larger delta"):
        find_noise_multiplier(SamplingSchedule(0.1, 3), 1.0, 1e-300)
    with pytest.raises(InputError, match="larger delta"):
        count_steps_within(0.1, 1.0, 1.0, 1e-300, 3)
    assert find_noise_multiplier(SamplingSchedule(0.1, 1), 1.0, 0.5) == 1.0
    assert compute_epsilon_spent(SamplingSchedule(0.1, 1), 1.0, 0.5) == 0


@pytest.mark.parametrize(("epsilon", "delta"), [(0, 1e-5), (-1, 1e-5), (math.nan, 1e-5), (1, 0), (1, 1), (1, math.nan)])
def test_bad_budgets(epsilon, delta):
    """Neither number may be zero, negative or none."""
    with pytest.raises(InputError, match="parameter of training"):
        find_noise_multiplier(MNIST, epsilon, delta)


@pytest.mark.parametrize(("rate", "steps"), [(0, 1), (1.1, 1), (-0.1, 1), (math.nan, 1), (0.5, 0)])
def test_bad_schedules(rate, steps):
    """A rate is a chance above 0, and there is one step at least."""
    with pytest.raises(InputError, match="parameter of Schedule"):
        SamplingSchedule(rate, steps)


def test_steps_within_a_budget():
    """Training stops after the last step that the budget allows."""
    found = count_steps_within(MNIST.rate, 2.0, 0.5, 1e-5, 150)
    assert compute_epsilon_spent(SamplingSchedule(MNIST.rate, found), 2.0, 1e-5) <= 0.5
    assert compute_epsilon_spent(SamplingSchedule(MNIST.rate, found + 1), 2.0, 1e-5) > 0.5
    assert count_steps_within(MNIST.rate, 2.0, 0.8874, 1e-5, 150) == 150


def test_not_even_one_step():
    """Too little noise for a single step is refused, and the epsilon named allows just one."""
    with pytest.raises(InputError) as raised:
        count_steps_within(0.5, 1.0, 0.1, 1e-5, 100)
    assert "\n" not in str(raised.value)
    nearest = float(re.search(r"nearest that can be met is ([\d.]+\d)", str(raised.value))[1])
    assert count_steps_within(0.5, 1.0, nearest, 1e-5, 100) == 1


def test_the_guarantee_is_what_was_spent():
    """The claim is the epsilon of the noise used, proved but for rounding, and says what neighbouring means."""
    found = build_dp_sgd_guarantee(MNIST, 2.0, 1e-5)
    assert found.epsilon == compute_epsilon_spent(MNIST, 2.0, 1e-5)
    assert found.delta == 1e-5
    assert found.status == "proved for ideal arithmetic"
    assert (found.unit, found.adjacency) == ("record", EMPTY_RECORD)
    assert EMPTY_RECORD == "one record made empty: the number of records and the sampling rate are public"
