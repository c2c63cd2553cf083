"""Vectors trained on private texts: counts and vectors by their formulas, and what one text changes under TEM."""

import itertools

import numpy as np
import pytest

import deniable as dn
from deniable.published import sensitive_vectors as published

TEXTS = [np.array([0, 1, 2, 0, -1, 3]), np.array([3, 3, 1]), np.array([2]), np.array([], dtype=np.int64)]


@pytest.mark.parametrize("window", [1, 2, 10])
def test_pairs_are_counted(window):
    """Each pair of known words that stand near enough counts once in either direction."""
    expected = np.zeros((4, 4))
    for text in TEXTS:
        for i, j in itertools.permutations(range(len(text)), 2):
            if abs(i - j) <= window and min(text[i], text[j]) >= 0:
                expected[text[i], text[j]] += 1
    np.testing.assert_array_equal(published.count_pairs(TEXTS, 4, window), expected)


def test_vectors_are_those_of_mutual_information():
    """The vectors span the largest singular directions of max(0, ln(c_ij c / (c_i c_j)))."""
    counts = np.random.default_rng(1).poisson(3.0, (12, 12)).astype(float)
    counts += counts.T
    totals = counts.sum(axis=1)
    information = np.maximum(0, np.log(np.maximum(counts, 1e-9) * totals.sum() / np.outer(totals, totals)))
    left, sizes, _ = np.linalg.svd(information)
    vectors = published.embed_pairs(counts, 3)
    np.testing.assert_allclose(np.sort((vectors**2).sum(axis=0))[::-1], sizes[:3], rtol=1e-9)
    np.testing.assert_allclose(vectors @ vectors.T, (left[:, :3] * sizes[:3]) @ left[:, :3].T, atol=1e-9)
    np.testing.assert_array_equal(vectors, published.embed_pairs(counts, 3))


def test_one_text_changes_the_law_of_the_same_word():
    """Under one set of vectors TEM is proved; between two sets, a text apart, one word loses more than any claim."""
    random = np.random.default_rng(2)
    words = [f"w{number}" for number in range(30)]
    texts = [*(random.integers(0, 20, 25) for _ in range(20)), np.arange(29, 9, -1)]
    mechanisms = [published.make_mechanism(published.count_pairs(kept, 30), words, 3.0) for kept in (texts, texts[:-1])]
    assert all(dn.verify(mechanism).status == "proved" for mechanism in mechanisms)
    one, other = (np.log(mechanism.probabilities("w29")) for mechanism in mechanisms)
    assert np.abs(one - other).max() > 0.5


def test_the_entry_says_so_and_its_control_does_not():
    """The law of the entry is refuted at the output that tells; the budget of the noisy sums is proved."""
    broken, control = published.ENTRIES
    verdict = broken.verify_law()
    assert verdict.status == "refuted"
    assert verdict.lower_bound > 1.0 > verdict.claim
    assert verdict.witness is not None
    assert broken.audit_samples(0).status == "refuted"
    proved = control.verify_law()
    assert (proved.status, proved.claim, proved.guarantee.delta) == ("proved", 1.0, 1e-6)
