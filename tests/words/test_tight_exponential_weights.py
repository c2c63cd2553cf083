"""Weights that even out the normaliser: solved where a positive solution exists, else fitted."""

import numpy as np
import pytest

import deniable as dn
from deniable.words.tight_exponential import fit_weights
from tests.contracts import reference

METRICS = ("euclidean", "manhattan", "chebyshev", "angular")


def kernel(space, scale):
    """Return exp(-scale D) (n, n) by the textbook."""
    return np.exp(-scale * reference.distances(space.points, space.metric.name))


def space_of(small_space, metric):
    """Return the 60 words under another metric."""
    return dn.Space(small_space.words, small_space.vectors, metric=metric)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("scale", [0.05, 0.3, 1.0, 3.0, 8.0, 20.0])
def test_solved_exactly_where_the_solution_is_positive(small_space, metric, scale):
    """Weights solve exp(-scale D) c = 1 where the linear algebra of the textbook finds c > 0, else are fitted."""
    space = space_of(small_space, metric)
    matrix = kernel(space, scale)
    weights, solved = fit_weights(space, scale)
    direct = np.linalg.solve(matrix, np.ones(60))
    assert solved is bool((direct > 0).all())
    assert weights.shape == (60,)
    assert np.isfinite(weights).all()
    assert weights.min() > 0
    if solved:
        assert np.abs(matrix @ weights - 1).max() < 1e-6
        np.testing.assert_allclose(weights, direct, rtol=1e-3)


@pytest.mark.parametrize("scale", [3.0, 8.0])
def test_solution_without_the_matrix_in_memory(small_space, monkeypatch, scale):
    """Where the matrix does not fit, passes over all pairs find the same solution."""
    dense, solved = fit_weights(small_space, scale)
    monkeypatch.setattr("deniable.words.tight_exponential.MAX_DENSE_POINTS", 0)
    passes, again = fit_weights(small_space, scale)
    assert solved
    assert again
    np.testing.assert_allclose(passes, dense, rtol=1e-10)


@pytest.mark.parametrize("metric", METRICS[:3])
def test_fit_without_the_matrix_in_memory(small_space, monkeypatch, metric):
    """With as many steps the passes fit the same weights as the matrix does."""
    space = space_of(small_space, metric)
    monkeypatch.setattr("deniable.words.tight_exponential._DENSE_FIT_STEPS", 7)
    monkeypatch.setattr("deniable.words.tight_exponential._FIT_STEPS", 7)
    dense, solved = fit_weights(space, 0.5)
    monkeypatch.setattr("deniable.words.tight_exponential.MAX_DENSE_POINTS", 0)
    passes, again = fit_weights(space, 0.5)
    assert (solved, again) == (False, False)
    np.testing.assert_allclose(passes, dense, rtol=1e-8)
    assert passes.min() > 0


@pytest.mark.parametrize("metric", METRICS[:3])
@pytest.mark.parametrize("scale", [0.05, 0.5])
def test_every_step_lowers_the_objective(small_space, monkeypatch, metric, scale):
    """1/2 c' K c - 1' c falls from step to step, also where K is not positive definite."""
    space = space_of(small_space, metric)
    matrix = kernel(space, scale)
    values = []
    for steps in range(12):
        monkeypatch.setattr("deniable.words.tight_exponential._DENSE_FIT_STEPS", steps)
        weights, solved = fit_weights(space, scale)
        assert not solved
        values.append(weights @ matrix @ weights / 2 - weights.sum())
    assert (np.diff(values) < 0).all()


def test_chebyshev_kernel_need_not_be_positive_definite():
    """Positive, finite weights come out for a Chebyshev kernel with a negative eigenvalue."""
    generator = np.random.default_rng(0)
    space = dn.Space([f"w{number}" for number in range(80)], generator.normal(size=(80, 6)), metric="chebyshev")
    assert np.linalg.eigvalsh(kernel(space, 0.05)).min() < 0
    weights, solved = fit_weights(space, 0.05)
    assert not solved
    assert np.isfinite(weights).all()
    assert weights.min() > 0
    subject = dn.TightExponential(space, epsilon=0.05)
    assert dn.verify(subject).status == "proved"


@pytest.mark.parametrize(("scale", "solved"), [(3.0, True), (0.5, False)])
def test_star(scale, solved):
    """Six points around a middle one have a solution in closed form, which is refused where the middle is negative."""
    leaves = np.concatenate([np.eye(3), -np.eye(3)])
    space = dn.Space(
        [f"w{number}" for number in range(7)], np.concatenate([np.zeros((1, 3)), leaves]), metric="manhattan"
    )
    a = np.exp(-scale)
    expected = np.append(1 - 6 * a / (1 + a), np.full(6, 1 / (1 + a)))
    assert bool(expected.min() > 0) is solved
    weights, found = fit_weights(space, scale)
    assert found is solved
    assert weights.min() > 0
    if solved:
        np.testing.assert_allclose(weights, expected, rtol=1e-7)


def test_workers_do_not_matter(glove_2000):
    """One worker and two find the same weights to the last bit, solved or fitted."""
    for scale in (1.0, 3.0):
        one, two = (fit_weights(glove_2000, scale, workers) for workers in (1, 2))
        assert one[1] is two[1]
        np.testing.assert_array_equal(one[0], two[0])


def test_solution_on_glove(glove_2000):
    """On 2,000 words the weights at scale 3 solve the equations, and those at scale 2 do not."""
    matrix = np.exp(-glove_2000.distances(range(2000)))
    weights, solved = fit_weights(glove_2000, 3.0)
    assert solved
    assert np.abs(matrix**3 @ weights - 1).max() < 1e-6
    weights, solved = fit_weights(glove_2000, 2.0)
    assert not solved
    assert np.abs(matrix**2 @ weights - 1).max() > 1e-3
    assert weights.min() > 0
