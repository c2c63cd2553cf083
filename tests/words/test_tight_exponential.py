"""Tight exponential: weights that even out the normaliser, solved where that can be, else fitted."""

import numpy as np
import pytest

import deniable as dn
from deniable.words import tight_exponential
from deniable.words.laws.kernel import sum_decays
from tests.contracts import reference
from tests.contracts.steps import StepSpaces
from tests.contracts.word_mechanism import WordMechanismContract

METRICS = ("euclidean", "chebyshev", *(pytest.param(m, marks=pytest.mark.deep) for m in ("manhattan", "angular")))


class TestTightExponential(WordMechanismContract):
    """The tight exponential mechanism holds the contract."""

    mechanism = dn.TightExponential
    epsilon = 3.0
    twin_epsilon = 2.0
    glove_epsilon = 2.0
    theorem = ("exact epsilon", "all pairs of words", "all outputs")
    large = False


@pytest.mark.deep
class TestStepsTightExponential(StepSpaces, TestTightExponential):
    """The mechanism holds the contract under distance in steps."""


def kernel(space, scale):
    """Return exp(-scale D) (n, n) by the textbook."""
    return np.exp(-scale * reference.distances(space.points, space.metric.name))


def space_of(small_space, metric):
    """Return the 60 words under another metric."""
    return dn.Space(small_space.words, small_space.vectors, metric=metric)


@pytest.mark.parametrize("metric", METRICS)
def test_weights_of_a_mechanism(small_space, metric):
    """Solved, all normalisers are 1 and the scale is epsilon; fitted, the scale is below it; both are proved."""
    space = space_of(small_space, metric)
    for epsilon in (0.05, 1.0, 8.0, 20.0):
        subject = dn.TightExponential(space, epsilon=epsilon)
        status = "solved" if subject.is_solved else "fitted"
        assert subject.derived_parameters == {"scale": subject.scale, "weights": status}
        assert subject.kernel.weights.min() > 0
        assert dn.verify(subject).epsilon <= epsilon
        if subject.is_solved:
            assert np.abs(sum_decays(space, subject.kernel) - 1).max() < 1e-6
            assert subject.scale == pytest.approx(epsilon, rel=1e-5)
        elif metric != "angular":
            assert epsilon / 2 <= subject.scale < 0.99 * epsilon


def test_tight_constraints_are_equalities(small_space):
    """With solved weights P(w|w) = exp(epsilon d(w, w')) P(w|w') for every pair; noise is keyed by epsilon alone."""
    subject = dn.TightExponential(small_space, epsilon=3.0)
    assert subject.is_solved
    logs = np.log(subject.law.rows(range(60)))
    np.testing.assert_allclose(logs.diagonal() - logs, 3.0 * small_space.distances(range(60)), rtol=0, atol=2e-6)
    assert subject.fingerprint == f"tight(epsilon=3.0)@{small_space.fingerprint}"
    assert subject.law.fingerprint != dn.CalibratedExponential(small_space, epsilon=3.0).law.fingerprint


@pytest.mark.deep
@pytest.mark.parametrize(("epsilon", "solved"), [(1, False), (2, False), (3, True), (4, True)])
def test_solved_on_glove_from_epsilon_3(glove_2000, epsilon, solved):
    """On 2,000 words the solution has negative entries at epsilon 2 and none at epsilon 3, as worked out before."""
    subject = dn.TightExponential(glove_2000, epsilon=epsilon)
    assert subject.is_solved is solved
    assert (1 - 1e-6) * epsilon <= dn.verify(subject).epsilon <= epsilon
    assert bool(np.abs(sum_decays(glove_2000, subject.kernel) - 1).max() < 1e-6) is solved
    if epsilon == 2:
        assert 0.76 <= subject.law.rows(range(2000)).diagonal().mean() < 0.85


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("scale", [0.05, 1.0, 3.0, 20.0])
def test_solved_exactly_where_the_solution_is_positive(small_space, metric, scale):
    """Weights solve exp(-scale D) c = 1 where the linear algebra of the textbook finds c > 0, else are fitted."""
    space = space_of(small_space, metric)
    matrix = kernel(space, scale)
    weights, solved = tight_exponential.fit_weights(space, scale, 1)
    direct = np.linalg.solve(matrix, np.ones(60))
    assert solved is bool((direct > 0).all())
    assert weights.shape == (60,)
    assert np.isfinite(weights).all()
    assert weights.min() > 0
    if solved:
        assert np.abs(matrix @ weights - 1).max() < 1e-6
        np.testing.assert_allclose(weights, direct, rtol=1e-3)
    np.testing.assert_array_equal(tight_exponential.fit_weights(space, scale, 2)[0], weights)


@pytest.mark.parametrize(("scale", "tolerance"), [(3.0, 1e-10), (0.5, 1e-8)])
def test_weights_without_the_matrix_in_memory(small_space, monkeypatch, scale, tolerance):
    """Where the matrix does not fit, passes over all pairs find the same solution, or in as many steps the same fit."""
    monkeypatch.setattr(tight_exponential, "_DENSE_FIT_STEPS", 7)
    monkeypatch.setattr(tight_exponential, "_FIT_STEPS", 7)
    dense, solved = tight_exponential.fit_weights(small_space, scale)
    monkeypatch.setattr(tight_exponential, "MAX_DENSE_POINTS", 0)
    passes, again = tight_exponential.fit_weights(small_space, scale)
    assert solved is again is (scale > 1)
    np.testing.assert_allclose(passes, dense, rtol=tolerance)
    assert passes.min() > 0


@pytest.mark.parametrize("metric", METRICS[:2])
def test_every_step_lowers_the_objective(small_space, monkeypatch, metric):
    """1/2 c' K c - 1' c falls from step to step, also where K is not positive definite."""
    space = space_of(small_space, metric)
    for scale in (0.05, 0.5):
        matrix, values = kernel(space, scale), []
        for steps in range(12):
            monkeypatch.setattr(tight_exponential, "_DENSE_FIT_STEPS", steps)
            weights, solved = tight_exponential.fit_weights(space, scale)
            assert not solved
            values.append(weights @ matrix @ weights / 2 - weights.sum())
        assert (np.diff(values) < 0).all()


def test_chebyshev_kernel_need_not_be_positive_definite():
    """Positive, finite weights, and a proof, come out for a Chebyshev kernel with a negative eigenvalue."""
    generator = np.random.default_rng(0)
    space = dn.Space([f"w{number}" for number in range(80)], generator.normal(size=(80, 6)), metric="chebyshev")
    assert np.linalg.eigvalsh(kernel(space, 0.05)).min() < 0
    subject = dn.TightExponential(space, epsilon=0.05)
    assert not subject.is_solved
    assert np.isfinite(subject.kernel.weights).all()
    assert subject.kernel.weights.min() > 0
    assert dn.verify(subject).status == "proved"


@pytest.mark.parametrize(("scale", "solved"), [(3.0, True), (0.5, False)])
def test_star(scale, solved):
    """Six points around a middle one have a solution in closed form, which is refused where the middle is negative."""
    vectors = np.concatenate([np.zeros((1, 3)), np.eye(3), -np.eye(3)])
    space = dn.Space([f"w{number}" for number in range(7)], vectors, metric="manhattan")
    a = np.exp(-scale)
    expected = np.append(1 - 6 * a / (1 + a), np.full(6, 1 / (1 + a)))
    assert bool(expected.min() > 0) is solved
    weights, found = tight_exponential.fit_weights(space, scale)
    assert found is solved
    assert weights.min() > 0
    if solved:
        np.testing.assert_allclose(weights, expected, rtol=1e-7)
