"""What a whole text loses: against brute force over all pairs, and against dp-accounting."""

import dataclasses
import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from dp_accounting.rdp import rdp_privacy_accountant

import deniable as dn
from tests.refusals import refuses

ORDERS = tuple(1 + 2.0 ** (half / 2) for half in range(-16, 9))
"""Orders of Renyi divergences that are composed."""


class Given(dn.WordMechanism):
    """Any law of the exponential family as a mechanism."""

    name = "given"

    def __init__(self, space, kernel):
        super().__init__(space, epsilon=2 * kernel.scale)
        self._kernel = kernel

    def build_law(self):
        return dn.laws.ExponentialLaw(self.space, self._kernel)

    @property
    def guarantee(self):
        return dn.Guarantee.of_words(self.epsilon, self.space.metric.name, "twice the scale suits every space")


def compute_tables(mechanism):
    """Return the integer tables (n, n) as probabilities."""
    space = mechanism.space
    return mechanism.law.tables(range(space.point_count)) / 2.0**62


def divergence(p, q, alpha):
    """Return D_alpha(p, q), by logarithms."""
    return float(np.logaddexp.reduce(alpha * np.log(p) + (1 - alpha) * np.log(q))) / (alpha - 1)


def worst_divergence(matrix, alpha):
    """Return the largest D_alpha of two rows, and which."""
    count = len(matrix)
    return max((divergence(matrix[w], matrix[v], alpha), w, v) for w in range(count) for v in range(count) if w != v)


LAWS = {
    "flat": dn.laws.ExponentialKernel(0.1),
    "middle": dn.laws.ExponentialKernel(0.8, 3.0),
    "sharp": dn.laws.ExponentialKernel(4.0),
    "weighted": dn.laws.ExponentialKernel(0.8, 3.0, np.random.default_rng(3).uniform(0.1, 4, size=60)),
    "sparse": dn.laws.ExponentialKernel(1.5, math.inf, np.arange(60) % 4 + 1e-3),
}


@pytest.fixture(params=LAWS)
def mechanism(request, small_space):
    """Return a mechanism on the small space, of one of several laws."""
    return Given(small_space, LAWS[request.param])


def test_exact_divergence_of_a_law_without_fingerprint(small_space, small_vectors):
    """A metric of the user's own has divergences too, which are not cached."""

    def own(left, right):
        return np.abs(left[:, None] - right[None]).sum(axis=2)

    space = dn.Space(small_space.words, small_vectors, metric=own)
    subject = dn.TEM(space, epsilon=1.0)
    assert subject.law.fingerprint is None
    expected, *_ = worst_divergence(compute_tables(subject), 3.0)
    assert subject.law.renyi(3.0) == pytest.approx(expected, rel=1e-7)


def test_pure_bound_is_words_times_the_worst_loss(mechanism):
    """The linear bound is the number of words times the largest loss of any pair and output of the tables."""
    logs = np.log(compute_tables(mechanism))
    worst = max(float((row - logs).max()) for row in logs)
    promise = mechanism.document_guarantee(37, 1e-6)
    assert promise.pure.epsilon >= 37 * worst
    # What the floor of the tables adds to small probabilities is not taken off the bound.
    assert promise.pure.epsilon == pytest.approx(37 * worst, rel=1e-2 if worst > 10 else 1e-6)
    assert promise.word_count == 37


@pytest.mark.parametrize("words", [1, 1000])
@pytest.mark.parametrize("delta", [1e-9, 0.01])
def test_conversion_agrees_with_dp_accounting(small_space, words, delta):
    """From equal divergences dp-accounting gets no less, and what it gets wherever its order is one it tries."""
    subject = dn.CalibratedExponential(small_space, epsilon=0.4)
    divergences = [words * subject.law.renyi(alpha) for alpha in ORDERS]
    theirs, order = rdp_privacy_accountant.compute_epsilon(ORDERS, divergences, delta)
    promise = subject.document_guarantee(words, delta)
    assert order > 1.01
    ours = min(theirs, promise.pure.epsilon)
    assert promise.approximate.epsilon == pytest.approx(ours, rel=1e-9)


@pytest.mark.parametrize("name", ["weighted", *(pytest.param(n, marks=pytest.mark.deep) for n in ("flat", "middle"))])
def test_never_below_the_privacy_loss_distribution(small_space, name):
    """For 1, 10 and 100 words epsilon is at least what the composed loss of the worst pair needs, and near it."""
    family = LAWS[name]
    space = dn.Space(small_space.words[:12], small_space.vectors[:12])
    if family.weights is not None:
        family = dataclasses.replace(family, weights=family.weights[:12])
    subject = Given(space, family)
    matrix = compute_tables(subject)
    for words, delta in ((1, 1e-3), (10, 1e-5), (100, 1e-6)):
        ours = subject.document_guarantee(words, delta).approximate.epsilon
        needed = 0.0
        for alpha in (1.3, 5.0):
            _, w, v = worst_divergence(matrix, alpha)
            upper, lower = (dict(enumerate(np.log(matrix[row]).tolist())) for row in (w, v))
            single = privacy_loss_distribution.from_two_probability_mass_functions(
                lower, upper, pessimistic_estimate=False, value_discretization_interval=1e-3
            )
            needed = max(needed, single.self_compose(words).get_epsilon_for_delta(delta))
        assert 0 < needed <= ours
        assert ours <= 1.5 * needed + 0.1


def test_composition_improves_at_small_epsilon(small_space):
    """At a small epsilon the promise for 200 words is far below the linear one; at a large one it is that."""
    for mechanism in (dn.CalibratedExponential, dn.TightExponential):
        promise = mechanism(small_space, epsilon=0.1).document_guarantee(200, 1e-6)
        assert 2 * promise.approximate.epsilon < promise.pure.epsilon
        sharp = mechanism(small_space, epsilon=5.0).document_guarantee(1, 1e-30)
        assert sharp.approximate.epsilon == sharp.pure.epsilon


def test_mechanism_without_law_uses_its_claim(small_space):
    """Without a known law a word's loss is epsilon times the diameter, composed as randomized response."""
    subject = dn.MultivariateLaplace(small_space, epsilon=0.05)
    loss = 0.05 * small_space.diameter
    promise = subject.document_guarantee(100, 1e-6)
    assert promise.pure.epsilon == pytest.approx(100 * loss, rel=1e-12)
    p, q = 1 / (1 + math.exp(-loss)), 1 / (1 + math.exp(loss))  # of randomized response
    divergences = [100 * divergence(np.array([p, q]), np.array([q, p]), alpha) for alpha in ORDERS]
    theirs, _ = rdp_privacy_accountant.compute_epsilon(ORDERS, divergences, 1e-6)
    assert promise.approximate.epsilon == pytest.approx(min(theirs, 100 * loss), rel=1e-9)


def test_bad_numbers_are_refused(small_space):
    """A number of words that is no int of at least 1, and a delta outside (0, 1); a promise itself is one line."""
    subject = dn.TEM(small_space, epsilon=1.0)
    for words in (0, -1, True, 1.5, "3", None):
        with refuses(repr(words)):
            subject.document_guarantee(words, 1e-6)
    for delta in (0, 1, -1, 1.5, float("nan"), "x", True, None):
        with refuses(repr(delta)):
            subject.document_guarantee(10, delta)
    text = str(subject.document_guarantee(np.int64(1500), 1e-6))
    assert text.startswith("1,500 words")
    assert "\n" not in text
