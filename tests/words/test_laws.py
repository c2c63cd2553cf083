"""Laws that are known row by row, or by draws alone, against brute force."""

import math

import numpy as np
import pytest

import deniable as dn
from deniable.words.laws import tabulated
from tests.contracts.statistics import FEW_DRAWS, THRESHOLD, fit, streams
from tests.refusals import refuses

POINTS = np.arange(60)


def exponential_rows(distances):
    """Return the rows of the exponential law of scale 1."""
    weights = np.exp(-distances)
    return weights / weights.sum(axis=1, keepdims=True)


def worst_of_all(law):
    """Return the largest loss per distance of all pairs and outputs of a law's tables, by brute force."""
    count = law.space.point_count
    logs = np.log(law.tables(np.arange(count)).astype(float))
    distances = law.space.distances(range(count))
    np.fill_diagonal(distances, np.inf)
    return float(((logs[:, None] - logs[None]).max(axis=2) / distances).max())


def compute_rows(points, distances):
    """Return rows that depend on the input's number too, so that blocks cannot mix them up."""
    weights = np.exp(-distances) * (1 + points[:, None] % 3 * (distances == 0))
    return weights / weights.sum(axis=1, keepdims=True)


class TestTabulated:
    """Known row by row: draws, verification and divergences are those of its integer tables."""

    @pytest.fixture(scope="class")
    @classmethod
    def law(cls, small_space):
        """Return the law of `compute_rows` over sixty words."""
        return dn.laws.TabulatedLaw(small_space, compute_rows)

    def test_rows_by_blocks_are_rows(self, law, small_space):
        """Points in any order, in blocks, have the same probabilities, as lists too; tables hold them exactly."""
        points = np.array([7, 0, 59, 7])
        blocks = law.map_rows(lambda first, rows: (first, rows.copy()), points)
        joined = np.concatenate([rows for _, rows in sorted(blocks, key=lambda block: block[0])])
        expected = compute_rows(points, small_space.distances(points))
        lists = dn.laws.TabulatedLaw(small_space, lambda *given: compute_rows(*given).tolist())
        for rows in (joined, law.rows(points), lists.rows(points)):
            np.testing.assert_array_equal(rows, expected)
        tables = law.tables(POINTS)
        assert (tables.sum(axis=1) == 1 << 62).all()
        np.testing.assert_allclose(tables / 2.0**62, law.rows(POINTS), atol=1e-7)

    def test_draws_fit_the_law_and_no_other(self, law):
        """Draws of one word fit its own row, and not that of another."""
        drawn = law.sample(np.full(FEW_DRAWS, 4, dtype=np.int32), streams(FEW_DRAWS, "tabulated"))
        counts = np.bincount(drawn, minlength=60)
        assert fit(counts, law.rows(np.array([4]))[0]) > THRESHOLD
        assert fit(counts, law.rows(np.array([5]))[0]) < THRESHOLD

    def test_epsilon_is_the_worst_of_all_pairs_and_outputs(self, law, monkeypatch):
        """The finding is the largest loss per distance by brute force; in larger spaces it is a lower bound alone."""
        worst, found = worst_of_all(law), law.exact_epsilon()
        assert found.is_exhaustive
        assert not found.is_ideal
        assert found.lower_bound <= worst * (1 + 1e-12)
        assert found.epsilon == pytest.approx(worst, rel=1e-6)
        monkeypatch.setattr(tabulated, "MAX_MATRIX_INPUTS", 10)
        searched = law.exact_epsilon()
        assert not searched.is_exhaustive
        assert searched.epsilon == math.inf
        assert 0 < searched.lower_bound <= worst

    def test_what_a_search_in_a_large_space_finds(self, small_space, monkeypatch):
        """It finds losses at y = w, leaks between near words at other outputs, and makes none up of rounding."""
        monkeypatch.setattr(tabulated, "MAX_MATRIX_INPUTS", 10)
        law = dn.laws.TabulatedLaw(small_space, lambda _, distances: exponential_rows(distances))
        finding = law.exact_epsilon()
        assert finding.lower_bound <= worst_of_all(law) == pytest.approx(finding.lower_bound, rel=1e-6)
        assert finding.distance == pytest.approx(small_space.distances([finding.input])[0, finding.other])
        line = dn.Space([f"w{number}" for number in range(30)], np.append(0.001, np.arange(29.0))[:, None])

        def leak(points, distances):
            rows = np.full(distances.shape, 1.0 / 30)
            rows[points == 0, 17], rows[points == 0, 18] = 1.5 / 30, 0.5 / 30
            return rows

        found = dn.laws.TabulatedLaw(line, leak).exact_epsilon()
        assert {found.input, found.other} == {0, 1}
        assert found.output in {17, 18}
        assert found.loss == pytest.approx(math.log(2), rel=1e-5)
        uniform = dn.laws.TabulatedLaw(small_space, lambda _, distances: np.full(distances.shape, 1 / 60))
        assert uniform.exact_epsilon().lower_bound == 0.0

    def test_divergence_is_that_of_the_worst_pair(self, law, monkeypatch):
        """Renyi divergence is the largest of all pairs of tables; beyond the limit none is given."""
        rows = law.tables(POINTS) / 2.0**62
        bound = law.renyi(2.0)
        assert bound == pytest.approx(math.log((rows**2 @ (1 / rows).T).max()), rel=1e-6)
        monkeypatch.setattr(tabulated, "MAX_EXACT_POINTS", 10)
        assert law.renyi(2.0) is None

    def test_a_function_of_ones_own_has_no_name(self, law):
        """Nothing of it is cached or keyed, and nothing but the claim bounds its losses."""
        assert law.fingerprint is law.worst_loss() is law.input_losses(np.arange(3)) is None
        assert law.is_tabulated is law.has_rows is True

    @pytest.mark.parametrize("rows", [np.ones((2, 2)) / 2, None, [["a"] * 60] * 2, [1.0]])
    def test_rows_of_another_shape_are_refused(self, small_space, rows):
        """What is no array of a row for each input is refused, by draws and by verification."""
        law = dn.laws.TabulatedLaw(small_space, lambda *_: rows)
        numbers = np.zeros(3, np.int32)
        for use in (lambda: law.rows([0, 1]), law.exact_epsilon, lambda: law.sample(numbers, streams(3, "a"))):
            with refuses("row"):
                use()


