"""One function for all audits of training."""

from collections.abc import Sequence
from typing import Any, Literal, get_args

from deniable.auditing.training.bounds import NoiseKind
from deniable.auditing.training.losses import DEFAULT_RUNS as DEFAULT_LOSS_RUNS
from deniable.auditing.training.losses import audit_losses
from deniable.auditing.training.neighbours import ABSENT
from deniable.auditing.training.observation import TrainFunction, call_user_function
from deniable.auditing.training.one_run import audit_one_run
from deniable.auditing.training.worst_case import DEFAULT_RUNS, audit_worst_case
from deniable.core.arguments import refuse_wrong_calls
from deniable.core.errors import InputError, make_parameter_error
from deniable.core.evidence import Verdict
from deniable.core.guarantees import ADDED_OR_REMOVED_RECORD, EMPTY_PLACE, REPLACED_RECORD, ApproxDP, Guarantee, PureDP

TrainingMethod = Literal["auto", "one-run", "losses", "worst-case"]
_OWNER = "audit_training"


@refuse_wrong_calls
def audit_training(
    train: TrainFunction,
    records: Sequence[Any],
    canaries: Sequence[Any],
    *,
    claim: float,
    delta: float = 0.0,
    method: TrainingMethod = "auto",
    noise: NoiseKind = "any",
    other: Any = ABSENT,  # noqa: ANN401 - any record
    other_is_empty: bool = False,
    runs: int | None = None,
    guesses: int | None = None,
    confidence: float = 0.95,
    seed: int | None = None,
) -> Verdict:
    """Audit a training that can only be run: a lower confidence bound on what it shows of one record.

    No audit can show that training is private: the verdict is ``refuted``, or ``not refuted`` with
    ``detectable_epsilon``, the violation that it would have seen.

    Args:
        train: called as ``train(records, seed)``. It returns a model, which is a function from records to one score
            each (the higher, the likelier the record was trained on), or the scores of the canaries; or it is a
            generator of what each step releases, see `deniable.TrainingStep`.
        records: what is in the data in any case.
        canaries: records that are there or not, by coins of the audit. Those that nothing else resembles are found
            best.
        claim: epsilon >= 0 for one record.
        delta: of the claim, in [0, 1).
        method: ``one-run`` trains once with half of the canaries (`deniable.auditing.training.one_run`); ``losses``
            a few times, and compares the scores of each canary with each other (`deniable.auditing.training.losses`);
            ``worst-case`` many times with the first canary and without it, and looks at all that is released
            (`deniable.auditing.training.worst_case`). ``auto`` is ``worst-case`` for one canary, else ``one-run``, or
            ``losses`` if ``runs`` are given.
        noise: ``any`` tests the claim as it is; ``gaussian`` tests that Gaussian noise alone was calibrated to it,
            which shows smaller violations; sampled batches have another trade-off curve.
        other: ``worst-case``: the record that takes the place of the canary; by default there is none.
        other_is_empty: whether the claim is for a record that is made empty, and ``other`` is the empty one; else it is
            for a record that is replaced by another.
        runs: of ``losses`` (8 by default) and ``worst-case`` (1,000).
        guesses: of ``one-run`` and ``losses``: how many coins are guessed; None for a fifth.
        confidence: of the lower bound, in (0, 1).
        seed: of the audit's coins and of the runs; None for fresh ones.

    Raises:
        InputError: a parameter outside its domain or of another method, too few canaries, or a training that fails or
            returns neither steps nor finite scores.
    """
    if not callable(train):
        raise make_parameter_error(_OWNER, "train", "a function train(records, seed)", train)
    if method not in get_args(TrainingMethod):
        raise make_parameter_error(_OWNER, "method", f"one of {', '.join(get_args(TrainingMethod))}", method)
    records, canaries = _list_records("records", records), _list_records("canaries", canaries)
    if not canaries:
        raise InputError("An audit of training needs canaries. Got none: give at least one record.")
    if method == "auto":
        method = "worst-case" if len(canaries) == 1 else "one-run" if runs is None else "losses"
    if other_is_empty and other is ABSENT:
        raise InputError("'other_is_empty' is about the record in the place of the canary. Got none: give 'other'.")
    guarantee = state_training_claim(
        claim, delta, is_replaced=other is not ABSENT and not other_is_empty, is_emptied=other_is_empty
    )
    _refuse_options_of_others(method, other is not ABSENT, runs, guesses)
    if method == "worst-case":
        return audit_worst_case(
            train,
            records,
            canaries[0],
            guarantee,
            other=other,
            runs=DEFAULT_RUNS if runs is None else runs,
            noise=noise,
            confidence=confidence,
            seed=seed,
        )
    if method == "losses":
        return audit_losses(
            train,
            records,
            canaries,
            guarantee,
            runs=DEFAULT_LOSS_RUNS if runs is None else runs,
            noise=noise,
            guesses=guesses,
            confidence=confidence,
            seed=seed,
        )
    return audit_one_run(
        train, records, canaries, guarantee, noise=noise, guesses=guesses, confidence=confidence, seed=seed
    )


def state_training_claim(
    epsilon: float, delta: float, *, is_replaced: bool = False, is_emptied: bool = False
) -> Guarantee:
    """Return the guarantee that a claim of epsilon and delta for one record makes: added or removed, or as stated."""
    adjacency = REPLACED_RECORD if is_replaced else EMPTY_PLACE if is_emptied else ADDED_OR_REMOVED_RECORD
    source = "the claim under audit"
    if delta == 0:
        return PureDP(epsilon, source, "claimed", adjacency=adjacency)
    return ApproxDP(epsilon, delta, source, "claimed", adjacency=adjacency)


def _list_records(name: str, values: object) -> list[Any]:
    if isinstance(values, str | bytes | dict) or not hasattr(values, "__iter__"):
        raise make_parameter_error(_OWNER, name, "a sequence of records", values)
    listed: list[Any] = call_user_function(lambda: list(values), f"The sequence {name!r}")
    return listed


def _refuse_options_of_others(method: TrainingMethod, has_other: bool, runs: int | None, guesses: int | None) -> None:  # noqa: FBT001 - a fact
    for name, is_given, methods in (
        ("other", has_other, ("worst-case",)),
        ("runs", runs is not None, ("worst-case", "losses")),
        ("guesses", guesses is not None, ("one-run", "losses")),
    ):
        if is_given and method not in methods:
            raise InputError(
                f"The method {method!r} takes no {name!r}, which is of {' and '.join(methods)}: leave it out, or take "
                "one of them."
            )
