"""Accounting: known values, bounds from elsewhere, and budgets that are met or refused with one that can be."""

import functools
import math
import re

import dp_accounting
import numpy as np
import pytest
from dp_accounting.rdp import RdpAccountant
from scipy import optimize, stats

import deniable as dn
from deniable.learning import accounting
from deniable.learning.accounting import (
    SamplingSchedule,
    build_dp_sgd_guarantee,
    compute_epsilon_spent,
    count_steps_within,
    find_noise_multiplier,
)
from tests.refusals import refuses

MNIST = SamplingSchedule(2048 / 60_000, 150)


@functools.cache
def base():
    """Return what the run of MNIST spends."""
    return compute_epsilon_spent(MNIST, 2.0, 1e-5)


def test_known_values():
    """The figures of dp-accounting for a run of MNIST, under both meanings of neighbouring."""
    assert base() == pytest.approx(0.8873, abs=1e-4)
    assert compute_epsilon_spent(MNIST, 2.0, 1e-5, "replace one") == pytest.approx(1.642, abs=1e-3)


@pytest.mark.parametrize(
    ("multiplier", "steps"),
    [(3.0, 4), *(pytest.param(*case, marks=pytest.mark.deep) for case in [(1.0, 1), (1.0, 4), (3.0, 1), (3.0, 9)])],
)
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
    ("rate", "steps", "multiplier"),
    [
        (2048 / 60_000, 150, 2.0),
        pytest.param(0.01, 1_000, 1.0, marks=pytest.mark.deep),
        pytest.param(1.0, 5, 4.0, marks=pytest.mark.deep),
    ],
)
def test_renyi_accounting_is_above(rate, steps, multiplier):
    """The moments accountant, another way to compose, gives more, and not very much more."""
    step = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(multiplier))
    other = RdpAccountant().compose(step, steps).get_epsilon(1e-5)
    assert 0.5 * other < compute_epsilon_spent(SamplingSchedule(rate, steps), multiplier, 1e-5) < other


@pytest.mark.parametrize(
    ("schedule", "epsilon"),
    [
        (MNIST, 1.0),
        pytest.param(MNIST, 0.05, marks=pytest.mark.deep),
        pytest.param(SamplingSchedule(1.0, 3), 1.0, marks=pytest.mark.deep),
    ],
)
def test_the_noise_fits_the_budget(schedule, epsilon):
    """The noise spends at most the budget, and one part in a thousand less would spend more."""
    multiplier = find_noise_multiplier(schedule, epsilon, 1e-5)
    assert compute_epsilon_spent(schedule, multiplier, 1e-5) <= epsilon
    assert compute_epsilon_spent(schedule, multiplier * 0.999, 1e-5) > epsilon


def nearest_in(line):
    """Return the epsilon that a refusal offers."""
    return float(re.search(r"nearest that can.* is ([\d.]+\d)", line)[1])


@pytest.mark.parametrize(
    ("schedule", "epsilon", "delta"),
    [
        (SamplingSchedule(1.0, 10), 1e-9, 1e-5),
        (SamplingSchedule(1.0, 3), 1e6, 1e-5),
        pytest.param(SamplingSchedule(1.0, 1_000_000), 0.2, 1e-9, marks=pytest.mark.deep),
        pytest.param(SamplingSchedule(0.1, 3), 1e6, 1e-5, marks=pytest.mark.deep),
    ],
)
def test_the_nearest_epsilon_can_be_met(schedule, epsilon, delta, monkeypatch):
    """A budget out of reach is refused in one line, and the number that it names is accepted as it stands."""
    monkeypatch.setattr(accounting, "_MIN_MULTIPLIER", 1.0)  # less takes long to compose
    with pytest.raises(dn.InputError) as raised:
        find_noise_multiplier(schedule, epsilon, delta)
    nearest = nearest_in(str(raised.value))
    assert compute_epsilon_spent(schedule, find_noise_multiplier(schedule, nearest, delta), delta) <= nearest
    with refuses("nearest"):  # a hundredth on, there is nothing
        find_noise_multiplier(schedule, nearest * (0.99 if nearest > epsilon else 1.01), delta)


def test_no_epsilon_at_all(monkeypatch):
    """A delta that is next to zero is refused, and at one that covers everything any noise will do."""
    monkeypatch.setattr(accounting, "_MIN_MULTIPLIER", 1.0)
    with refuses("larger delta"):
        find_noise_multiplier(SamplingSchedule(1.0, 3), 1.0, 1e-300)
    with refuses("larger delta"):
        count_steps_within(1.0, 1.0, 1.0, 1e-300, 3)
    assert find_noise_multiplier(SamplingSchedule(1.0, 1), 1.0, 0.5) == 1.0
    assert compute_epsilon_spent(SamplingSchedule(1.0, 1), 1.0, 0.5) == 0


def test_steps_within_a_budget():
    """Training stops after the last step that the budget allows, and the epsilon named instead of none allows one."""
    found = count_steps_within(0.2, 4.0, 0.5, 1e-5, 20)
    assert compute_epsilon_spent(SamplingSchedule(0.2, found), 4.0, 1e-5) <= 0.5
    assert compute_epsilon_spent(SamplingSchedule(0.2, found + 1), 4.0, 1e-5) > 0.5
    assert count_steps_within(0.2, 4.0, 5.0, 1e-5, 20) == 20
    with pytest.raises(dn.InputError) as raised:
        count_steps_within(0.2, 4.0, 0.01, 1e-5, 20)
    assert count_steps_within(0.2, 4.0, nearest_in(str(raised.value)), 1e-5, 20) == 1


@pytest.mark.parametrize(
    ("given", "value"),
    [
        *(((MNIST, epsilon, 1e-5), f"Got {epsilon}") for epsilon in (0, -1, math.nan)),
        *(((MNIST, 1.0, delta), f"Got {delta}") for delta in (0, 1, math.nan)),
        *(((rate, 1), f"Got {rate}") for rate in (0, 1.1, -0.1, math.nan)),
        ((0.5, 0), "Got 0"),
    ],
)
def test_bad_values(given, value):
    """Neither epsilon nor delta may be zero, negative or none; a rate is a chance above 0; one step is the least."""
    with refuses(value):
        (find_noise_multiplier if given[0] is MNIST else SamplingSchedule)(*given)


def test_the_guarantee_is_what_was_spent():
    """The claim is the epsilon of the noise used, proved but for rounding, and says what neighbouring means."""
    found = build_dp_sgd_guarantee(MNIST, 2.0, 1e-5)
    assert (found.epsilon, found.delta, found.status) == (base(), 1e-5, "proved for ideal arithmetic")
    assert found.unit == "record"
    assert found.adjacency == "one record made empty: the number of records and the sampling rate are public"