class Shift(dn.laws.Simulation):
    """Draws the input moved by a random number of places, in two steps."""

    def __init__(self):
        self.chunks = []

    def draw_chunk(self, points, generator):
        self.chunks.append(len(points))
        return np.stack([points, generator.random_raw(len(points)) % 60], axis=1)

    def resolve(self, draws, workers):
        del workers
        return (draws.sum(axis=1) % 60).astype(np.int32)


class TestSimulated:
    """Known only by draws: nothing is claimed of it."""

    def test_long_records_are_drawn_in_chunks(self, small_space):
        """Chunks are bounded, and workers do not show."""
        count, simulation = 70_000, Shift()
        points = np.random.default_rng(0).integers(60, size=count).astype(np.int32)
        law = dn.laws.SimulatedLaw(small_space, simulation)
        together = law.sample(points, streams(count, "long"), workers=2)
        assert max(simulation.chunks) <= 1 << 15
        assert sum(simulation.chunks) == count
        np.testing.assert_array_equal(law.sample(points, streams(count, "long"), workers=1), together)
        assert len(np.unique((together - points) % 60)) == 60

    def test_no_probabilities_are_claimed(self, small_space):
        """What needs rows or tables is refused; losses are left to the claim; a simulation must draw."""
        law, points = dn.laws.SimulatedLaw(small_space, Shift()), np.arange(2)
        for ask in (
            lambda: law.rows(points),
            lambda: law.map_rows(lambda *_: None, points),
            law.exact_epsilon,
            lambda: law.outcomes(np.full(60, 1 / 60)),
            lambda: law.tables(points),
        ):
            with refuses("", dn.NotTractable):
                ask()
        assert law.worst_loss() is law.input_losses(points) is law.renyi(2.0) is law.fingerprint is None
        assert law.has_rows is law.is_tabulated is False
        with refuses("Simulation", NotImplementedError):
            dn.laws.Simulation().draw_chunk(np.zeros(1, dtype=np.int32), None)
