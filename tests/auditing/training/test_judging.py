"""From coins and scores to verdicts, where somebody else has trained."""

import math

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.auditing.games import Claim
from deniable.auditing.training.bounds import judge_scores, plan_guesses

CLAIM = dn.Guarantee(1.0, "the claim under audit", "claimed", delta=1e-5)


def judge(included, scores, guarantee=CLAIM, guesses=None, **options):
    """Return the verdict on scores of canaries."""
    claim, plan = Claim(guarantee, **options), plan_guesses(len(included), guesses)
    return judge_scores(claim, included, scores, plan, "one run")


@pytest.mark.parametrize("audits", [15, pytest.param(60, marks=pytest.mark.deep)])
def test_scores_that_adapt_to_the_output_do_not_refute(audits):
    """Scores may be chosen after the whole output is seen: randomized response at its claim stays within 5 %."""
    random, alarms = np.random.default_rng(5), 0
    claim = dn.Guarantee(1.0, "the claim under audit", "claimed")
    for _ in range(audits):
        included = random.random(200) < 0.5
        answers = np.where(random.random(200) < 1 / (1 + math.exp(-1.0)), included, ~included)
        # The attacker trusts what agrees with the majority of its neighbours most.
        majority = np.convolve(2.0 * answers - 1, np.ones(3), mode="same")
        alarms += judge(included, (2.0 * answers - 1) * (5 + majority), claim).status == "refuted"
    assert stats.binom.sf(alarms - 1, audits, 0.05) > 1e-3


def test_a_verdict_says_what_it_rests_on():
    """Coins, guesses, confidence and power are stated."""
    included = np.arange(100) % 2 == 1
    verdict = judge(included, np.zeros(100), guesses=50, confidence=0.9)
    assert (verdict.status, verdict.samples, verdict.confidence) == ("not refuted", 100, 0.9)
    assert (verdict.witness.guesses, verdict.witness.correct_guesses) == (50, 26)
    assert (verdict.lower_bound, verdict.epsilon) == (0, math.inf)
    assert 1 < verdict.detectable_epsilon < 4
    perfect = judge(included, included, guesses=50)
    assert perfect.status == "refuted"
    assert perfect.witness.correct_guesses == 50
