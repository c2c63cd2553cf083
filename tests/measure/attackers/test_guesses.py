"""The words behind outputs, likeliest first, against Bayes' rule."""

import numpy as np
import pytest

import deniable as dn
from deniable.measure.attackers.guesses import build_likelihood, rank_guesses


def test_candidates_are_those_of_bayes_rule(twin_space):
    """Candidates, their likelihoods and their order are those of the law's matrix; unknown words are one more."""
    subject = dn.TEM(twin_space, epsilon=1.5)
    prior = np.random.default_rng(1).dirichlet(np.ones(13))
    outputs = np.arange(12, dtype=np.int32)
    found = rank_guesses(build_likelihood(subject, prior[:12]), prior, outputs, 13)
    matrix = np.array([subject.probabilities(word) for word in (*twin_space.words, twin_space.unknown_word)])
    for output in outputs:
        row = found.row_of[twin_space.point_by_word[output]]
        joint = prior * matrix[:, output]
        assert found.words[row].tolist() == np.argsort(-joint, kind="stable").tolist()
        ratios = np.exp(found.scores[row] - found.scores[row, 0])
        assert ratios == pytest.approx(np.sort(joint)[::-1] / joint.max(), rel=1e-9)


def test_a_surrogate_stands_in_where_no_law_is_known(small_space):
    """Mechanisms with a law are attacked by it, those without one by a surrogate."""
    prior = np.full(60, 1 / 60)
    assert build_likelihood(dn.TEM(small_space, epsilon=1.0), prior).is_exact
    assert not build_likelihood(dn.MultivariateLaplace(small_space, epsilon=1.0), prior).is_exact
