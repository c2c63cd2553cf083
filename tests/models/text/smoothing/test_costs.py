"""What replacing a word costs: against all pairs of tables."""

import numpy as np
import pytest

import deniable as dn
from deniable.models.text.smoothing import costs
from deniable.models.text.smoothing.costs import (
    ANY_WORD,
    RENYI_ORDERS,
    bound_pair_probability,
    compute_replacement_costs,
)
from tests.models.text.samples import join, nearest_sets, sets, tables
from tests.refusals import refuses

HELD = join([[5, 2, 5], [40]])
KINDS = [
    dn.TEM,
    *(pytest.param(kind, marks=pytest.mark.deep) for kind in (dn.CalibratedExponential, dn.TightExponential)),
]


def worst(matrix, word, others):
    """Return the largest loss and divergences (len(ORDERS),) of a word against some others, from whole tables."""
    losses, divergences = [], []
    for other in others:
        p, q = matrix[word], matrix[other]
        losses.append(np.abs(np.log(p / q)).max())
        both = [[np.log((a**o * b ** (1 - o)).sum()) / (o - 1) for o in RENYI_ORDERS] for a, b in ((p, q), (q, p))]
        divergences.append(np.max(both, axis=0))
    return max(losses), np.max(divergences, axis=0)


@pytest.mark.parametrize("kind", KINDS)
def test_sets_are_compared_by_their_tables(small_space, kind):
    """Costs within sets are those of the worst member, no less and hardly more."""
    subject, near = kind(small_space, epsilon=2.0), nearest_sets(small_space, 4)
    found = compute_replacement_costs(subject, HELD, near)
    assert found.words.tolist() == [2, 5, 40]
    assert found.replacements == "the nearest words"
    for at, word in enumerate(found.words):
        loss, divergences = worst(tables(subject), word, near.choices_of(word)[1:])
        assert loss <= found.losses[at] <= loss + 1e-9
        assert (divergences <= found.divergences[at] + 1e-12).all()
        np.testing.assert_allclose(found.divergences[at], divergences, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_any_word_is_compared_with_all(small_space, kind):
    """Where any word may stand the loss is that of the worst one, and divergences are at least the worst one's."""
    subject = kind(small_space, epsilon=2.0)
    found = compute_replacement_costs(subject, HELD)
    assert found.replacements == ANY_WORD
    for at, word in enumerate(found.words):
        loss, divergences = worst(tables(subject), word, range(60))
        assert loss <= found.losses[at] <= loss + 1e-6
        assert (divergences <= found.divergences[at]).all()


def test_simulated_mechanisms_cost_what_they_claim(small_space):
    """Without tables a loss is epsilon times the distance of the farthest replacement, and no divergence is known."""
    subject, near = dn.MultivariateLaplace(small_space, epsilon=0.5), nearest_sets(small_space, 4)
    distances = small_space.distances(np.arange(60))
    for replacements in (None, near):
        found = compute_replacement_costs(subject, HELD, replacements)
        for at, word in enumerate(found.words):
            row = distances[word] if replacements is None else distances[word, near.choices_of(word)]
            assert found.losses[at] == pytest.approx(0.5 * row.max(), rel=1e-12)
        assert found.divergences is None
        assert "Theorem 1" in found.source


def test_metric_of_the_user_s_own_costs_what_is_claimed(small_space, small_vectors):
    """Where the rounding of the metric is unknown, any word costs epsilon times its farthest distance."""

    def own(left, right):
        return np.abs(left[:, None] - right[None]).sum(axis=2)

    space = dn.Space(small_space.words, small_vectors, metric=own)
    subject = dn.TEM(space, epsilon=0.7)
    found = compute_replacement_costs(subject, HELD)
    np.testing.assert_allclose(found.losses, 0.7 * space.distances([2, 5, 40]).max(axis=1))


def test_twins_cost_nothing_but_rounding(twin_space):
    """A replacement at the word's own point has the word's own law."""
    subject = dn.TEM(twin_space, epsilon=1.0)
    twins = sets({0: [3]}, 12)
    found = compute_replacement_costs(subject, join([[0]]), twins)
    assert found.losses[0] < 1e-12
    assert found.divergences.max() < 1e-6


def test_large_sets_fill_several_blocks(small_space):
    """Sets that exceed one block of distances together are all compared."""
    subject, near = dn.TEM(small_space, epsilon=2.0), nearest_sets(small_space, 30)
    held = join([np.arange(60)])
    found = compute_replacement_costs(subject, held, near)
    matrix = tables(subject)
    for word in (0, 7, 59):
        assert found.losses[word] == pytest.approx(worst(matrix, word, near.choices_of(word)[1:])[0], abs=1e-9)


def test_many_words_are_compared_by_losses_alone(small_space, monkeypatch):
    """Where all pairs are too many, any word costs its largest loss and no divergence is computed."""
    monkeypatch.setattr(costs, "_MAX_EXACT_POINTS", 59)
    found = compute_replacement_costs(dn.TEM(small_space, epsilon=2.0), HELD)
    assert found.divergences is None
    losses, divergences = found.look_up(HELD[0])
    assert divergences is None
    assert losses.tolist() == [found.losses[1], found.losses[0], found.losses[1]]


@pytest.fixture(scope="module")
def subject(small_space):
    """Return a mechanism over ten words."""
    return dn.CalibratedExponential(dn.Space(small_space.words[:10], small_space.vectors[:10]), epsilon=0.7)


def least(p, q, chance):
    """Return the least Q(A) with P(A) >= chance, from all outcomes in order of their ratio."""
    order = np.argsort(q / p)
    taken = np.clip(chance - np.cumsum(p[order]) + p[order], 0.0, p[order])
    return float(taken @ (q / p)[order])


@pytest.mark.parametrize(("text", "other"), [([3], [7]), ([0, 3], [5, 7]), ([1, 2, 3], [4, 2, 6])])
def test_pairs_have_the_exact_curve(subject, text, other):
    """The bound for a pair lies below the exact curve, from all outcomes of all words, by no more than its grid."""
    matrix = tables(subject)
    p, q = np.ones(1), np.ones(1)
    for word, instead in zip(text, other, strict=True):
        p, q = np.outer(p, matrix[word]).ravel(), np.outer(q, matrix[instead]).ravel()
    for chance in (0.05, 0.5, 0.99, 0.9999):
        found = bound_pair_probability(subject, np.array(text), np.array(other), chance)
        exact = least(p, q, chance)
        assert found <= exact + 1e-9
        assert found == pytest.approx(exact, abs=0.005)


def bound_by_loss(chance, loss):
    """Return the least Q(A) of all laws within e^loss of P."""
    return max(chance * np.exp(-loss), 1 - (1 - chance) * np.exp(loss))


def test_bounds_for_sets_are_below_those_of_pairs(subject):
    """What is certified for any replacement, or for a distance, is no more than what holds for each pair of words."""
    found = compute_replacement_costs(subject, join([np.arange(10)]))
    distances = subject.space.distances(np.arange(10))
    for word, other in ((0, 1), (3, 8), (9, 2)):
        for chance in (0.3, 0.9, 0.999):
            pair = bound_pair_probability(subject, np.array([word]), np.array([other]), chance)
            for loss in (found.losses[word], subject.epsilon * distances[word, other]):
                assert bound_by_loss(chance, loss) <= pair + 2e-3  # of the grid
    response = dn.CalibratedExponential(dn.Space(["a", "b"], [[0.0], [1.0]]), epsilon=1.5)
    for chance in (0.2, 0.7, 0.95):  # randomized response attains the bound by distance
        pair = bound_pair_probability(response, np.array([0]), np.array([1]), chance)
        assert pair == pytest.approx(bound_by_loss(chance, 1.5), abs=3e-3)


def test_pairs_without_a_bound(subject, small_space):
    """Equal texts keep the chance; texts of other lengths and mechanisms without tables are refused."""
    assert bound_pair_probability(subject, np.array([1, 2]), np.array([1, 2]), 0.7) == 0.7
    with refuses("2 and 1 words"):
        bound_pair_probability(subject, np.array([1, 2]), np.array([1]), 0.7)
    with refuses("simulated", kind=dn.NotTractable):
        bound_pair_probability(dn.MultivariateLaplace(small_space, epsilon=1.0), np.array([1]), np.array([2]), 0.7)
