"""Events: which side of which threshold tells runs with the canary from others."""

import numpy as np
import pytest

from deniable import InputError
from deniable.auditing.training.events import Event, choose_event
from deniable.auditing.training.glances import Glance
from deniable.auditing.training.judging import TrainingClaim
from deniable.auditing.training.rates import EventCounts
from deniable.core.guarantees import PureDP

CLAIM = TrainingClaim(PureDP(1.0, "a claim"))
RUNS = 600


def make_glances(included, **shifts):
    """Return runs with normal statistics, each moved by its shift where the canary is there."""
    random = np.random.default_rng(0)
    return [
        Glance({name: shift * coin + random.standard_normal() for name, shift in shifts.items()}, np.empty(0))
        for coin in included
    ]


@pytest.fixture
def included():
    """Return a coin for each run."""
    return np.random.default_rng(1).random(RUNS) < 0.5


def get_score(glance):
    """Return a statistic."""
    return glance.values["score"]


def test_counts_of_both_sides():
    """What is above a threshold names runs with the canary, and what is below one names runs without it."""
    values, included = np.array([0.0, 1.0, 2.0, 3.0]), np.array([False, True, False, True])
    above = Event("score", get_score, 2.0, is_above=True)
    assert above.count(included, values) == EventCounts(1, 1, 2, 2)
    below = Event("score", get_score, 1.0, is_above=False)
    assert below.count(included, values) == EventCounts(1, 1, 2, 2)
    assert Event("score", get_score, 3.0, is_above=True).count(included, values) == EventCounts(1, 0, 2, 2)
    assert Event("score", get_score, 0.0, is_above=False).count(included, values) == EventCounts(1, 0, 2, 2)


def test_the_statistic_that_tells_most_is_chosen(included):
    """Of two statistics the one that the canary moves farther, and of it an event that names many runs rightly."""
    glances = make_glances(included, score=0.5, updates=4.0)
    event = choose_event(CLAIM, included, glances, judged=1_000)
    assert event.name == "updates"
    assert event.strength > 1.0
    counts = event.count(included, np.array([event.statistic(glance) for glance in glances]))
    assert counts.with_record / counts.runs_with > 3 * counts.without_record / counts.runs_without


def test_a_size_that_falls_counts_as_one_that_grows(included):
    """A vocabulary that shrinks where the record is there tells as much."""
    glances = make_glances(included, size=-5.0)
    event = choose_event(CLAIM, included, glances, judged=1_000)
    assert event.name == "size"
    assert event.strength > 1.0


def test_nothing_is_expected_of_noise(included):
    """Statistics that the canary does not move promise less than the claim."""
    event = choose_event(CLAIM, included, make_glances(included, updates=0.0), judged=1_000)
    assert event.strength < 1.0


def test_last_bits_are_fitted(included):
    """Numbers whose fineness alone differs: floats with the canary, and eighths without it."""
    random = np.random.default_rng(2)
    glances = []
    for coin in included:
        numbers = random.laplace(size=16)
        glances.append(Glance({"size": 16.0}, numbers if coin else np.round(8 * numbers) / 8))
    event = choose_event(CLAIM, included, glances, judged=1_000)
    assert event.name == "last bits"
    assert event.strength > 1.0


def test_models_in_some_runs_only(included):
    """Runs with and without a score cannot be compared."""
    glances = [*make_glances(included[1:], size=0.0, score=1.0), Glance({"size": 1.0}, np.empty(0))]
    with pytest.raises(InputError, match="returned a model in some runs only"):
        choose_event(CLAIM, included, glances[::-1], judged=100)
