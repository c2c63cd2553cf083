"""The exact law of truncated Gumbel: its quadrature against fine grids, its simulation, what lies far out."""

import math

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.published.truncated_gumbel import law as law_module
from deniable.published.truncated_gumbel import quadrature
from deniable.published.truncated_gumbel.law import GumbelQuadrature, GumbelTable
from deniable.published.truncated_gumbel.mechanism import compute_min_epsilon, search_far_outputs
from deniable.published.truncated_gumbel.quadrature import integrate_row
from deniable.published.truncated_gumbel.simulation import GumbelSimulation
from tests.contracts.statistics import THRESHOLD, same, streams
from tests.refusals import refuses


def test_the_bound_is_below_the_true_loss():
    """The loss found is less than the exact loss of the same words, and not nothing."""
    space = dn.Space([f"w{number}" for number in range(150)], np.random.default_rng(0).normal(size=(150, 30)))
    mechanism = dn.TruncatedGumbel(space, epsilon=1.01 * compute_min_epsilon(150, space.separation))
    law = mechanism.law.rows(range(150))
    finding = search_far_outputs(space, mechanism.scale)
    loss = math.log(law[finding.input, finding.output]) - math.log(law[finding.other, finding.output])
    assert finding.loss <= loss
    assert finding.distance == space.distances([finding.input])[0, finding.other]
    distances = space.distances(range(150))
    np.fill_diagonal(distances, np.inf)
    exact = float(((np.log(np.diagonal(law)) - np.log(law)) / distances).max())
    assert 0.2 * exact < finding.lower_bound <= exact
    assert dn.verify(mechanism).epsilon >= finding.lower_bound
    assert search_far_outputs(space, dn.TruncatedGumbel(space, epsilon=1e30).scale).lower_bound == 0


@pytest.mark.deep
def test_the_claim_is_refuted_in_a_large_space():
    """Among many words in many dimensions more is spent than is claimed near the least epsilon, and verify says so."""
    random = np.random.default_rng(0)
    vectors = random.normal(size=(6_000, 100))
    vectors[1] = vectors[0] + 0.2 * random.normal(size=100)
    space = dn.Space([f"w{number}" for number in range(6_000)], vectors)
    mechanism = dn.TruncatedGumbel(space, epsilon=1.01 * compute_min_epsilon(6_000, space.separation))
    finding = search_far_outputs(space, mechanism.scale)
    assert finding.lower_bound > mechanism.epsilon
    verdict = dn.verify(mechanism, cache=False)
    assert verdict.status == "refuted"
    assert verdict.lower_bound >= finding.lower_bound
    assert verdict.epsilon == math.inf


EPSILON = 250.0


@pytest.fixture(scope="module")
def rows(small_space):
    """Return the quadrature of a mechanism over sixty words."""
    return GumbelQuadrature(small_space, EPSILON)


def test_masses_are_those_of_a_poisson_and_none_is_negligible(rows):
    """They sum to 1, have the mean ln n, and are cut off where nothing is left."""
    masses = rows.poisson_masses
    assert masses.sum() == pytest.approx(1.0, rel=1e-12)
    assert masses @ np.arange(len(masses)) == pytest.approx(np.log(60), rel=1e-12)
    assert masses[-1] > 1e-300
    assert len(masses) <= 60


def test_errors_cover_what_finer_grids_change(rows, small_space):
    """Probabilities of the row function lie within the errors that the other method states."""
    distances = small_space.distances([0, 7])
    values, errors = rows.integrate_with_errors(np.array([0, 7]), distances)
    assert (np.abs(rows(np.array([0, 7]), distances) - values) <= errors).all()
    assert (errors > 0).all()
    assert errors.max() < 1e-8


def test_a_row_that_is_no_distribution_is_known_up_to_1(rows, small_space, monkeypatch):
    """Where an integral does not sum to 1 nothing is claimed: probabilities 0, errors 1."""
    monkeypatch.setattr(law_module, "integrate_row_with_error", lambda *_: (np.full(60, 0.5), np.zeros(60)))
    values, errors = rows.integrate_with_errors(np.array([0]), small_space.distances([0]))
    assert not values.any()
    assert (errors == 1.0).all()


def test_names_differ_by_epsilon_and_space(rows, small_space, small_vectors):
    """Neither another epsilon nor moved words go by the same name."""
    moved = dn.Space(small_space.words, small_vectors + np.eye(60, 4))
    others = [
        GumbelQuadrature(space, epsilon)
        for space, epsilon in ((small_space, 251.0), (moved, EPSILON), (small_space, EPSILON))
    ]
    names = [rows.fingerprint, *(other.fingerprint for other in others)]
    assert None not in names
    assert len(set(names[:3])) == 3
    assert names[3] == names[0]


