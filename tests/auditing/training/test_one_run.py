"""Audits of training by one run: true claims stand, false ones fall, and nothing else is judged."""

import math

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.auditing.training.judging import judge_canary_scores
from deniable.auditing.training.one_run import audit_one_run
from deniable.core.guarantees import REPLACED_RECORD, ApproxDP, MetricDP, PureDP
from deniable.vectors.gaussian import compute_noise_ratio

DELTA = 1e-5
CANARIES = [f"canary {number}" for number in range(500)]
CLAIM = ApproxDP(1.0, DELTA, "the claim under audit", "claimed")


def make_trainer(mu, seed):
    """Return training that adds independent Gaussian noise to whether each canary is there: scores are its sums."""
    random = np.random.default_rng(seed)

    def train(records, _seed):
        present = set(records)
        sums = np.array([canary in present for canary in CANARIES], dtype=float)
        return mu * sums + random.standard_normal(len(sums))

    return train


@pytest.mark.parametrize("noise", ["any", "gaussian"])
def test_true_claims_stand_nineteen_times_in_twenty(noise):
    """Gaussian noise at its claim is refuted with probability 5 % at most."""
    mu = 1 / compute_noise_ratio(1.0, DELTA)
    verdicts = [
        audit_one_run(make_trainer(mu, seed), [], CANARIES, CLAIM, noise=noise, seed=seed) for seed in range(60)
    ]
    alarms = sum(verdict.status == "refuted" for verdict in verdicts)
    assert stats.binom.sf(alarms - 1, len(verdicts), 0.05) > 1e-3


@pytest.mark.parametrize("noise", ["any", "gaussian"])
def test_training_that_leaks_four_times_its_claim_is_refuted(noise):
    """Noise of epsilon 4 is refuted at a claim of 0.5 by its epsilon alone, and at 1 as Gaussian noise."""
    mu = 1 / compute_noise_ratio(4.0, DELTA)
    claim = ApproxDP({"any": 0.5, "gaussian": 1.0}[noise], DELTA, "the claim under audit", "claimed")
    verdict = audit_one_run(make_trainer(mu, 1), [], CANARIES, claim, noise=noise, seed=1)
    assert verdict.status == "refuted"
    assert claim.epsilon < verdict.lower_bound < 4
    assert verdict.witness.correct_guesses > 0.7 * verdict.witness.guesses
    assert "guesses are right" in str(verdict)


def test_training_gets_the_included_canaries_in_order():
    """About half of them, others with another seed, the same with the same."""
    received = []

    def train(records, _seed):
        received.append(records)
        return np.zeros(len(CANARIES))

    for seed in (1, 1, 2, None):
        audit_one_run(train, ["a record"], CANARIES, CLAIM, seed=seed)
    assert received[0] == received[1] != received[2]
    for included in received:
        assert included.pop(0) == "a record"
        assert 180 < len(included) < 320
        assert included == sorted(included, key=CANARIES.index)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"included": [True] * 5}, "at least 10 canaries. Got 5"),
        ({"included": [0.5] * 20}, "'included' parameter .* true or false"),
        ({"included": [2] * 20}, "'included' parameter .* true or false"),
        ({"scores": [0.0] * 19}, r"20 finite numbers.* Got shape \(19,\)"),
        ({"scores": [math.nan] * 20}, "NaN or infinity"),
        ({"scores": ["high"] * 20}, "20 finite numbers.* of type <U4"),
        ({"scores": np.full(20, 1 + 1j)}, "20 finite numbers"),
        ({"scores": [1 + 1j] * 20}, r"20 finite numbers.* Got shape \(20,\) of type complex128"),
        ({"scores": [[0.0], [0.0, 0.0]] * 10}, "20 finite numbers.* of no numbers"),
        ({"guarantee": 1.0}, r"'guarantee' parameter of .* must be a guarantee such as ApproxDP.* Got 1\.0"),
        ({"guarantee": (1.0, 1e-6)}, "must be a guarantee"),
        ({"guarantee": None}, "must be a guarantee"),
        ({"guarantee": ApproxDP}, "must be a guarantee"),
        ({"guarantee": ApproxDP(math.nan, 1e-6, "a claim")}, "'guarantee.epsilon' parameter .* Got nan"),
        ({"guarantee": ApproxDP("1", 1e-6, "a claim")}, "'guarantee.epsilon' parameter .* Got '1'"),
        ({"guarantee": PureDP(math.inf, "a claim")}, "'guarantee.epsilon' parameter .* Got inf"),
        ({"guarantee": ApproxDP(1.0, 1.0, "a claim")}, "'guarantee.delta' parameter .* Got 1"),
        ({"guarantee": MetricDP(1.0, "euclidean", "a claim")}, "added or removed"),
        ({"guarantee": PureDP(1.0, "a claim", adjacency=REPLACED_RECORD)}, "added or removed"),
        ({"guarantee": PureDP(1.0, "a claim"), "noise": "gaussian"}, "delta above 0"),
        ({"noise": "laplace"}, "'any' or 'gaussian'"),
        ({"guesses": 21}, "'guesses' .* from 2 to 20. Got 21"),
        ({"confidence": 1.0}, "'confidence'"),
    ],
)
def test_refusals(change, message):
    """What cannot be judged is named in one line, before training where that can be."""
    arguments = {"included": [True, False] * 10, "scores": [0.0] * 20, "guarantee": CLAIM} | change
    with pytest.raises(dn.InputError, match=message) as raised:
        judge_canary_scores(**arguments)
    assert "\n" not in str(raised.value)
    if "included" not in change:
        trained = []
        others = {name: value for name, value in arguments.items() if name not in {"included", "scores"}}

        def train(records, _seed):
            trained.append(records)
            return arguments["scores"]

        with pytest.raises(dn.InputError, match=message):
            audit_one_run(train, [], range(20), **others)
        assert bool(trained) is ("scores" in change)
