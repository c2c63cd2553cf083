"""Plans of DP-SGD: known values, bounds from elsewhere, and budgets that are met or refused with one that can be."""

import dataclasses
import functools
import math
import re

import dp_accounting
import numpy as np
import pytest
from dp_accounting.rdp import RdpAccountant
from scipy import optimize, stats

import deniable as dn
from deniable.accounting import planning
from deniable.accounting.planning import build_training_verdict, plan_training
from deniable.accounting.training import compute_poisson_epsilon
from tests.refusals import refuses

DELTA = 1e-5
MNIST = dn.TrainingPlan("poisson", 60_000, 2_048, 150, 2.0, 1.0)


def run(rate, steps, multiplier=1.0):
    """Return the plan of a rate."""
    return dn.TrainingPlan("poisson", 1, rate, steps, multiplier, 1.0)


def fit(plan, epsilon, delta=DELTA):
    """Return the plan with the noise that fits a budget."""
    return plan_training(plan.records, plan.batch_size, plan.steps, epsilon, delta, clip=1.0)


def count(rate, multiplier, epsilon, delta, steps):
    """Return how many steps of a rate fit a budget."""
    return plan_training(1, rate, steps, epsilon, delta, clip=1.0, noise_multiplier=multiplier).steps


@functools.cache
def base():
    """Return what the run of MNIST spends."""
    return compute_poisson_epsilon(MNIST, DELTA)


def test_known_values():
    """The figures of dp-accounting for a run of MNIST, under both meanings of neighbouring."""
    assert base() == pytest.approx(0.8873, abs=1e-4)
    assert compute_poisson_epsilon(MNIST, DELTA, is_replaced=True) == pytest.approx(1.642, abs=1e-3)


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
    assert exact <= compute_poisson_epsilon(run(1.0, steps, multiplier), DELTA) <= exact + 2e-3


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
    assert 0.5 * other < compute_poisson_epsilon(run(rate, steps, multiplier), DELTA) < other


@pytest.mark.parametrize(
    ("plan", "epsilon"),
    [
        (MNIST, 1.0),
        pytest.param(MNIST, 0.05, marks=pytest.mark.deep),
        pytest.param(run(1.0, 3), 1.0, marks=pytest.mark.deep),
    ],
)
def test_the_noise_fits_the_budget(plan, epsilon):
    """The noise spends at most the budget, and one part in a thousand less would spend more."""
    found = fit(plan, epsilon)
    assert dataclasses.replace(found, noise_multiplier=plan.noise_multiplier) == plan
    assert compute_poisson_epsilon(found, DELTA) <= epsilon
    less = dataclasses.replace(found, noise_multiplier=found.noise_multiplier * 0.999)
    assert compute_poisson_epsilon(less, DELTA) > epsilon


def nearest_in(line):
    """Return the epsilon that a refusal offers."""
    return float(re.search(r"nearest that can.* is ([\d.]+\d)", line)[1])


@pytest.mark.parametrize(
    ("plan", "epsilon", "delta"),
    [
        (run(1.0, 10), 1e-9, DELTA),
        (run(1.0, 3), 99.0, DELTA),
        pytest.param(run(1.0, 1_000_000), 0.2, 1e-9, marks=pytest.mark.deep),
        pytest.param(run(0.1, 3), 99.0, DELTA, marks=pytest.mark.deep),
    ],
)
def test_the_nearest_epsilon_can_be_met(plan, epsilon, delta, monkeypatch):
    """A budget out of reach is refused in one line, and the number that it names is accepted as it stands."""
    monkeypatch.setattr(planning, "_MIN_MULTIPLIER", 1.0)  # less takes long to compose
    with pytest.raises(dn.InputError) as raised:
        fit(plan, epsilon, delta)
    nearest = nearest_in(str(raised.value))
    assert compute_poisson_epsilon(fit(plan, nearest, delta), delta) <= nearest
    with refuses("nearest"):  # a hundredth on, there is nothing
        fit(plan, nearest * (0.99 if nearest > epsilon else 1.01), delta)


def test_no_epsilon_at_all(monkeypatch):
    """A delta that is next to zero is refused, and at one that covers everything any noise will do."""
    monkeypatch.setattr(planning, "_MIN_MULTIPLIER", 1.0)
    with refuses("larger delta"):
        fit(run(1.0, 3), 1.0, 1e-300)
    with refuses("larger delta"):
        count(1.0, 1.0, 1.0, 1e-300, 3)
    assert fit(run(1.0, 1), 1.0, 0.5).noise_multiplier == 1.0
    assert compute_poisson_epsilon(run(1.0, 1), 0.5) == 0


def test_steps_within_a_budget():
    """Training stops after the last step that the budget allows, and the epsilon named instead of none allows one."""
    found = count(0.2, 4.0, 0.5, 1e-5, 20)
    assert compute_poisson_epsilon(run(0.2, found, 4.0), DELTA) <= 0.5
    assert compute_poisson_epsilon(run(0.2, found + 1, 4.0), DELTA) > 0.5
    assert count(0.2, 4.0, 5.0, 1e-5, 20) == 20
    with pytest.raises(dn.InputError) as raised:
        count(0.2, 4.0, 0.01, 1e-5, 20)
    assert count(0.2, 4.0, nearest_in(str(raised.value)), 1e-5, 20) == 1


@pytest.mark.parametrize(
    ("epsilon", "delta", "value"),
    [
        *((epsilon, DELTA, f"Got {epsilon}") for epsilon in (0, -1, math.nan, 101.0)),
        *((1.0, delta, f"Got {delta}") for delta in (0, 1, math.nan)),
    ],
)
def test_bad_values(epsilon, delta, value):
    """Neither epsilon nor delta may be zero, negative or none, and an epsilon above 100 promises nothing."""
    with refuses(value):
        fit(MNIST, epsilon, delta)


def test_the_guarantee_is_what_was_spent():
    """The claim is the epsilon of the noise used, proved but for rounding, and says what neighbouring means."""
    verdict = build_training_verdict(MNIST, DELTA)
    found = verdict.guarantee
    assert (found.epsilon, found.delta, found.status) == (base(), DELTA, "proved for ideal arithmetic")
    assert (verdict.epsilon, verdict.lower_bound, verdict.status) == (base(), 0.0, found.status)
    assert found.unit == "record"
    assert found.adjacency == "one record made empty: the number of records and the sampling rate are public"
