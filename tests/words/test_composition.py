"""What a whole text loses: against brute force over all pairs, and against dp-accounting."""

import dataclasses
import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from dp_accounting.rdp import rdp_privacy_accountant

import deniable as dn
from deniable.words.composition import RENYI_ORDERS, compute_worst_loss
from deniable.words.laws import ExponentialKernel, ExponentialLaw
from deniable.words.laws.divergence import bound_divergence, bound_divergence_by_loss
from deniable.words.mechanism import WordMechanism


class Given(WordMechanism):
    """Any law of the exponential family as a mechanism."""

    name = "given"

    def __init__(self, space, kernel):
        super().__init__(space, epsilon=2 * kernel.scale)
        self._kernel = kernel

    def build_law(self):
        return ExponentialLaw(self.space, self._kernel)

    @property
    def guarantee(self):
        return dn.MetricDP(self.epsilon, self.space.metric.name, "twice the scale suits every space")


def compute_tables(mechanism):
    """Return the integer tables (n, n) as probabilities."""
    space = mechanism.space
    return mechanism.law.tables(range(len(space.points))) / 2.0**62


def divergence(p, q, alpha):
    """Return D_alpha(p, q), by logarithms."""
    return float(np.logaddexp.reduce(alpha * np.log(p) + (1 - alpha) * np.log(q))) / (alpha - 1)


def worst_divergence(matrix, alpha):
    """Return the largest D_alpha of two rows, and which."""
    count = len(matrix)
    return max((divergence(matrix[w], matrix[v], alpha), w, v) for w in range(count) for v in range(count) if w != v)


LAWS = {
    "flat": ExponentialKernel(0.1),
    "middle": ExponentialKernel(0.8, 3.0),
    "sharp": ExponentialKernel(4.0),
    "weighted": ExponentialKernel(0.8, 3.0, np.random.default_rng(3).uniform(0.1, 4, size=60)),
    "sparse": ExponentialKernel(1.5, math.inf, np.arange(60) % 4 + 1e-3),
}


@pytest.fixture(params=LAWS)
def mechanism(request, small_space):
    """Return a mechanism on the small space, of one of several laws."""
    return Given(small_space, LAWS[request.param])


@pytest.mark.parametrize("alpha", [RENYI_ORDERS[0], 1.25, 2.0, 5.0, RENYI_ORDERS[-1]])
def test_exact_divergence_is_the_largest_of_all_pairs(mechanism, alpha):
    """The divergence by matrix products is that of the worst pair of tables."""
    expected, *_ = worst_divergence(compute_tables(mechanism), alpha)
    assert mechanism.law.renyi(alpha).divergence == pytest.approx(expected, rel=1e-6, abs=1e-6 / (alpha - 1) * 1e-2)
    assert mechanism.law.renyi(alpha).divergence >= expected * (1 - 1e-12)


def test_exact_divergence_of_a_law_without_fingerprint(small_space, small_vectors):
    """A metric of the user's own has divergences too, which are not cached."""

    def own(left, right):
        return np.abs(left[:, None] - right[None]).sum(axis=2)

    space = dn.Space(small_space.words, small_vectors, metric=own)
    subject = dn.TEM(space, epsilon=1.0)
    assert subject.law.fingerprint is None
    expected, *_ = worst_divergence(compute_tables(subject), 3.0)
    assert subject.law.renyi(3.0).divergence == pytest.approx(expected, rel=1e-7)


