"""What generators see, and how their texts get classes."""

import dataclasses

import numpy as np
import pytest
from scipy import stats

from deniable.core.errors import InputError
from deniable.persons.generators.knowledge import balance_probabilities, count_drafts, label_texts
from tests.persons.generators.examples import KNOWLEDGE


def test_drawn_classes_have_the_shares():
    """Class numbers come as often as their shares say, up to one, in random order."""
    codes = KNOWLEDGE.draw_codes(1_001, np.random.default_rng(0))
    np.testing.assert_allclose(np.bincount(codes, minlength=2), 1_001 * KNOWLEDGE.class_shares, atol=1)
    assert not np.all(np.diff(codes) >= 0)


def test_drawn_lengths_fit_the_histogram():
    """Lengths fit the shares of their bins, and are uniform within; shares 30 % off are rejected."""
    lengths = KNOWLEDGE.draw_lengths(20_000, np.random.default_rng(0))
    edges, shares = KNOWLEDGE.length_edges, KNOWLEDGE.length_shares
    counts = np.histogram(lengths, edges)[0]
    assert counts.sum() == 20_000
    assert stats.chisquare(counts, 20_000 * shares).pvalue > 1e-6
    wrong = shares * [1.3] + [0, -0.3 * shares[0] - 0.3 * shares[1]]
    assert stats.chisquare(counts, 20_000 * wrong / wrong.sum()).pvalue < 1e-6
    first_bin = lengths[lengths < edges[1]]
    assert stats.chisquare(np.bincount(first_bin - edges[0], minlength=edges[1] - edges[0])).pvalue > 1e-6


def test_balanced_probabilities_have_the_shares():
    """The mean of balanced probabilities is the shares, whatever class the texts lean to."""
    scores = np.random.default_rng(0).normal(3, 2, 500)
    probabilities = np.stack([1 / (1 + np.exp(scores)), 1 / (1 + np.exp(-scores))], axis=1)
    balanced = balance_probabilities(probabilities, np.array([0.3, 0.7]))
    np.testing.assert_allclose(balanced.mean(axis=0), [0.3, 0.7], atol=1e-6)
    np.testing.assert_allclose(balanced.sum(axis=1), 1)
    assert stats.spearmanr(balanced[:, 1], scores).statistic > 1 - 1e-12


def test_the_least_certain_texts_are_dropped():
    """The texts that remain are the most certain ones, in their order, with the class of larger probability."""
    texts = ["good " * count + "bad " * (9 - count) for count in range(10)]
    knowledge = dataclasses.replace(KNOWLEDGE, class_shares=np.array([0.5, 0.5]))
    labelled = label_texts(knowledge, texts, 6)
    assert labelled.texts == [texts[place] for place in (0, 1, 2, 7, 8, 9)]
    np.testing.assert_array_equal(labelled.codes, [0, 0, 0, 1, 1, 1])
    assert np.all(labelled.certainties > 0.5)
    assert count_drafts(9) == 10


def test_parts_that_do_not_match_are_refused():
    """Shares that do not sum to 1 and arrays of other shapes are refused in one line."""
    for change, message in (
        ({"class_shares": np.array([0.5, 0.6])}, "sum to 1"),
        ({"length_shares": np.array([1.5, -0.5])}, "sum to 1"),
        ({"length_edges": np.array([1, 2])}, "one edge more"),
        ({"words": ("good",)}, "weight of each word"),
    ):
        with pytest.raises(InputError, match=message):
            dataclasses.replace(KNOWLEDGE, **change)
