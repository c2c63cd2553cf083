"""``deniable audit training``: a function that trains."""

import contextlib
import dataclasses
import json
import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deniable.cli.callables import import_callable, import_member
from deniable.cli.choices import TrainingMethodName, TrainingNoiseName
from deniable.cli.commandline import EXIT_REFUTED
from deniable.cli.commands.audit.black_box import ConfidenceOption, DeltaOption, limit_call_time
from deniable.cli.commands.audit.values import read_values
from deniable.cli.options import CLAIM_PANEL, DATA_PANEL, SAMPLING_PANEL, JsonOption, list_choices, make_option
from deniable.cli.progress import show_passes
from deniable.core.errors import InputError, check_positive

if TYPE_CHECKING:
    from deniable.auditing.training.facts import TrainingFacts
    from deniable.core.guarantees import Verdict

_MAXIMUM_SECONDS = 1e7
_SOURCE = "FILE|PACKAGE.MODULE:NAME"
_MEMBER = re.compile(r"[^\W\d][\w.]*:[^\W\d][\w.]*")

TargetArgument = Annotated[
    str,
    typer.Argument(
        metavar="PACKAGE.MODULE:TRAIN",
        help="Function train(records, seed); modules of the current folder can be imported.",
    ),
]
ClaimOption = Annotated[float, make_option(CLAIM_PANEL, "--claim", "Epsilon that the training claims for one record.")]
NoiseOption = Annotated[
    TrainingNoiseName,
    make_option(
        CLAIM_PANEL,
        "--noise",
        f"What the claim rests on: {list_choices(TrainingNoiseName)}, which shows smaller violations.",
        metavar="KIND",
    ),
]
RecordsOption = Annotated[
    str | None,
    make_option(
        DATA_PANEL,
        "--records",
        "Records that are in the data in any case.",
        metavar=_SOURCE,
        default_text="'records' of TRAIN's module",
    ),
]
CanariesOption = Annotated[
    str | None,
    make_option(
        DATA_PANEL,
        "--canaries",
        "Records that are there or not, by coins; or how many of --records are taken, at random.",
        metavar=f"{_SOURCE}|NUMBER",
        default_text="'canaries' of TRAIN's module",
    ),
]
OtherOption = Annotated[
    str | None,
    make_option(
        DATA_PANEL,
        "--other",
        "Record that takes the place of the canary where it is not there; worst-case only.",
        metavar=_SOURCE,
        default_text="none",
    ),
]
OtherIsEmptyOption = Annotated[
    bool,
    make_option(DATA_PANEL, "--other-is-empty", "The claim is for a record made empty, and --other is that."),
]
MethodOption = Annotated[
    TrainingMethodName,
    make_option(
        SAMPLING_PANEL,
        "--method",
        f"Audit: {list_choices(TrainingMethodName)}. auto: by the number of canaries.",
        metavar="METHOD",
    ),
]
RunsOption = Annotated[
    int | None,
    make_option(SAMPLING_PANEL, "--runs", "Number of training runs.", default_text="8 for losses, 1000 for worst-case"),
]
GuessesOption = Annotated[
    int | None,
    make_option(
        SAMPLING_PANEL, "--guesses", "Number of coins to guess, for one-run and losses.", default_text="a fifth of all"
    ),
]
ExplainOption = Annotated[
    bool,
    make_option(
        SAMPLING_PANEL,
        "--explain",
        "Train a few times more, and show sampling, the sum that one record moves, and epsilon recomputed.",
    ),
]
TimeLimitOption = Annotated[
    float | None,
    make_option(SAMPLING_PANEL, "--time-limit", "Maximum duration of the whole audit.", metavar="SECONDS"),
]
SeedOption = Annotated[
    int | None,
    make_option(SAMPLING_PANEL, "--seed", "Seed of the audit's coins and of the runs.", default_text="random"),
]


