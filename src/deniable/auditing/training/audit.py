"""One function for all audits of training.

**One run** (Steinke, Nasr and Jagielski 2023, Algorithm 1): canaries join the data by fair coins, and the trained model
is asked for the coins. **Losses** of a few runs: each run draws its own fair coins for all canaries, and the score of a
canary in a run is compared with its median over all runs, as membership inference is calibrated (Carlini et al. 2022);
the median is over runs with and without the canary alike, so no coin is used. **Worst case**: see
`deniable.auditing.training.worst_case`.

**Theorem.** The coins of all runs are independent and fair, and turning one changes the data of one run by one unit.
Runs are independent, so the outputs of all runs obey the claim between the two values of any coin, whatever the other
coins are: the premises of the theorem of `deniable.auditing.training.bounds` hold.
"""

import dataclasses
import time
from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np

from deniable.auditing.calls import call_user_function
from deniable.auditing.games import CLAIM_SOURCE, Claim, NoiseKind, make_coins
from deniable.auditing.training.bounds import judge_scores, plan_guesses
from deniable.auditing.training.observation import (
    ABSENT,
    MAX_SEED,
    NeighbourPair,
    TrainFunction,
    observe_training,
)
from deniable.auditing.training.worst_case import PairTrainer, judge_worst_case
from deniable.core.errors import InputError, check_count, make_parameter_error
from deniable.core.guarantees import ADDED_OR_REMOVED_RECORD, EMPTY_PLACE, REPLACED_RECORD, Guarantee, Verdict
from deniable.core.parallel import get_progress_reporter

TrainingMethod = Literal["auto", "one-run", "losses", "worst-case"]
_OWNER = "audit_training"
_RUNS = {"losses": (8, 2, 1_000_000), "worst-case": (1_000, 40, 10_000_000)}
"""Runs by default, the fewest and the most."""
_TAKEN = {"other": ("worst-case",), "runs": ("worst-case", "losses"), "guesses": ("one-run", "losses")}
"""Which methods an option is of, where it is not of all."""


@dataclasses.dataclass(frozen=True)
class PairOptions:
    """Which data sets a claim about training is for, and the coins.

    Attributes:
        other: the record that takes the place of the canary; by default there is none.
        other_is_empty: whether the claim is for a record that is made empty, and ``other`` is the empty one; else it is
            for a record that is replaced by another.
        seed: of the audit's coins and of the runs; None for fresh ones.
    """

    other: Any = ABSENT
    other_is_empty: bool = False
    seed: int | None = None

    def state_claim(self, epsilon: float, delta: float) -> Guarantee:
        """The guarantee that a claim of epsilon and delta for one record makes.

        Raises:
            InputError: an empty record that is not given.
        """
        is_absent = self.other is ABSENT
        if self.other_is_empty and is_absent:
            raise InputError("'other_is_empty' is about the record in the place of the canary. Got none: give 'other'.")
        adjacency = EMPTY_PLACE if self.other_is_empty else ADDED_OR_REMOVED_RECORD if is_absent else REPLACED_RECORD
        return Guarantee(epsilon, CLAIM_SOURCE, "claimed", delta=delta, adjacency=adjacency)


@dataclasses.dataclass(frozen=True)
class TrainingAuditOptions(PairOptions):
    """How a training is audited, beside its data sets: ``other`` is of ``worst-case`` alone.

    Attributes:
        method: ``one-run`` trains once with half of the canaries; ``losses`` a few times, and compares the scores of
            each canary with each other; ``worst-case`` many times with the first canary and without it, and looks at
            all that is released (`deniable.auditing.training.worst_case`). ``auto`` is ``worst-case`` for one canary,
            else ``one-run``, or ``losses`` if ``runs`` are given.
        noise: ``any`` tests the claim as it is; ``gaussian`` tests that Gaussian noise alone was calibrated to it,
            which shows smaller violations; sampled batches have another trade-off curve.
        runs: of ``losses`` (8 by default) and ``worst-case`` (1,000).
        guesses: of ``one-run`` and ``losses``: how many coins are guessed; None for a fifth.
        confidence: of the lower bound, in (0, 1).
    """

    method: TrainingMethod = "auto"
    noise: NoiseKind = "any"
    runs: int | None = None
    guesses: int | None = None
    confidence: float = 0.95

    def choose_method(self, canaries: int) -> str:
        """The method, by the number of canaries where it is ``auto``.

        Raises:
            InputError: it is unknown, or takes fewer options than are given.
        """
        if self.method not in get_args(TrainingMethod):
            raise make_parameter_error(_OWNER, "method", f"one of {', '.join(get_args(TrainingMethod))}", self.method)
        by_number = "worst-case" if canaries == 1 else "one-run" if self.runs is None else "losses"
        method = by_number if self.method == "auto" else self.method
        for name, methods in _TAKEN.items():
            if getattr(self, name) not in (None, ABSENT) and method not in methods:
                raise InputError(
                    f"The method {method!r} takes no {name!r}, which is of {' and '.join(methods)}: leave it out, or "
                    "take one of them."
                )
        return method


