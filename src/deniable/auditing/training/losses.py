r"""A black-box audit of training by a few runs: the loss of each canary, compared with its loss in the other runs.

How hard a record is to fit hides whether it was there. So each of R runs draws its own fair coins for all m canaries,
and the score of a canary in a run is compared with its median over all runs, as membership inference is calibrated
(Carlini et al. 2022). The median is over runs with and without the canary alike: no coin is used.

**Theorem.** The R m coins are independent and fair, and turning one changes the data of one run by one unit. Runs are
independent, so the outputs of all runs obey the claim between the two values of any coin, whatever the other coins are;
the premises of the theorem of `deniable.auditing.training.bounds` hold with R m canaries.
"""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from deniable.auditing.games import make_coins
from deniable.auditing.training.bounds import NoiseKind
from deniable.auditing.training.judging import TrainingClaim, judge_coins, plan_guesses
from deniable.auditing.training.observation import TrainFunction, observe_training
from deniable.auditing.training.one_run import MAX_SEED, add_canaries
from deniable.core.errors import check_count
from deniable.core.evidence import Verdict
from deniable.core.guarantees import Guarantee
from deniable.core.progress import get_progress_reporter

DEFAULT_RUNS = 8
_MAX_RUNS = 1_000_000
_OWNER = "audit_training"


def audit_losses(
    train: TrainFunction,
    records: Sequence[Any],
    canaries: Sequence[Any],
    guarantee: Guarantee,
    *,
    runs: int = DEFAULT_RUNS,
    noise: NoiseKind = "any",
    guesses: int | None = None,
    confidence: float = 0.95,
    seed: int | None = None,
) -> Verdict:
    """Train some times on the records and fresh halves of the canaries, and judge their scores in all runs.

    Args:
        train: see `deniable.auditing.training.observation`; what it yields is not used.
        records: what is in the data in any case.
        canaries: m units.
        guarantee: claimed for one unit more or less, of one run.
        runs: R >= 2.
        noise: see `deniable.auditing.training.judging.TrainingClaim`.
        guesses: how many of the R m coins are guessed; None for a fifth.
        confidence: of the lower bound, in (0, 1).
        seed: of the coins and of the runs; None for fresh ones.

    Raises:
        InputError: the same as for one run.
    """
    start = time.perf_counter()
    check_count(_OWNER, "runs", runs, 2, _MAX_RUNS)
    plan = plan_guesses(runs * len(canaries), guesses)
    claim = TrainingClaim(guarantee, noise, confidence)
    random, report = make_coins(_OWNER, seed), get_progress_reporter()
    included = random.random((runs, len(canaries))) < 0.5  # noqa: PLR2004 - fair coins
    scores = np.empty((runs, len(canaries)))
    for number in range(runs):
        report(number, runs)
        data = add_canaries(records, canaries, included[number])
        scores[number] = observe_training(train, data, int(random.integers(MAX_SEED))).score(canaries)
    report(runs, runs)
    scores -= np.median(scores, axis=0)
    design = f"{runs:,} training runs"
    return judge_coins(claim, plan, included.ravel(), scores.ravel(), design, "canaries", start)
