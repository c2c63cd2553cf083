"""The one function for all audits of training."""

import math

import numpy as np
import pytest

import deniable as dn
from tests.auditing.training.trainers import CANARY, RECORDS, make_claim, make_trainer

CANARIES = list(range(40))


def score_all(records, _seed):
    """Show of each canary whether it is there."""
    return np.isin(CANARIES, records).astype(float)


def test_the_method_follows_from_the_canaries():
    """One canary, many, or many with a number of runs."""
    claim = make_claim(1.0)
    verdict = dn.audit_training(make_trainer(1.0), RECORDS, [CANARY], claim=claim.epsilon, delta=1e-5, seed=1)
    assert verdict.method.startswith("1,000 training runs on two data sets")
    verdict = dn.audit_training(score_all, [], CANARIES, claim=0.1, guesses=20, seed=1)
    assert verdict.method.startswith("one training run with 40 canaries by fair coins, 20 of them guessed")
    assert verdict.status == "refuted"
    verdict = dn.audit_training(score_all, [], CANARIES, claim=0.1, runs=3, seed=1)
    assert verdict.method.startswith("3 training runs with 120 canaries")


def test_the_claim_names_its_neighbours():
    """A record more or less, or one in the place of the other; pure without delta."""
    verdict = dn.audit_training(make_trainer(), RECORDS, [CANARY], claim=1.0, other=0.0, runs=40)
    assert verdict.guarantee.adjacency == "one record replaced by another"
    assert isinstance(verdict.guarantee, dn.PureDP)
    options = {"other": 0.0, "other_is_empty": True, "runs": 40}
    verdict = dn.audit_training(make_trainer(), RECORDS, [CANARY], claim=1.0, **options)
    assert verdict.guarantee.adjacency.startswith("one record made empty")
    verdict = dn.audit_training(make_trainer(), RECORDS, [CANARY], claim=1.0, delta=1e-3, runs=40)
    assert verdict.guarantee.adjacency == "one record added or removed"
    assert verdict.guarantee.delta == 1e-3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"train": 1}, "'train' .* a function train"),
        ({"method": "two-runs"}, "'method' .* auto, one-run, losses, worst-case"),
        ({"canaries": []}, "Got none: give at least one record"),
        ({"canaries": "text"}, "'canaries' .* a sequence of records"),
        ({"records": {"a": 1}}, "'records' .* a sequence of records"),
        ({"records": 5}, "'records'"),
        ({"claim": -1.0}, "'guarantee.epsilon'"),
        ({"claim": math.nan}, "'guarantee.epsilon'"),
        ({"delta": 1.0}, "'guarantee.delta'"),
        ({"noise": "gaussian"}, "Gaussian noise gives an epsilon and a delta"),
        ({"method": "one-run", "runs": 3}, "'one-run' takes no 'runs', which is of worst-case and losses"),
        ({"other": 1}, "'one-run' takes no 'other', which is of worst-case"),
        ({"method": "worst-case", "guesses": 3}, "'worst-case' takes no 'guesses'"),
        ({"other_is_empty": True}, "Got none: give 'other'"),
        ({"canaries": list(range(5))}, "at least 10 canaries. Got 5"),
    ],
)
def test_refusals(change, message):
    """One line that names the value, before any training."""
    arguments = {"train": score_all, "records": [], "canaries": CANARIES, "claim": 1.0} | change
    with pytest.raises(dn.InputError, match=message):
        dn.audit_training(arguments.pop("train"), arguments.pop("records"), arguments.pop("canaries"), **arguments)