def test_a_table_computes_every_row_once(rows, small_space, monkeypatch):
    """Points asked for again, or twice at once, are not integrated again, and are the quadrature's own rows."""
    counted = []
    integrate = law_module.integrate_row
    monkeypatch.setattr(law_module, "integrate_row", lambda *given: counted.append(1) or integrate(*given))
    table = GumbelTable(rows)
    points = np.array([3, 5, 3])
    distances = small_space.distances(points)
    first = table(points, distances)
    assert len(counted) == 2
    np.testing.assert_array_equal(table(np.array([5, 3]), distances[:2]), first[[1, 0]])
    assert len(counted) == 2
    np.testing.assert_array_equal(first, rows(points, distances))


DISTANCES = np.array([0.0, 0.7, 1.5])


SCALE, LIMIT = 0.8, 2.0


def poisson_masses(count):
    """Return P(Y = 0), P(Y = 1), ... of Poisson(ln n)."""
    return stats.poisson.pmf(np.arange(60), math.log(count))


def integrate_on_a_grid(distances, scale, limit, count=200_001):
    """Return the law by its definition: the trapezoidal rule over the winning noisy distance, k by k."""
    inner = stats.gumbel_r(scale=scale)
    low, high = inner.cdf(-limit), inner.cdf(limit)
    grid = np.linspace(-limit, limit + distances.max(), count)
    moved = grid - distances[:, None]
    density = np.where(np.abs(moved) <= limit, inner.pdf(moved), 0.0) / (high - low)
    survival = (high - inner.cdf(np.clip(moved, -limit, limit))) / (high - low)
    masses = poisson_masses(len(distances))[: len(distances)].copy()
    masses[0] = 0.0
    masses = np.append(masses, 1.0 - masses.sum())
    law = np.zeros(len(distances))
    for k in range(1, len(distances) + 1):
        for i in range(k):
            others = np.delete(np.arange(k), i)
            law[i] += masses[k] * np.trapezoid(density[i] * survival[others].prod(axis=0), grid)
    return law


def test_three_words_have_the_law_of_the_definition():
    """The integral agrees with a sum over the number of candidates, each integrated on a fine grid."""
    law = integrate_row(DISTANCES, poisson_masses(3), SCALE, LIMIT)
    np.testing.assert_allclose(law, integrate_on_a_grid(DISTANCES, SCALE, LIMIT), atol=1e-4)
    assert law.sum() == pytest.approx(1.0, abs=1e-9)
    assert np.abs(law - integrate_on_a_grid(DISTANCES, 0.7 * SCALE, LIMIT)).max() > 0.01


def test_nearer_words_are_likelier():
    """Probabilities fall with the distance, and equal distances beyond the first few have all but equal ones."""
    distances = np.sort(np.random.default_rng(0).uniform(0.1, 2.0, size=100))
    distances[0] = 0.0
    law = integrate_row(distances, poisson_masses(100), 0.3, 2.0)
    assert (np.diff(law) <= 1e-12).all()
    assert law.min() > 0


def test_grids_that_disagree_are_refused_with_their_difference(monkeypatch):
    """Where no pair of grids agrees to the tolerance the error says so, and what to do."""
    monkeypatch.setattr(quadrature, "QUADRATURE_TOLERANCE", 0.0)
    with refuses("two grids", dn.NotTractable):
        integrate_row(DISTANCES, poisson_masses(3), SCALE, LIMIT)


ONLY_ONE = np.array([0.0, 1.0, 0.0])
"""Masses under which every word has one candidate: itself."""


def test_with_one_candidate_every_word_stays(small_space):
    """Where k is always 1 the output is the input, whatever the noise."""
    subject = GumbelSimulation(small_space, 1.0, ONLY_ONE, "one")
    points = np.arange(60, dtype=np.int32)
    np.testing.assert_array_equal(subject.draw(points, streams(60, "one")), points)


@pytest.mark.parametrize("count", [5, pytest.param(70, marks=pytest.mark.deep)])
def test_with_all_candidates_the_least_noisy_distance_wins(count):
    """Where k is always n draws are those of numpy's Gumbel noise, truncated by rejection, and not of half the scale.

    Seventy words are more than the neighbours that are listed.
    """
    space = dn.Space([f"w{number}" for number in range(count)], np.linspace(0, 2, count)[:, None])
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


def test_draws_do_not_depend_on_workers(small_space):
    """One worker and several give the same outputs from the same streams."""
    masses = np.array([0.1, 0.3, 0.4, 0.2])
    points = np.random.default_rng(2).integers(60, size=5000).astype(np.int32)
    alone, together = (
        GumbelSimulation(small_space, 0.5, masses, "workers").draw(points, streams(5000, "w"), workers)
        for workers in (1, 4)
    )
    np.testing.assert_array_equal(alone, together)
    other = GumbelSimulation(dn.Space(["a", "b"], [[0.0], [1.0]]), 0.5, masses[:2], "two")
    assert set(other.draw(np.zeros(500, dtype=np.int32), streams(500, "two")).tolist()) == {0, 1}
