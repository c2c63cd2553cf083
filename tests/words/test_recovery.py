"""What an attacker recovers, against brute force, and the priors that are refused."""

import math

import numpy as np
import pytest

import deniable as dn
from tests.refusals import refuses


def brute_force(mechanism, prior):
    """Return the sum over output words of the largest prior times law, over the matrix of words by words."""
    matrix = np.array([mechanism.probabilities(word) for word in mechanism.space.words])
    return float((prior[:, None] * matrix).max(axis=0).sum())


@pytest.mark.parametrize("mechanism", [dn.TEM, dn.CalibratedExponential, dn.TightExponential])
@pytest.mark.parametrize("name", ["small_space", "twin_space"])
def test_recovery_against_brute_force(request, mechanism, name):
    """The Bayes success is that of the law's matrix, for Zipf's and for another prior, twins included."""
    space = request.getfixturevalue(name)
    subject = mechanism(space, epsilon=1.5)
    zipf = 1 / np.arange(1, len(space) + 1)
    assert dn.recovery(subject) == pytest.approx(brute_force(subject, zipf / zipf.sum()), rel=1e-12)
    prior = np.random.default_rng(2).dirichlet(np.ones(len(space)))
    assert dn.recovery(subject, prior) == pytest.approx(brute_force(subject, prior), rel=1e-12)


def test_recovery_of_a_law_by_quadrature(small_space):
    """Truncated Gumbel, whose law is no member of the family, is attacked by its own law."""
    space = dn.Space(small_space.words[:12], small_space.vectors[:12])
    subject = dn.TruncatedGumbel(space, epsilon=100.0)
    prior = np.random.default_rng(5).dirichlet(np.ones(12))
    assert dn.recovery(subject, prior) == pytest.approx(brute_force(subject, prior), rel=1e-9)


def test_recovery_lies_between_the_prior_and_one(small_space):
    """The success grows with epsilon, from the largest prior to 1."""
    values = [dn.recovery(dn.CalibratedExponential(small_space, epsilon=epsilon)) for epsilon in (0.1, 1.0, 3.0, 10.0)]
    most = 1 / sum(1 / rank for rank in range(1, 61))
    assert most * (1 - 1e-12) <= values[0] < values[1] < values[2] < values[3] <= 1


def test_uniform_law_gives_the_largest_prior(small_space):
    """An output that tells nothing leaves the attacker the most frequent word."""
    subject = dn.TEM(small_space, epsilon=1e-300)
    prior = np.random.default_rng(1).dirichlet(np.ones(60))
    assert dn.recovery(subject, prior) == pytest.approx(prior.max(), rel=1e-12)


def test_law_that_keeps_every_word_gives_one(small_space, twin_space):
    """An output that is the input gives every word away, but for the words that share its point."""
    assert dn.recovery(dn.TEM(small_space, epsilon=1e6, gamma=math.inf)) == pytest.approx(1.0, abs=1e-12)
    flat = dict.fromkeys(twin_space.words, 1)
    assert dn.recovery(dn.TEM(twin_space, epsilon=1e6, gamma=math.inf), flat) == pytest.approx(5 / 12, abs=1e-12)


def test_workers_do_not_matter(small_space):
    """One worker and two get the same to 12 digits, without the cache's help."""
    subject = dn.TEM(small_space, epsilon=2.0)
    prior = np.random.default_rng(11).dirichlet(np.ones(60), size=2)
    found = [dn.recovery(subject, prior[0], workers=workers) for workers in (1, 2)]
    assert found[0] == found[1]
    assert dn.recovery(subject, prior[1], workers=2) == pytest.approx(brute_force(subject, prior[1]), rel=1e-12)


@pytest.mark.parametrize(
    ("prior", "value"),
    [
        ([-1.0] + [1.0] * 59, "at least 0"),
        ([math.nan] + [1.0] * 59, "finite"),
        ([math.inf] + [1.0] * 59, "finite"),
        ([0.0] * 60, "one above 0"),
        ([1.0] * 59, "(59,)"),
        (3.0, "()"),
        ([[1.0] * 60], "(1, 60)"),
        ("baran", "numbers"),
        (["x"] * 60, "numbers"),
        ([[1.0], [1.0, 2.0]], "numbers"),
        ({"baran": "3"}, "numbers"),
        ({3: 3}, "numbers"),
        ({"nonesuch": 3}, "one above 0"),
        ({}, "one above 0"),
        ({"baran": -1, "supen": 3}, "at least 0"),
        (dn.Prior(np.full(60, math.nan), "none"), "finite"),
        (dn.Prior(np.full(12, 1 / 12), "another space"), "(12,)"),
    ],
)
def test_bad_prior_is_refused(small_space, prior, value):
    """A prior that is none is refused in one line that says what was found."""
    with refuses(value):
        dn.recovery(dn.TEM(small_space, epsilon=1.0), prior)


def test_what_has_no_success_is_refused(small_space):
    """Nothing is computed without a law, by a quadrature beyond 3,000 points, or of what is no mechanism."""
    with refuses("samples", dn.NotTractable):
        dn.recovery(dn.MultivariateLaplace(small_space, epsilon=3.0))
    space = dn.Space([f"w{number}" for number in range(3001)], 100.0 * np.arange(3001)[:, None])
    with refuses("3,001", dn.NotTractable):
        dn.recovery(dn.TruncatedGumbel(space, epsilon=50.0))
    for wrong in ("x", None, 3):
        with refuses(repr(wrong)):
            dn.recovery(wrong)
