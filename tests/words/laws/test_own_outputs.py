"""The search for losses in large spaces: it never claims more than is spent, and finds what it is meant to."""

import math

import numpy as np
import pytest

from deniable.space import Space
from deniable.words.laws.own_outputs import search_own_outputs
from deniable.words.laws.tables import compute_table_entries


def exponential(points, distances):
    """Return the rows of an exponential law, which loses most at the output y = w."""
    del points
    weights = np.exp(-distances)
    return weights / weights.sum(axis=1, keepdims=True)


def worst_of_all(space, rows):
    """Return the largest loss per distance of all pairs and all outputs, by brute force."""
    count = len(space)
    logs = np.log(compute_table_entries(rows(np.arange(count), space.distances(range(count)))).astype(float))
    distances = space.distances(range(count))
    np.fill_diagonal(distances, np.inf)
    return float(((logs[:, None] - logs[None]).max(axis=2) / distances).max())


def test_the_worst_pair_of_an_exponential_law_is_found(small_space):
    """Where most is lost at y = w the search finds the truth, and no upper bound."""
    finding = search_own_outputs(small_space, exponential)
    truth = worst_of_all(small_space, exponential)
    assert finding.epsilon == math.inf
    assert finding.lower_bound == pytest.approx(truth, rel=1e-6)
    assert finding.lower_bound <= truth
    assert finding.distance == pytest.approx(small_space.distances([finding.input])[0, finding.other])
    assert finding.input != finding.other


def test_a_leak_between_the_nearest_words_at_another_output_is_found():
    """Two words next to each other that differ at a third output alone are compared at all outputs."""
    space = Space([f"w{number}" for number in range(30)], np.append(0.001, np.arange(29.0))[:, None])

    def leak(points, distances):
        rows = np.full(distances.shape, 1.0 / 30)
        rows[points == 0, 17], rows[points == 0, 18] = 1.5 / 30, 0.5 / 30
        return rows

    finding = search_own_outputs(space, leak)
    assert {finding.input, finding.other} == {0, 1}
    assert finding.output in {17, 18}
    assert finding.loss == pytest.approx(math.log(2), rel=1e-5)
    assert finding.lower_bound <= worst_of_all(space, leak)


def test_a_law_that_hides_the_input_loses_nothing(small_space):
    """The uniform law has a loss of 0 at every pair, and nothing is made up of rounding."""
    finding = search_own_outputs(small_space, lambda _, distances: np.full(distances.shape, 1 / 60))
    assert finding.lower_bound == 0.0
