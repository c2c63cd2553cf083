"""From coins and scores to verdicts, where somebody else has trained."""

import math

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.auditing.training.judging import judge_canary_scores
from tests.refusals import refuses

CLAIM = dn.ApproxDP(1.0, 1e-5, "the claim under audit", "claimed")


@pytest.mark.parametrize("audits", [15, pytest.param(60, marks=pytest.mark.deep)])
def test_scores_that_adapt_to_the_output_do_not_refute(audits):
    """Scores may be chosen after the whole output is seen: randomized response at its claim stays within 5 %."""
    random, alarms = np.random.default_rng(5), 0
    claim = dn.PureDP(1.0, "the claim under audit", "claimed")
    for _ in range(audits):
        included = random.random(200) < 0.5
        answers = np.where(random.random(200) < 1 / (1 + math.exp(-1.0)), included, ~included)
        # The attacker trusts what agrees with the majority of its neighbours most.
        majority = np.convolve(2.0 * answers - 1, np.ones(3), mode="same")
        alarms += judge_canary_scores(included, (2.0 * answers - 1) * (5 + majority), claim).status == "refuted"
    assert stats.binom.sf(alarms - 1, audits, 0.05) > 1e-3


def test_a_verdict_says_what_it_rests_on():
    """Coins, guesses, confidence and power are stated."""
    included = np.arange(100) % 2
    verdict = judge_canary_scores(included, np.zeros(100), CLAIM, guesses=50, confidence=0.9)
    assert (verdict.status, verdict.samples, verdict.confidence) == ("not refuted", 100, 0.9)
    assert (verdict.witness.guesses, verdict.witness.correct_guesses) == (50, 26)
    assert (verdict.lower_bound, verdict.epsilon) == (0, math.inf)
    assert 1 < verdict.detectable_epsilon < 4
    perfect = judge_canary_scores(included, included, CLAIM, guesses=50)
    assert perfect.status == "refuted"
    assert perfect.witness.correct_guesses == 50


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ({"included": [0.5] * 20}, "'included'"),
        ({"included": [2] * 20}, "'included'"),
        ({"guarantee": 1.0}, "'guarantee'"),
        ({"guarantee": dn.MetricDP(1.0, "euclidean", "a claim")}, "1-metric-DP"),
        ({"guarantee": dn.PureDP(1.0, "a claim", adjacency="one record replaced by another")}, "replaced"),
    ],
)
def test_refusals(change, value):
    """Coins are true or false, and canaries test a guarantee for a unit more or less alone."""
    with refuses(value):
        judge_canary_scores(**{"included": [True, False] * 10, "scores": [0.0] * 20, "guarantee": CLAIM} | change)
