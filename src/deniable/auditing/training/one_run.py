"""An audit of training by one run: canaries join the data by fair coins, and the trained model is asked for the coins.

The algorithm is Algorithm 1 of Steinke, Nasr and Jagielski 2023. Its bound for any noise is at least that of their
Theorem 5.2, and its bound for Gaussian noise is the f-DP version of Mahloujifar, Melis and Chaudhuri 2024; both are the
theorem of `deniable.auditing.training.bounds`. No audit can show that training is private: it refutes a claim, or says
which violation it would have seen.
"""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from deniable.auditing.games import make_coins
from deniable.auditing.training.bounds import NoiseKind
from deniable.auditing.training.judging import TrainingClaim, judge_coins, plan_guesses
from deniable.auditing.training.observation import TrainFunction, observe_training
from deniable.core.arrays import BoolArray
from deniable.core.evidence import Verdict
from deniable.core.guarantees import Guarantee

MAX_SEED = 1 << 62
_OWNER = "audit_training"
_HEADS = 0.5


def audit_one_run(
    train: TrainFunction,
    records: Sequence[Any],
    canaries: Sequence[Any],
    guarantee: Guarantee,
    *,
    noise: NoiseKind = "any",
    guesses: int | None = None,
    confidence: float = 0.95,
    seed: int | None = None,
) -> Verdict:
    """Train once on the records and some of the canaries, by fair coins, and judge the scores of all of them.

    Args:
        train: see `deniable.auditing.training.observation`. It gets the records, and after them the canaries whose coin
            says so. A score may use anything of the trained model and of the canary, and nothing else of what was
            added.
        records: what is in the data in any case.
        canaries: m units: records, or persons with all their records.
        guarantee: claimed for one unit more or less.
        noise: see `deniable.auditing.training.judging.TrainingClaim`.
        guesses: see `deniable.auditing.training.judging.judge_canary_scores`.
        confidence: the same.
        seed: of the coins and of the run; None for fresh ones.

    Raises:
        InputError: see `deniable.auditing.training.judging.judge_canary_scores`; training failed, or it returned
            neither a model nor m finite scores.
    """
    start = time.perf_counter()
    plan = plan_guesses(len(canaries), guesses)
    claim = TrainingClaim(guarantee, noise, confidence)
    random = make_coins(_OWNER, seed)
    included = random.random(len(canaries)) < _HEADS
    run = observe_training(train, add_canaries(records, canaries, included), int(random.integers(MAX_SEED)))
    return judge_coins(claim, plan, included, run.score(canaries), "one training run", "canaries", start)


def add_canaries(records: Sequence[Any], canaries: Sequence[Any], included: BoolArray) -> list[Any]:
    """Return the records, and after them the canaries whose coin says so."""
    return [*records, *(canaries[place] for place in np.flatnonzero(included).tolist())]
