"""Tight exponential: weights that even out the normaliser, solved where that can be, else fitted."""

import numpy as np
import pytest

import deniable as dn
from deniable.words.laws.exponential_proof import prove_exact_epsilon
from tests.contracts.geodesic import GeodesicSpaces
from tests.contracts.word_mechanism import WordMechanismContract

METRICS = ("euclidean", "manhattan", "chebyshev", "angular", "geodesic")


class TestTightExponential(WordMechanismContract):
    """The tight exponential mechanism holds the contract."""

    mechanism = dn.TightExponential
    epsilon = 3.0
    twin_epsilon = 2.0
    glove_epsilon = 2.0
    theorem = ("exact epsilon", "all pairs of words", "all outputs")
    large = False


class TestGeodesicTightExponential(GeodesicSpaces, TestTightExponential):
    """The mechanism holds the contract under the geodesic metric."""


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("epsilon", [8.0, 20.0])
def test_solved_weights_give_one_normaliser(small_space, small_vectors, metric, epsilon):
    """Where the weights solve exp(-epsilon D) c = 1, all normalisers are 1 and the scale is epsilon itself."""
    subject = dn.TightExponential(dn.Space(small_space.words, small_vectors, metric=metric), epsilon=epsilon)
    assert subject.is_solved
    assert subject.derived_parameters == {"scale": subject.scale, "weights": "solved"}
    assert np.abs(subject.kernel.normalisers(subject.space) - 1).max() < 1e-6
    assert subject.scale == pytest.approx(epsilon, rel=1e-6)
    assert subject.kernel.weights.min() > 0


@pytest.mark.parametrize("metric", METRICS[:3])
@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0])
def test_fitted_weights_need_less_scale(small_space, small_vectors, metric, epsilon):
    """Where no positive solution exists the certificate says fitted, and the scale stays below epsilon."""
    subject = dn.TightExponential(dn.Space(small_space.words, small_vectors, metric=metric), epsilon=epsilon)
    assert not subject.is_solved
    assert subject.derived_parameters == {"scale": subject.scale, "weights": "fitted"}
    assert epsilon / 2 <= subject.scale < 0.99 * epsilon
    assert subject.kernel.weights.min() > 0
    assert prove_exact_epsilon(subject.space, subject.kernel).epsilon <= epsilon


def test_tight_constraints_are_equalities(small_space):
    """With solved weights P(w|w) = exp(epsilon d(w, w')) P(w|w') for every pair."""
    subject = dn.TightExponential(small_space, epsilon=3.0)
    assert subject.is_solved
    distances = small_space.distances(range(60))
    logs = np.log(subject.law.rows(range(60)))
    np.testing.assert_allclose(logs.diagonal() - logs, 3.0 * distances, rtol=0, atol=2e-6)


@pytest.mark.parametrize(("epsilon", "solved"), [(1, False), (2, False), (3, True), (4, True)])
def test_solved_on_glove_from_epsilon_3(glove_2000, epsilon, solved):
    """On 2,000 words the solution has negative entries at epsilon 2 and none at epsilon 3, as worked out before."""
    subject = dn.TightExponential(glove_2000, epsilon=epsilon)
    assert subject.is_solved is solved
    assert (1 - 1e-6) * epsilon <= dn.verify(subject).epsilon <= epsilon
    assert bool(np.abs(subject.kernel.normalisers(glove_2000) - 1).max() < 1e-6) is solved


def test_reference_shares(glove_2000):
    """At epsilon 3 it keeps 98.3 % of words, at epsilon 2 at least the 76 % that were worked out before."""
    kept = {
        epsilon: dn.TightExponential(glove_2000, epsilon=epsilon).law.rows(range(2000)).diagonal().mean()
        for epsilon in (2, 3)
    }
    assert f"{100 * kept[3]:.1f}" == "98.3"
    assert 0.76 <= kept[2] < 0.85


@pytest.mark.parametrize("epsilon", [1, 2, 3, 4])
def test_keeps_at_least_what_calibration_keeps(glove_2000, epsilon):
    """At equal proven epsilon more words are kept than by the calibrated mechanism."""
    tight, calibrated = (
        mechanism(glove_2000, epsilon=epsilon).law.rows(range(2000)).diagonal().mean()
        for mechanism in (dn.TightExponential, dn.CalibratedExponential)
    )
    assert tight >= calibrated


def test_weights_are_not_part_of_the_noise_key(small_space):
    """The fingerprint that keys the noise holds epsilon and the space alone; the law's own holds the weights."""
    subject = dn.TightExponential(small_space, epsilon=3.0)
    assert subject.fingerprint == f"tight(epsilon=3.0)@{small_space.fingerprint}"
    assert subject.law.fingerprint != dn.CalibratedExponential(small_space, epsilon=3.0).law.fingerprint
