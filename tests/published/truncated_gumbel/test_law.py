"""Rows of the truncated Gumbel law: errors that cover the truth, and tables computed once."""

import numpy as np
import pytest

from deniable.published.truncated_gumbel import law as law_module
from deniable.published.truncated_gumbel.law import GumbelQuadrature, GumbelTable
from deniable.published.truncated_gumbel.mechanism import TruncatedGumbel
from deniable.space import Space

EPSILON = 250.0


@pytest.fixture(scope="module")
def rows(small_space):
    """Return the quadrature of a mechanism over sixty words."""
    return GumbelQuadrature(small_space, EPSILON, TruncatedGumbel(small_space, epsilon=EPSILON).scale)


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
    moved = Space(small_space.words, small_vectors + np.eye(60, 4))
    others = [
        GumbelQuadrature(space, epsilon, TruncatedGumbel(space, epsilon=epsilon).scale)
        for space, epsilon in ((small_space, 251.0), (moved, EPSILON), (small_space, EPSILON))
    ]
    names = [rows.fingerprint, *(other.fingerprint for other in others)]
    assert None not in names
    assert len(set(names[:3])) == 3
    assert names[3] == names[0]


def test_another_scale_has_no_name(small_space):
    """A quadrature whose scale does not follow from epsilon and the space shares nobody's noise or cache."""
    assert (
        GumbelQuadrature(small_space, EPSILON, 1.01 * TruncatedGumbel(small_space, epsilon=EPSILON).scale).fingerprint
        is None
    )


def test_a_table_computes_every_row_once(rows, small_space, monkeypatch):
    """Points asked for again, or twice at once, are not integrated again, and are the quadrature's own rows."""
    counted = []
    integrate = law_module.integrate_row
    monkeypatch.setattr(law_module, "integrate_row", lambda *given: counted.append(1) or integrate(*given))
    table = GumbelTable(small_space, rows)
    points = np.array([3, 5, 3])
    distances = small_space.distances(points)
    first = table(points, distances)
    assert len(counted) == 2
    np.testing.assert_array_equal(table(np.array([5, 3]), distances[:2]), first[[1, 0]])
    assert len(counted) == 2
    np.testing.assert_array_equal(first, rows(points, distances))
