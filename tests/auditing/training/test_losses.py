"""A few runs, judged by the scores of canaries in each of them."""

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.auditing.training.losses import audit_losses
from deniable.core.guarantees import ApproxDP
from deniable.vectors.gaussian import compute_noise_ratio

CANARIES = list(range(100))
CLAIM = ApproxDP(1.0, 1e-5, "the claim under audit", "claimed")
HARDNESS = 20 * np.random.default_rng(0).standard_normal(len(CANARIES))


def make_trainer(epsilon):
    """Return training whose score of each canary has a level of its own, beside noise of this epsilon."""
    mu = 1 / compute_noise_ratio(epsilon, CLAIM.delta)

    def train(records, seed):
        present = np.isin(CANARIES, records)
        return HARDNESS + mu * present + np.random.default_rng(seed).standard_normal(len(CANARIES))

    return train


def test_true_claims_stand_nineteen_times_in_twenty():
    """Comparison with other runs costs nothing of the confidence."""
    verdicts = [
        audit_losses(make_trainer(1.0), [], CANARIES, CLAIM, runs=4, noise="gaussian", seed=seed) for seed in range(60)
    ]
    alarms = sum(verdict.status == "refuted" for verdict in verdicts)
    assert stats.binom.sf(alarms - 1, len(verdicts), 0.05) > 1e-3


def test_levels_of_canaries_hide_nothing():
    """Training that leaks five times its claim is refuted, though canaries differ by far more than its noise."""
    verdict = audit_losses(make_trainer(5.0), [], CANARIES, CLAIM, runs=16, noise="gaussian", seed=1)
    assert verdict.status == "refuted"
    assert verdict.samples == 1_600
    assert "16 training runs with 1,600 canaries by fair coins, 320 of them guessed" in verdict.method


def test_each_run_has_coins_and_a_seed_of_its_own():
    """Of about half of the canaries."""
    seen = []

    def train(records, seed):
        seen.append((tuple(records), seed))
        return np.zeros(len(CANARIES))

    audit_losses(train, ["first"], CANARIES, CLAIM, runs=5, seed=1)
    assert len({records for records, _ in seen}) == len({seed for _, seed in seen}) == 5
    assert all(records[0] == "first" and 30 < len(records) < 70 for records, _ in seen)


def test_one_run_is_refused():
    """There is nothing to compare its scores with."""
    with pytest.raises(dn.InputError, match=r"'runs' .* from 2 "):
        audit_losses(make_trainer(1.0), [], CANARIES, CLAIM, runs=1)
