"""A law by quadrature: bounds that hold the errors of the integrals, and draws that are another's."""

import math

import numpy as np
import pytest

from deniable.core.errors import NotTractable
from deniable.words.laws import QuadratureLaw, Simulation
from deniable.words.laws import quadrature as module
from deniable.words.laws.law import Finding
from deniable.words.laws.tabulated import TabulatedLaw
from tests.contracts.statistics import streams


class Copy(Simulation):
    """Draws the input."""

    def draw_chunk(self, points, generator):
        del generator
        return points


class Inexact:
    """Rows of an exponential law, known up to an error."""

    def __init__(self, error):
        self.error = error

    def __call__(self, points, distances):
        del points
        weights = np.exp(-distances)
        return weights / weights.sum(axis=1, keepdims=True)

    def integrate_with_errors(self, points, distances):
        values = self(points, distances)
        return values, self.error * values


def test_bounds_widen_with_the_error(small_space):
    """Without an error both bounds meet at the true loss; with one they lie around it."""
    truth = TabulatedLaw(small_space, Inexact(0)).exact_epsilon().finding.epsilon
    sharp = QuadratureLaw(small_space, Inexact(0.0), Copy()).exact_epsilon()
    assert sharp.finding.epsilon == pytest.approx(truth, rel=1e-4)
    assert sharp.finding.lower_bound == pytest.approx(sharp.finding.epsilon, rel=1e-6)
    wide = QuadratureLaw(small_space, Inexact(0.05), Copy()).exact_epsilon()
    assert wide.finding.lower_bound < sharp.finding.lower_bound
    assert wide.finding.epsilon > sharp.finding.epsilon
    assert wide.is_ideal
    assert wide.is_exhaustive
    assert "ideal law" in wide.method


def test_an_error_as_large_as_the_probabilities_proves_nothing(small_space):
    """Where a probability may be 0 no epsilon is proved."""
    assert QuadratureLaw(small_space, Inexact(1.0), Copy()).exact_epsilon().finding.epsilon == math.inf


def test_large_spaces_are_compared_at_some_inputs_and_searched(small_space, monkeypatch):
    """Beyond the limit the method names how many inputs it covers, and a worse loss that a search finds is taken."""
    monkeypatch.setattr(module, "MAX_MATRIX_INPUTS", 20)
    exact = QuadratureLaw(small_space, Inexact(0.0), Copy()).exact_epsilon()
    assert not exact.is_exhaustive
    assert f"the {module.SUBSET_SIZE} most frequent of 60 inputs" in exact.method
    assert "other inputs are not covered" in exact.method
    worse = Finding(math.inf, 1e6, 0, 1, 2, 1.0, 1e6, 0.0)
    assert QuadratureLaw(small_space, Inexact(0.0), Copy(), lambda: worse).exact_epsilon().finding == worse
    milder = Finding(math.inf, 0.0, 0, 1, 2, 1.0, 0.0, 0.0)
    searched = QuadratureLaw(small_space, Inexact(0.0), Copy(), lambda: milder).exact_epsilon()
    assert searched.finding.lower_bound == exact.finding.lower_bound
    assert "lower bound in logarithms" in searched.method


def test_draws_are_the_simulation_s_and_have_no_tables(small_space):
    """Rows are the ideal law's, draws the simulation's, and tables are refused."""
    law = QuadratureLaw(small_space, Inexact(0.0), Copy())
    points = np.arange(60, dtype=np.int32)
    np.testing.assert_array_equal(law.sample(points, streams(60, "copy")), points)
    np.testing.assert_array_equal(law.rows([3, 1]), Inexact(0.0)(None, small_space.distances([3, 1])))
    blocks = law.map_rows(lambda first, rows: (first, rows), np.array([3, 1]))
    np.testing.assert_array_equal(np.concatenate([rows for _, rows in sorted(blocks)]), law.rows([3, 1]))
    with pytest.raises(NotTractable, match="no integer tables"):
        law.tables(points)
    assert law.fingerprint is None
    assert law.worst_loss() is law.input_losses(points) is law.renyi(2.0) is None


def test_outcomes_that_take_hours_are_refused(small_space, monkeypatch):
    """Beyond the limit the error gives the number of words and the limit."""
    law = QuadratureLaw(small_space, Inexact(0.0), Copy())
    kept, recovered = law.outcomes(np.full(60, 1 / 60))
    np.testing.assert_allclose(kept, law.rows(np.arange(60)).diagonal())
    assert recovered == pytest.approx(law.rows(np.arange(60)).max(axis=0).sum() / 60)
    monkeypatch.setattr(module, "MAX_QUADRATURE_POINTS", 59)
    with pytest.raises(NotTractable, match=r"for 60 words\. Take at most 59"):
        law.outcomes(np.full(60, 1 / 60))
