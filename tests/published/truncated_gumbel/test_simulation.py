"""Algorithm 2 simulated: neighbours in order, noise within its limits, draws that ask for what is listed."""

import numpy as np
import pytest

from deniable.published.truncated_gumbel import simulation
from deniable.published.truncated_gumbel.simulation import GumbelSimulation, invert_truncated_gumbel
from deniable.space import Space
from tests.contracts.statistics import THRESHOLD, same, streams

ONLY_ONE = np.array([0.0, 1.0, 0.0])
"""Masses under which every word has one candidate: itself."""


def test_noise_is_monotone_in_the_uniform_and_keeps_its_limits():
    """Inversion maps (0, 1) onto [-C, C] in order."""
    noise = invert_truncated_gumbel(np.linspace(1e-12, 1 - 1e-12, 1001), 0.7, 2.0)
    assert (np.diff(noise) > 0).all()
    assert noise[0] == pytest.approx(-2.0, abs=1e-4)
    assert noise[-1] == pytest.approx(2.0, abs=1e-4)


def test_neighbours_come_nearest_first_and_ties_by_number():
    """A word is its own first neighbour, even beside a twin; the others follow by distance, then by number."""
    row = np.array([2.0, 0.0, 1.0, 2.0, 0.0, 3.0])
    neighbours, distances = np.empty(5, dtype=np.int32), np.empty(5)
    simulation._find_nearest(row, 4, neighbours, distances)
    assert neighbours.tolist() == [4, 1, 2, 0, 3]
    assert distances.tolist() == [0.0, 0.0, 1.0, 2.0, 2.0]


def test_with_one_candidate_every_word_stays(small_space):
    """Where k is always 1 the output is the input, whatever the noise."""
    subject = GumbelSimulation(small_space, 1.0, ONLY_ONE, "one")
    points = np.arange(60, dtype=np.int32)
    np.testing.assert_array_equal(subject.draw(points, streams(60, "one")), points)


@pytest.mark.parametrize("count", [5, 70])
def test_with_all_candidates_the_least_noisy_distance_wins(count):
    """Where k is always n draws are those of numpy's Gumbel noise, truncated by rejection, and not of half the scale.

    Seventy words are more than the neighbours that are listed.
    """
    space = Space([f"w{number}" for number in range(count)], np.linspace(0, 2, count)[:, None])
    points = np.zeros(1_500, dtype=np.int32)
    drawn = GumbelSimulation(space, 0.6, np.array([1.0, 0.0]), "all").draw(points, streams(len(points), "all"))
    counts = np.bincount(drawn, minlength=count)

    def draw_anew(scale):
        random = np.random.default_rng(6)
        noise = random.gumbel(0.0, scale, size=(8_000, count))
        while (outside := np.abs(noise) > 2.0).any():
            noise[outside] = random.gumbel(0.0, scale, size=int(outside.sum()))
        return np.bincount((space.distances([0]) + noise).argmin(axis=1), minlength=count)

    assert same(counts, draw_anew(0.6)) > THRESHOLD
    assert same(counts, draw_anew(0.3)) < THRESHOLD


def test_neighbours_are_listed_once(small_space, monkeypatch):
    """Points that were prepared are not listed again, and others are."""
    listed = []
    find = simulation._find_nearest

    def spy(row, point, *rest):
        listed.append(point)
        find(row, point, *rest)

    monkeypatch.setattr(simulation, "_find_nearest", spy)
    subject = GumbelSimulation(small_space, 1.0, ONLY_ONE, "once")
    for points in ([3, 3, 8], [8, 3], [8, 9]):
        subject.prepare(np.array(points, dtype=np.int32), 1)
    assert sorted(listed) == [3, 8, 9]


def test_draws_do_not_depend_on_workers(small_space):
    """One worker and several give the same outputs from the same streams."""
    masses = np.array([0.1, 0.3, 0.4, 0.2])
    points = np.random.default_rng(2).integers(60, size=5000).astype(np.int32)
    alone, together = (
        GumbelSimulation(small_space, 0.5, masses, "workers").draw(points, streams(5000, "w"), workers)
        for workers in (1, 4)
    )
    np.testing.assert_array_equal(alone, together)
    other = GumbelSimulation(Space(["a", "b"], [[0.0], [1.0]]), 0.5, masses[:2], "two")
    assert set(other.draw(np.zeros(500, dtype=np.int32), streams(500, "two")).tolist()) == {0, 1}