def test_bounds_are_above_the_truth_at_every_order(mechanism):
    """Both bounds are at least the exact divergence, which lies between 0 and the largest loss, at every order."""
    loss = compute_worst_loss(mechanism.law, mechanism.guarantee)
    for alpha in RENYI_ORDERS:
        exact = mechanism.law.renyi(alpha).divergence
        assert 0 <= exact <= loss
        assert bound_divergence(mechanism.space, mechanism.law.kernel, alpha) >= exact
        assert bound_divergence_by_loss(loss, alpha) >= exact * (1 - 1e-9)


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev", "angular"])
@pytest.mark.parametrize("scale", [0.05, 0.5, 5.0])
def test_bounds_are_above_the_truth_under_every_metric(small_space, small_vectors, metric, scale):
    """The same holds under the other metrics."""
    subject = Given(dn.Space(small_space.words, small_vectors, metric=metric), ExponentialKernel(scale))
    for alpha in RENYI_ORDERS[::4]:
        exact = subject.law.renyi(alpha).divergence
        assert bound_divergence(subject.space, subject.law.kernel, alpha) >= exact
        assert bound_divergence_by_loss(compute_worst_loss(subject.law, subject.guarantee), alpha) >= exact * (1 - 1e-9)


@pytest.mark.parametrize("loss", [1e-3, 0.5, 3.0, 12.0])
@pytest.mark.parametrize("alpha", RENYI_ORDERS[::5])
def test_randomized_response_is_its_divergence(loss, alpha):
    """The formula is the divergence of the two laws (p, 1 - p) and (1 - p, p) with loss ln(p / (1 - p))."""
    p = 1 / (1 + math.exp(-loss))
    q = 1 / (1 + math.exp(loss))
    direct = divergence(np.array([p, q]), np.array([q, p]), alpha)
    assert bound_divergence_by_loss(loss, alpha) == pytest.approx(direct, rel=1e-9, abs=1e-13 / (alpha - 1))


def test_pure_bound_is_words_times_the_worst_loss(mechanism):
    """The linear bound is the number of words times the largest loss of any pair and output of the tables."""
    logs = np.log(compute_tables(mechanism))
    worst = max(float((row - logs).max()) for row in logs)
    promise = mechanism.document_guarantee(37, 1e-6)
    assert promise.pure.epsilon >= 37 * worst
    # What the floor of the tables adds to small probabilities is not taken off the bound.
    assert promise.pure.epsilon == pytest.approx(37 * worst, rel=1e-2 if worst > 10 else 1e-6)
    assert promise.word_count == 37
    assert promise.pure.source.startswith("37 times the largest loss of a word")


@pytest.mark.parametrize("backwards", [False, True])
def test_extents_over_several_tiles(backwards):
    """The worst loss and the bound on divergences are those of whole rows, whatever the order of the points."""
    vectors = np.random.default_rng(4).normal(size=(1100, 2))
    vectors = vectors[np.argsort(np.linalg.norm(vectors, axis=1))][:: -1 if backwards else 1]
    space = dn.Space([f"w{number}" for number in range(1100)], vectors)
    subject = Given(space, ExponentialKernel(0.9, 5.0))
    distances = np.minimum(space.distances(range(1100)), 5.0)
    logs = np.log(np.exp(-0.9 * distances).sum(axis=1))
    assert compute_worst_loss(subject.law, subject.guarantee) == pytest.approx(
        (0.9 * distances + logs[None] - logs[:, None]).max(), rel=1e-6
    )
    reach = (0.9 * distances + logs).max()
    for alpha in (1.25, 3.0):
        steeper = np.log(np.exp(-alpha * 0.9 * distances).sum(axis=1))
        bound = reach + (steeper - alpha * logs).max() / (alpha - 1)
        assert bound_divergence(space, subject.law.kernel, alpha) == pytest.approx(bound, rel=1e-5)


@pytest.mark.parametrize("words", [1, 10, 100, 1000])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.01])
def test_conversion_agrees_with_dp_accounting(small_space, words, delta):
    """From equal divergences dp-accounting gets no less, and what it gets wherever its order is one it tries."""
    subject = dn.CalibratedExponential(small_space, epsilon=0.4)
    divergences = [words * subject.law.renyi(alpha).divergence for alpha in RENYI_ORDERS]
    theirs, order = rdp_privacy_accountant.compute_epsilon(RENYI_ORDERS, divergences, delta)
    promise = subject.document_guarantee(words, delta)
    assert order > 1.01
    ours = min(theirs, promise.pure.epsilon)
    assert promise.approximate.epsilon == pytest.approx(ours, rel=1e-9)


