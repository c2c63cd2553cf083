"""Epsilon of each sampling scheme, against published figures and dp-accounting."""

import dp_accounting
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.rdp import RdpAccountant

from deniable import TrainingPlan
from deniable.accounting.training import bound_epsilon, bound_shuffled_epsilon
from tests.refusals import refuses

DELTA = 1e-5


def test_poisson_sampling_is_between_its_bounds():
    """They are rounded down and up around the epsilon of dp-accounting's loss distribution; RDP is above."""
    plan = TrainingPlan("poisson", 1_000, 50, 20, 2.0, 2.0)
    found = bound_epsilon(plan, DELTA)
    exact = pld.from_gaussian_mechanism(2.0, sampling_prob=0.05).self_compose(20).get_epsilon_for_delta(DELTA)
    assert found.upper == pytest.approx(exact, rel=1e-3)
    assert 0.97 * found.upper < found.lower <= exact
    replaced = bound_epsilon(plan, DELTA, is_replaced=True)
    assert replaced.lower == found.lower < found.upper < replaced.upper
    accountant = RdpAccountant()
    accountant.compose(dp_accounting.PoissonSampledDpEvent(0.05, dp_accounting.GaussianDpEvent(2.0)), 20)
    assert found.upper < accountant.get_epsilon(DELTA)


def test_all_records_are_gaussian_noise():
    """T steps are one of sqrt(T) times less noise; exact also at a tiny delta, unlike sampled noise."""
    for steps, multiplier, delta, epsilon in ((9, 3 * 1.993, DELTA, 1.9999), (1, 1.0, 1e-12, 7.238494)):
        found = bound_epsilon(TrainingPlan("all", 100, 100, steps, multiplier, 1.0), delta)
        assert found.lower == pytest.approx(epsilon, rel=1e-3)
        assert found.lower < found.upper < found.lower + 1e-4
    sampled = bound_epsilon(TrainingPlan("poisson", 10, 5, 1, 1.0, 1.0), 1e-12)
    assert (sampled.lower, sampled.upper) == (0.0, found.upper)


def test_shuffled_batches_as_chua_et_al_found():
    """Noise 0.4, 10,000 steps, epsilon 4: delta is at least 0.226 by shuffling."""
    assert bound_shuffled_epsilon(0.4, 10_000, 1, 0.2261) == pytest.approx(4.0, abs=0.01)


@pytest.mark.deep
def test_poisson_batches_as_chua_et_al_found():
    """At their delta of Poisson sampling epsilon is 4, and that of shuffling above it."""
    poisson = bound_epsilon(TrainingPlan("poisson", 10_000, 1, 10_000, 0.4, 1.0), 1.18e-5)
    assert poisson.lower < 4.0 < poisson.upper * 1.01
    shuffled = bound_epsilon(TrainingPlan("shuffled", 10_000, 1, 10_000, 0.4, 1.0), 1.18e-5)
    assert poisson.upper < shuffled.lower <= shuffled.upper


@pytest.mark.parametrize(
    ("multiplier", "batches", "epochs"), [pytest.param(0.7, 50, 1, marks=pytest.mark.deep), (1.0, 20, 3)]
)
def test_the_lower_bound_of_shuffling_is_met_by_simulation(multiplier, batches, epochs):
    """The event's rates, drawn, exceed e^epsilon and delta, at a delta that draws can show."""
    random, runs, delta = np.random.default_rng(1), 20_000, 0.05
    epsilon = bound_shuffled_epsilon(multiplier, batches, epochs, delta)
    assert epsilon > 0.3

    def draw_sorted_maxima(value):
        noise = multiplier * random.standard_normal((runs, epochs, batches))
        noise[:, :, 0] += value  # the batch of the record; which one it is does not change the largest
        return np.sort(noise.max(axis=2), axis=1)

    ours, theirs = draw_sorted_maxima(2.0), draw_sorted_maxima(1.0)
    excess = max(
        (ours[:, place] >= threshold).mean() - np.exp(epsilon - 0.1) * (theirs[:, place] >= threshold).mean()
        for place in range(epochs)
        for threshold in np.linspace(0, 4 * multiplier + 2, 200)
    )
    assert excess > delta


def test_shuffled_batches_are_within_gaussian_noise_once_an_epoch():
    """The upper bound; steps that make no whole epoch give no lower one."""
    found = bound_epsilon(TrainingPlan("shuffled", 100, 10, 20, 2.0, 1.0), DELTA)
    whole = bound_epsilon(TrainingPlan("all", 100, 100, 2, 2.0, 1.0), DELTA)
    assert found.upper == whole.upper
    assert 0 < found.lower < found.upper
    assert bound_epsilon(TrainingPlan("shuffled", 100, 10, 9, 2.0, 1.0), DELTA).lower == 0


def test_batches_of_one_size():
    """An upper bound alone, above that of Poisson sampling, for a record that is replaced."""
    plan = TrainingPlan("fixed size", 1_000, 50, 100, 4.0, 1.0)
    found = bound_epsilon(plan, DELTA)
    assert found.lower == 0
    assert found.upper > bound_epsilon(TrainingPlan("poisson", 1_000, 50, 100, 4.0, 1.0), DELTA).upper
    assert found.upper < bound_epsilon(TrainingPlan("all", 1_000, 1_000, 100, 2.0, 1.0), DELTA).upper
    assert "replaced" in found.ground


def test_nothing_is_known_where_batches_hide_too_little():
    """Without an excess over delta the lower bound is 0, not negative."""
    assert bound_shuffled_epsilon(50.0, 10, 1, 0.5) == 0
    with refuses("'delta'"):
        bound_epsilon(TrainingPlan("all", 10, 10, 1, 1.0, 1.0), 0.0)


@pytest.mark.parametrize(
    "plan",
    [
        TrainingPlan("all", 10, 10, 10_000, 0.1, 1.0),
        TrainingPlan("poisson", 1_000, 1, 10, 0.02, 1.0),
        TrainingPlan("shuffled", 10, 1, 100_000, 0.3, 1.0),
    ],
)
def test_epsilons_that_nobody_claims_take_no_time(plan):
    """Bounds come at once, beyond 1,000."""
    found = bound_epsilon(plan, DELTA)
    assert found.upper > 1_000
    assert 0 <= found.lower <= found.upper


def test_records_that_are_dropped_at_the_end_of_an_epoch():
    """The upper bound counts the epochs that there are; the lower one falls with the chance to be dropped."""
    plan = TrainingPlan("shuffled", 29, 10, 20, 1.0, 1.0)
    found = bound_epsilon(plan, DELTA, batches=2, presence=20 / 29)
    assert found.upper == pytest.approx(bound_epsilon(TrainingPlan("all", 29, 29, 10, 1.0, 1.0), DELTA).upper)
    assert 0 < found.lower < bound_shuffled_epsilon(1.0, 2, 10, DELTA)
    assert bound_shuffled_epsilon(0.1, 2, 1, 0.8, 20 / 29) == 0  # (0, 0.69)-DP holds


def test_a_number_of_batches_survives_its_rounding():
    """n divided by n / L is L."""
    for records, batches in ((61, 7), (109, 11), (122, 7)):
        plan = TrainingPlan("shuffled", records, records / batches, batches, 1.0, 1.0)
        assert bound_epsilon(plan, DELTA).lower > 0
