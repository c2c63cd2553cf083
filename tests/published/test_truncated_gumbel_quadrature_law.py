"""A law known by integrals, drawn by a simulation, against brute force."""

import math

import numpy as np
import pytest

import deniable as dn
from deniable.published.truncated_gumbel import law as quadrature_law
from deniable.published.truncated_gumbel.law import QuadratureLaw
from deniable.words.laws.law import ExactEpsilon
from tests.contracts.statistics import streams
from tests.refusals import refuses

POINTS = np.arange(60)


def find_nothing():
    """Return no loss that a search found."""
    return ExactEpsilon(math.inf, 0.0, 0, 1, 0, 1.0, 0.0)


def exponential_rows(distances):
    """Return the rows of the exponential law of scale 1."""
    weights = np.exp(-distances)
    return weights / weights.sum(axis=1, keepdims=True)


class Copy(dn.laws.Simulation):
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
        return exponential_rows(distances)

    def integrate_with_errors(self, points, distances):
        values = self(points, distances)
        return values, self.error * values


class TestQuadrature:
    """Bounds that hold the errors of integrals, and draws that are another's."""

    def test_bounds_widen_with_the_error(self, small_space):
        """Without an error both bounds meet at the true loss; with one they lie around it, or prove nothing."""
        truth = dn.laws.TabulatedLaw(small_space, Inexact(0)).exact_epsilon().epsilon
        sharp, wide, open_ended = (
            QuadratureLaw(small_space, Inexact(error), Copy(), find_nothing).exact_epsilon()
            for error in (0.0, 0.05, 1.0)
        )
        assert sharp.epsilon == pytest.approx(truth, rel=1e-4)
        assert sharp.lower_bound == pytest.approx(sharp.epsilon, rel=1e-6)
        assert wide.lower_bound < sharp.lower_bound
        assert wide.epsilon > sharp.epsilon
        assert wide.is_ideal
        assert wide.is_exhaustive
        assert open_ended.epsilon == math.inf

    def test_large_spaces_are_compared_at_some_inputs_and_searched(self, small_space, monkeypatch):
        """Beyond the limit some inputs are covered, and a worse loss that a search finds is taken."""
        monkeypatch.setattr(quadrature_law, "MAX_MATRIX_INPUTS", 20)
        exact = QuadratureLaw(small_space, Inexact(0.0), Copy(), find_nothing).exact_epsilon()
        assert not exact.is_exhaustive
        assert "most frequent of 60 inputs" in exact.method
        for loss in (1e6, 0.0):
            changes = {"epsilon": math.inf, "lower_bound": loss, "loss": loss}
            other = type(exact)(**{**vars(exact), **changes})
            found = QuadratureLaw(small_space, Inexact(0.0), Copy(), lambda other=other: other).exact_epsilon()
            assert found.lower_bound == max(loss, exact.lower_bound)

    def test_draws_are_the_simulation_s_and_have_no_tables(self, small_space, monkeypatch):
        """Rows and outcomes are the ideal law's, draws the simulation's; tables, and hours of work, are refused."""
        law, points = QuadratureLaw(small_space, Inexact(0.0), Copy(), find_nothing), POINTS.astype(np.int32)
        np.testing.assert_array_equal(law.sample(points, streams(60, "copy")), points)
        rows = exponential_rows(small_space.distances(POINTS))
        np.testing.assert_array_equal(law.rows(POINTS), rows)
        blocks = law.map_rows(lambda first, block: (first, block.copy()), np.array([3, 1]))
        np.testing.assert_array_equal(np.concatenate([block for _, block in sorted(blocks)]), rows[[3, 1]])
        shares = law.outcomes(np.full(60, 1 / 60))
        np.testing.assert_allclose(shares.kept, rows.diagonal())
        np.testing.assert_allclose(shares.guessed.sum(), rows.max(axis=0).sum())
        with refuses("", dn.NotTractable):
            law.tables(points)
        assert law.fingerprint is law.worst_loss() is law.input_losses(points) is law.renyi(2.0) is None
        monkeypatch.setattr(quadrature_law, "MAX_MATRIX_INPUTS", 59)
        with refuses(60, dn.NotTractable):
            law.outcomes(np.full(60, 1 / 60))


class Inaccurate(dn.TEM):
    """A mechanism whose law cannot be integrated."""

    def build_law(self):
        def integrate(*_):
            raise dn.NotTractable("two grids differ")

        return QuadratureLaw(self.space, integrate, Copy(), find_nothing)


def test_an_integral_that_is_not_accurate_enough(small_space):
    """Expectations are left out where the law's integral is not accurate enough; counts are there all the same."""
    result = dn.measure.measure_deniability(Inaccurate(small_space, epsilon=3.0), small_space.words[:2], runs=3)
    assert result.expected_distinct is None
    assert result.distinct.min() >= 1
