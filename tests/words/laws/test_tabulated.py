"""A law known row by row: draws, verification and divergences are those of its integer tables."""

import math

import numpy as np
import pytest

from deniable.core.errors import InputError
from deniable.words.laws import TabulatedLaw, tabulated
from tests.contracts.statistics import THRESHOLD, fit, streams


def compute_rows(points, distances):
    """Return rows that depend on the input's number too, so that blocks cannot mix them up."""
    weights = np.exp(-distances) * (1 + points[:, None] % 3 * (distances == 0))
    return weights / weights.sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def law(small_space):
    """Return the law of `compute_rows` over sixty words."""
    return TabulatedLaw(small_space, compute_rows)


def test_rows_by_blocks_are_rows(law, small_space):
    """Points in any order, one by one or in blocks, have the same probabilities."""
    points = np.array([7, 0, 59, 7])
    blocks = law.map_rows(lambda first, rows: (first, rows.copy()), points)
    joined = np.concatenate([rows for _, rows in sorted(blocks, key=lambda block: block[0])])
    np.testing.assert_array_equal(joined, law.rows(points))
    np.testing.assert_array_equal(law.rows(points), compute_rows(points, small_space.distances(points)))


def test_tables_hold_the_law_to_the_last_unit(law):
    """Entries sum to 2^62 exactly and are the probabilities but for rounding."""
    tables = law.tables(np.arange(60))
    assert (tables.sum(axis=1) == 1 << 62).all()
    np.testing.assert_allclose(tables / 2.0**62, law.rows(np.arange(60)), atol=1e-7)


def test_draws_fit_the_law_and_no_other(law):
    """Draws of one word fit its own row, and not that of another."""
    drawn = law.sample(np.full(50_000, 4, dtype=np.int32), streams(50_000, "tabulated"))
    counts = np.bincount(drawn, minlength=60)
    assert fit(counts, law.rows(np.array([4]))[0]) > THRESHOLD
    assert fit(counts, law.rows(np.array([5]))[0]) < THRESHOLD


def test_epsilon_is_the_worst_of_all_pairs_and_outputs(law, small_space):
    """The finding is the largest loss per distance of the tables by brute force, and says that it covers all."""
    logs = np.log(law.tables(np.arange(60)).astype(float))
    distances = small_space.distances(range(60))
    np.fill_diagonal(distances, np.inf)
    worst = ((logs[:, None] - logs[None]).max(axis=2) / distances).max()
    found = law.exact_epsilon()
    assert found.is_exhaustive
    assert not found.is_ideal
    assert found.finding.lower_bound <= worst * (1 + 1e-12)
    assert found.finding.epsilon == pytest.approx(worst, rel=1e-6)
    assert "3,540 pairs" in found.method


def test_beyond_the_limit_a_search_gives_a_lower_bound(law, monkeypatch):
    """In larger spaces the finding has no upper bound, never exceeds the truth, and is not called exhaustive."""
    exact = law.exact_epsilon().finding
    monkeypatch.setattr(tabulated, "MAX_MATRIX_INPUTS", 10)
    found = law.exact_epsilon()
    assert not found.is_exhaustive
    assert found.finding.epsilon == math.inf
    assert 0 < found.finding.lower_bound <= exact.epsilon


def test_divergence_is_that_of_the_worst_pair(law, monkeypatch):
    """Renyi divergence is the largest of all pairs of tables; beyond the limit none is given."""
    rows = law.tables(np.arange(60)) / 2.0**62
    worst = math.log((rows**2 @ (1 / rows).T).max())
    bound = law.renyi(2.0)
    assert bound.is_exact
    assert bound.divergence == pytest.approx(worst, rel=1e-6)
    monkeypatch.setattr(tabulated, "MAX_EXACT_POINTS", 10)
    assert law.renyi(2.0) is None


def test_a_function_of_ones_own_has_no_name(law):
    """Nothing of it is cached or keyed, and nothing but the claim bounds its losses."""
    assert law.fingerprint is None
    assert law.worst_loss() is None
    assert law.input_losses(np.arange(3)) is None
    assert law.is_tabulated
    assert law.has_rows


@pytest.mark.parametrize("rows", [np.ones((2, 2)) / 2, None, [["a"] * 60] * 2, [1.0]])
def test_rows_of_another_shape_are_refused(small_space, rows):
    """What is no array of a row for each input is refused in one line, by draws and by verification."""
    law = TabulatedLaw(small_space, lambda *_: rows)
    for use in (
        lambda: law.rows([0, 1]),
        law.exact_epsilon,
        lambda: law.sample(np.zeros(3, np.int32), streams(3, "a")),
    ):
        with pytest.raises(InputError, match=r"^The law of a mechanism must give a row of numbers for each [^\n]*\.$"):
            use()


def test_rows_may_be_lists(small_space):
    """A law that gives lists of floats is the law of the array that they make."""
    law = TabulatedLaw(small_space, lambda points, distances: compute_rows(points, distances).tolist())
    np.testing.assert_array_equal(law.rows([3, 4]), TabulatedLaw(small_space, compute_rows).rows([3, 4]))
