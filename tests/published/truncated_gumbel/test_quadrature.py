"""The quadrature of the truncated Gumbel law, against integrals on fine grids."""

import math

import numpy as np
import pytest
from scipy import stats

from deniable.core.errors import NotTractable
from deniable.published.truncated_gumbel import quadrature
from deniable.published.truncated_gumbel.quadrature import integrate_row, integrate_row_with_error

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


def test_words_may_come_in_any_order():
    """A permutation of the distances permutes law and error alike."""
    order = np.array([2, 0, 1])
    law, error = integrate_row_with_error(DISTANCES, poisson_masses(3), SCALE, LIMIT)
    moved, moved_error = integrate_row_with_error(DISTANCES[order], poisson_masses(3), SCALE, LIMIT)
    np.testing.assert_array_equal(moved, law[order])
    np.testing.assert_array_equal(moved_error, error[order])


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
    with pytest.raises(NotTractable, match=r"two grids differ by .*\. Draw samples instead\.$"):
        integrate_row(DISTANCES, poisson_masses(3), SCALE, LIMIT)