@pytest.mark.parametrize("name", ["flat", "middle", "weighted"])
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


def test_composition_improves_at_small_epsilon(glove_2000):
    """At epsilon 0.3 the promise for 200 words of 2,000 is several times smaller than the linear one."""
    for mechanism, times in ((dn.CalibratedExponential, 5), (dn.TightExponential, 2.5)):
        promise = mechanism(glove_2000, epsilon=0.3).document_guarantee(200, 1e-6)
        assert times * promise.approximate.epsilon < promise.pure.epsilon
        assert promise.approximate.source == "exact Renyi divergences of all pairs"


def test_larger_spaces_use_the_bound(small_space, monkeypatch):
    """Where all pairs are too many the bound takes their place: not below the exact promise, nor above the linear."""
    subject = dn.CalibratedExponential(small_space, epsilon=0.1)
    exact = subject.document_guarantee(500, 1e-6)
    monkeypatch.setattr("deniable.words.laws.exponential.MAX_EXACT_POINTS", 59)
    bounded = subject.document_guarantee(500, 1e-6)
    assert bounded.pure == exact.pure
    assert exact.approximate.epsilon <= bounded.approximate.epsilon < exact.pure.epsilon


def test_sharp_laws_keep_the_pure_bound(small_space):
    """Where composition gains nothing the pure bound is stated, and said to be it."""
    promise = dn.CalibratedExponential(small_space, epsilon=5.0).document_guarantee(1, 1e-30)
    assert promise.approximate.epsilon == promise.pure.epsilon
    assert "pure bound" in promise.approximate.source


def test_mechanism_without_law_uses_its_claim(small_space):
    """Without a known law a word's loss is epsilon times the diameter, composed as randomized response."""
    subject = dn.MultivariateLaplace(small_space, epsilon=0.05)
    loss = 0.05 * small_space.diameter
    promise = subject.document_guarantee(100, 1e-6)
    assert promise.pure.epsilon == pytest.approx(100 * loss, rel=1e-12)
    divergences = [100 * bound_divergence_by_loss(loss, alpha) for alpha in RENYI_ORDERS]
    theirs, _ = rdp_privacy_accountant.compute_epsilon(RENYI_ORDERS, divergences, 1e-6)
    assert promise.approximate.epsilon == pytest.approx(min(theirs, 100 * loss), rel=1e-9)


def test_promise_in_one_line(small_space):
    """The promise reads as words, the pure and the approximate guarantee."""
    text = str(dn.TEM(small_space, epsilon=1.0).document_guarantee(np.int64(1500), 1e-6))
    assert text.startswith("1,500 words: ")
    assert "\n" not in text
    assert text.count("-DP") == 2


@pytest.mark.parametrize("words", [0, -1, True, 1.5, "3", None])
def test_bad_number_of_words_is_refused(small_space, words):
    """A number of words that is no int of at least 1 is refused in the one form of message."""
    with pytest.raises(dn.InputError) as caught:
        dn.TEM(small_space, epsilon=1.0).document_guarantee(words, 1e-6)
    assert str(caught.value) == (
        f"The 'words' parameter of document_guarantee must be an int of at least 1. Got {words!r}."
    )


@pytest.mark.parametrize("delta", [0, 1, -1, 1.5, float("nan"), "x", True, None])
def test_bad_delta_is_refused(small_space, delta):
    """A delta outside (0, 1) is refused in the one form of message."""
    with pytest.raises(dn.InputError) as caught:
        dn.TEM(small_space, epsilon=1.0).document_guarantee(10, delta)
    assert str(caught.value) == (
        f"The 'delta' parameter of document_guarantee must be a float in (0, 1). Got {delta!r}."
    )
