"""Surrogate likelihoods: as good as the law where there is one, and never better."""

import pytest
from scipy import stats

import deniable as dn
from deniable.measure.attackers.guesses import WordLikelihood, rank_guesses
from deniable.measure.attackers.surrogate import draw_from_prior, fit_surrogate
from deniable.words.prior import build_prior
from tests.measure.test_recovery import MECHANISMS, THRESHOLD


@pytest.mark.parametrize("name", MECHANISMS)
def test_surrogate_is_a_lower_bound(small_space, name):
    """A surrogate's success on fresh draws is not above the Bayes rate, and close to it."""
    subject = MECHANISMS[name](small_space)
    prior = build_prior(small_space, None).weights
    words, outputs = draw_from_prior(subject, prior, 20_000, 5, "test")
    best = rank_guesses(
        WordLikelihood(small_space, fit_surrogate(subject, prior).compute_logs, is_exact=False), prior, outputs, 1
    )
    named = best.words[best.row_of[small_space.point_by_word[outputs]], 0]
    truth = dn.recovery(subject)
    hits = int((named == words).sum())
    assert stats.binomtest(hits, 20_000, truth, alternative="greater").pvalue > THRESHOLD
    assert hits / 20_000 > 0.85 * truth


def test_each_use_has_its_own_draws(small_space):
    """A seed repeats the words and the draws of a use; another use of the seed has others."""
    subject, prior = dn.TEM(small_space, epsilon=1.0), build_prior(small_space, None).weights
    first, again, other = (
        [numbers.tolist() for numbers in draw_from_prior(subject, prior, 50, 3, purpose)]
        for purpose in ("fit", "fit", "count")
    )
    assert first == again
    assert first[0] != other[0]