def audit_training(
    train: TrainFunction,
    records: Sequence[Any],
    canaries: Sequence[Any],
    *,
    claim: float,
    delta: float = 0.0,
    **options: Any,  # noqa: ANN401 - the fields of `TrainingAuditOptions`
) -> Verdict:
    """Audit a training that can only be run: a lower confidence bound on what it shows of one record.

    No audit can show that training is private: the verdict is ``refuted``, or ``not refuted`` with
    ``detectable_epsilon``, the violation that it would have seen.

    Args:
        train: called as ``train(records, seed)``. It returns a model, which is a function from records to one score
            each (the higher, the likelier the record was trained on), or the scores of the canaries; or it is a
            generator of what each step releases, see `deniable.TrainingStep`.
        records: what is in the data in any case. In the worst case, records that add nothing to a sum hide least of the
            canary; where each record is in one batch of an epoch, those that all pull against it do.
        canaries: records that are there or not, by coins of the audit. Those that nothing else resembles are found
            best.
        claim: epsilon >= 0 for one record.
        delta: of the claim, in [0, 1).
        **options: the fields of `TrainingAuditOptions` and `PairOptions`.

    Raises:
        InputError: a parameter outside its domain or of another method, too few canaries, or a training that fails or
            returns neither steps nor finite scores.
        TypeError: an unknown option.
    """
    start, how = time.perf_counter(), TrainingAuditOptions(**options)
    if not callable(train):
        raise make_parameter_error(_OWNER, "train", "a function train(records, seed)", train)
    records, canaries = _list_records("records", records), _list_records("canaries", canaries)
    if not canaries:
        raise InputError("An audit of training needs canaries. Got none: give at least one record.")
    method = how.choose_method(len(canaries))
    tested = Claim(how.state_claim(claim, delta), how.confidence, how.noise)
    random = make_coins(_OWNER, how.seed)
    default, fewest, most = _RUNS.get(method, (1, 1, 1))
    runs = check_count(_OWNER, "runs", default if how.runs is None else how.runs, fewest, most)
    if method == "worst-case":
        trainer = PairTrainer(train, NeighbourPair(records, canaries[0], how.other), random, runs)
        return dataclasses.replace(judge_worst_case(trainer, tested), seconds=time.perf_counter() - start)
    plan = plan_guesses(runs * len(canaries), how.guesses)
    included = random.random((runs, len(canaries))) < 0.5  # noqa: PLR2004 - fair coins
    scores, report = np.empty(included.shape), get_progress_reporter()
    for number, coins in enumerate(included):
        report(number, runs)
        data = [*records, *(canaries[place] for place in np.flatnonzero(coins).tolist())]
        scores[number] = observe_training(train, data, int(random.integers(MAX_SEED))).score(canaries)
    report(runs, runs)
    if runs > 1:
        scores -= np.median(scores, axis=0)
    design = f"{'one training run' if runs == 1 else f'{runs:,} training runs'} with {plan.coins:,} canaries"
    verdict = judge_scores(tested, included.ravel(), scores.ravel(), plan, design)
    return dataclasses.replace(verdict, seconds=time.perf_counter() - start)


def _list_records(name: str, values: object) -> list[Any]:
    if isinstance(values, str | bytes | dict) or not hasattr(values, "__iter__"):
        raise make_parameter_error(_OWNER, name, "a sequence of records", values)
    listed: list[Any] = call_user_function(lambda: list(values), f"The sequence {name!r}")
    return listed
