"""What an attacker recovers, against brute force, and the priors that are refused."""

import math

import numpy as np
import pytest

import deniable as dn
from deniable.words.laws.quadrature import MAX_QUADRATURE_POINTS


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


BAD = {
    "negative": ([-1.0] + [1.0] * 59, "finite counts of at least 0, not all 0. Got a least of -1"),
    "nan": ([math.nan] + [1.0] * 59, "finite counts"),
    "infinite": ([math.inf] + [1.0] * 59, "finite counts"),
    "all zero": ([0.0] * 60, "not all 0. Got a least of 0 and a sum of 0"),
    "too short": ([1.0] * 59, r"one number for each of 60 words. Got shape \(59,\)"),
    "number": (3.0, r"Got shape \(\)"),
    "matrix": ([[1.0] * 60], r"Got shape \(1, 60\)"),
    "text": ("baran", "must hold numbers"),
    "texts": (["x"] * 60, "must hold numbers"),
    "ragged": ([[1.0], [1.0, 2.0]], "must hold numbers"),
    "mapping to text": ({"baran": "3"}, "must hold numbers"),
    "mapping from numbers": ({3: 3}, "must hold numbers"),
    "mapping of strangers": ({"nonesuch": 3}, "not all 0"),
    "empty mapping": ({}, "not all 0"),
    "negative mapping": ({"baran": -1, "supen": 3}, "a least of -1"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_prior_is_refused(small_space, name):
    """A prior that is none is refused in one line that says what was found."""
    prior, message = BAD[name]
    with pytest.raises(dn.InputError, match=message) as caught:
        dn.recovery(dn.TEM(small_space, epsilon=1.0), prior)
    assert str(caught.value).startswith("The prior must hold ")
    assert "\n" not in str(caught.value)


def test_no_law_is_refused(small_space):
    """Without a known law there is no exact success, and the message says what to do."""
    with pytest.raises(dn.NotTractable, match=r"No exact output law of this mechanism is known. Draw samples instead"):
        dn.recovery(dn.MultivariateLaplace(small_space, epsilon=3.0))


def test_slow_law_is_refused():
    """A law by quadrature is refused beyond 3,000 points, before anything is computed."""
    count = MAX_QUADRATURE_POINTS + 1
    space = dn.Space([f"w{number}" for number in range(count)], 100.0 * np.arange(count)[:, None])
    with pytest.raises(
        dn.NotTractable,
        match=r"The law of this mechanism takes too long to compute for 3,001 words. Take at most 3,000",
    ):
        dn.recovery(dn.TruncatedGumbel(space, epsilon=50.0))


@pytest.mark.parametrize("wrong", ["x", None, np.eye(3), dn.TEM])
def test_what_is_no_mechanism_is_refused(wrong):
    """Anything but a word mechanism is refused in one line that says what is wanted."""
    with pytest.raises(dn.InputError, match=r"must be a word mechanism, such as TEM\(space, epsilon=3.0\). Got .*$"):
        dn.recovery(wrong)
    with pytest.raises(dn.InputError, match=r"recovery needs mechanism: write recovery\(mechanism\)"):
        dn.recovery()