def run_audit_training(
    target: TargetArgument,
    *,
    claim: ClaimOption,
    delta: DeltaOption = 0.0,
    noise: NoiseOption = TrainingNoiseName.ANY,
    records: RecordsOption = None,
    canaries: CanariesOption = None,
    other: OtherOption = None,
    other_is_empty: OtherIsEmptyOption = False,
    method: MethodOption = TrainingMethodName.AUTO,
    runs: RunsOption = None,
    guesses: GuessesOption = None,
    explain: ExplainOption = False,
    confidence: ConfidenceOption = 0.95,
    time_limit: TimeLimitOption = None,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Audit a training by running it.

    Runs can refute a claim, but never prove one. Exits with 1 if the claim is refuted.
    """
    sampling = {"method": method.value, "noise": noise.value, "runs": runs, "guesses": guesses}

    def audit() -> "tuple[TrainingFacts | None, Verdict]":
        train = import_callable(target)
        data = _load_source(target, "records", records)
        marked = _load_canaries(target, canaries, data, seed)
        options: dict[str, Any] = {"claim": claim, "delta": delta, "seed": seed}
        if other is not None:
            options["other"] = _take_one(_load_source(target, "other", other))
        if other_is_empty:
            options["other_is_empty"] = True
        return _audit(train, data, marked, options, {**sampling, "confidence": confidence}, explain=explain)

    if time_limit is not None:
        check_positive("audit training", "time_limit", time_limit, _MAXIMUM_SECONDS)
        audit = limit_call_time(audit, time_limit, "The audit")
    with show_passes("training"), contextlib.redirect_stdout(sys.stderr):
        facts, verdict = audit()
    _report(target, facts, verdict, as_json=as_json)


def _audit(
    train: Callable[..., Any],
    records: list[Any],
    canaries: list[Any],
    options: dict[str, Any],
    sampling: dict[str, Any],
    *,
    explain: bool,
) -> "tuple[TrainingFacts | None, Verdict]":
    from deniable.auditing.training.audit import audit_training

    facts = None
    if explain:
        facts = _collect_facts(train, records, canaries, options)
    return facts, audit_training(train, records, canaries, **options, **sampling)


def _collect_facts(
    train: Callable[..., Any], records: list[Any], canaries: list[Any], options: dict[str, Any]
) -> "TrainingFacts":
    """Return the facts; where batches depend on the number of records, the movement of two canaries in one place."""
    from deniable.auditing.training.facts import STEP_VERDICT, collect_training_facts

    canary = _take_one(canaries)
    facts = collect_training_facts(train, records, canary, **options)
    if "other" not in options and facts.movement is None and facts.plan is not None and len(canaries) > 1:
        # What a record does to the sum, and nothing else, is seen of these.
        replaced = collect_training_facts(train, records, canary, other=canaries[1], **options)
        verdicts = {name: verdict for name, verdict in replaced.verdicts.items() if name == STEP_VERDICT}
        return dataclasses.replace(
            facts,
            movement=replaced.movement,
            movement_note=replaced.movement_note,
            verdicts=verdicts | facts.verdicts,
        )
    return facts


def _report(target: str, facts: "TrainingFacts | None", verdict: "Verdict", *, as_json: bool) -> None:
    if as_json:
        content: dict[str, Any] = {"mechanism": target, **verdict.to_dict()}
        if facts is not None:
            content["facts"] = facts.to_report().to_dict()
        typer.echo(json.dumps(content, indent=2, ensure_ascii=False))
    else:
        blocks = [] if facts is None else [facts.to_report().to_text(), *_list_refuted(target, facts)]
        typer.echo("\n".join([*blocks, f"{target}, by running it", str(verdict)]))
    if verdict.status == "refuted" or (facts is not None and facts.is_refuted):
        raise typer.Exit(EXIT_REFUTED)


def _list_refuted(target: str, facts: "TrainingFacts") -> list[str]:
    """Return a line that says which facts refute, if any do."""
    names = [name for name, verdict in facts.verdicts.items() if verdict.status == "refuted"]
    return [f"{target}, by its facts\nrefuted: by {' and by '.join(names)}\n"] if names else []


def _load_canaries(target: str, source: str | None, records: list[Any], seed: int | None) -> list[Any]:
    """Return the canaries; where a number is given, so many of the records, which are taken out of them."""
    if source is None or not source.isdecimal():
        return _load_source(target, "canaries", source)
    from deniable.auditing.games import make_coins

    count = int(source)
    if not 0 < count < len(records):
        raise InputError(
            f"--canaries takes at least one of the records, and leaves at least one. Got {count:,} of "
            f"{len(records):,}: take fewer, or give more records."
        )
    # A child of the audit's coins, which decide what is there of what is chosen here: they are independent.
    (coins,) = make_coins("audit training", seed).spawn(1)
    places = set(coins.choice(len(records), count, replace=False).tolist())
    chosen = [records[place] for place in sorted(places)]
    records[:] = [record for place, record in enumerate(records) if place not in places]
    return chosen


def _load_source(target: str, name: str, source: str | None) -> list[Any]:
    """Return what a file or a member of a module holds; by default the member of this name beside the function."""
    if source is not None and not _MEMBER.fullmatch(source):
        return read_values(source, name)
    member = f"{target.partition(':')[0]}:{name}" if source is None else source
    from deniable.auditing.training.observation import call_user_function

    values = import_member(member)
    if values is None:
        raise InputError(f"There is no {member!r}: define it there, or give --{name}.")
    if callable(values):
        with contextlib.redirect_stdout(sys.stderr):
            values = call_user_function(values, member)
    if isinstance(values, str | bytes | dict) or not hasattr(values, "__iter__"):
        raise InputError(f"{member!r} must be a sequence of records, or a function that returns one. Got {values!r}.")
    # Not list(values), which no time limit interrupts.
    return call_user_function(lambda: [record for record in values], member)  # type: ignore[no-any-return]  # noqa: C416 - see above


def _take_one(records: list[Any]) -> Any:  # noqa: ANN401 - any record
    if not records:
        raise InputError("An audit of training needs a canary. Got no records: give at least one.")
    return records[0]
