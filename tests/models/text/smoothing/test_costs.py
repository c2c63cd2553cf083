"""What replacing a word costs: against all pairs of tables."""

import numpy as np
import pytest

import deniable as dn
from deniable.models.text.smoothing import bounds
from deniable.models.text.smoothing.bounds import (
    ANY_WORD,
    RENYI_ORDERS,
    compute_replacement_costs,
)
from tests.models.text.samples import join, nearest_sets, sets, tables

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
    monkeypatch.setattr(bounds, "_MAX_EXACT_POINTS", 59)
    found = compute_replacement_costs(dn.TEM(small_space, epsilon=2.0), HELD)
    assert found.divergences is None
    losses, divergences = found.look_up(HELD[0])
    assert divergences is None
    assert losses.tolist() == [found.losses[1], found.losses[0], found.losses[1]]
