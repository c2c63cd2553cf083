"""From coins and scores to verdicts."""

import math

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.auditing.training.judging import TrainingClaim, judge_canary_scores
from deniable.core.guarantees import REPLACED_RECORD, ApproxDP, PureDP

CLAIM = ApproxDP(1.0, 1e-5, "the claim under audit", "claimed")


def test_scores_that_adapt_to_the_output_do_not_refute():
    """Scores may be chosen after the whole output is seen: randomized response at its claim stays within 5 %."""
    random, alarms = np.random.default_rng(5), 0
    claim = PureDP(1.0, "the claim under audit", "claimed")
    for _ in range(60):
        included = random.random(200) < 0.5
        answers = np.where(random.random(200) < 1 / (1 + math.exp(-1.0)), included, ~included)
        # The attacker trusts what agrees with the majority of its neighbours most.
        majority = np.convolve(2.0 * answers - 1, np.ones(3), mode="same")
        alarms += judge_canary_scores(included, (2.0 * answers - 1) * (5 + majority), claim).status == "refuted"
    assert stats.binom.sf(alarms - 1, 60, 0.05) > 1e-3


def test_a_verdict_says_what_it_rests_on():
    """Coins, guesses, confidence and power are stated, and the verdict can be stored."""
    included = np.arange(100) % 2
    verdict = judge_canary_scores(included, np.zeros(100), CLAIM, guesses=50, confidence=0.9)
    assert (verdict.status, verdict.samples, verdict.confidence) == ("not refuted", 100, 0.9)
    assert (verdict.witness.guesses, verdict.witness.correct_guesses) == (50, 26)
    assert verdict.lower_bound == 0
    assert verdict.epsilon == math.inf
    assert 1 < verdict.detectable_epsilon < 4
    assert "100 canaries by fair coins, 50 of them guessed" in verdict.method
    perfect = judge_canary_scores(included, included, CLAIM, guesses=50)
    assert perfect.status == "refuted"
    assert perfect.witness.correct_guesses == 50


def test_a_replaced_record_is_a_claim_about_two_data_sets():
    """It cannot be tested by canaries that join the data, but on a pair."""
    claim = PureDP(1.0, "a claim", adjacency=REPLACED_RECORD)
    assert TrainingClaim(claim, takes_pair=True).alpha == pytest.approx(0.05)
    with pytest.raises(dn.InputError, match="added or removed"):
        TrainingClaim(claim)
