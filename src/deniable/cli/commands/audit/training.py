"""``deniable audit training``: a function that trains."""

import contextlib
import dataclasses
import functools
import json
import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deniable.cli.callables import import_callable, import_member
from deniable.cli.commandline import option
from deniable.cli.commands.audit.black_box import MAXIMUM_SECONDS, limit_call_time
from deniable.cli.commands.audit.values import read_values
from deniable.cli.options import JsonOption
from deniable.cli.process import EXIT_REFUTED
from deniable.cli.progress import show_passes
from deniable.cli.terminal import say
from deniable.core.errors import InputError, check_positive

if TYPE_CHECKING:
    from deniable.auditing.training.facts import TrainingFacts
    from deniable.core.guarantees import Verdict

_SOURCE = "FILE|PACKAGE.MODULE:NAME"
_MEMBER = re.compile(r"[^\W\d][\w.]*:[^\W\d][\w.]*")


def _data(default_text: str, metavar: str = _SOURCE) -> Any:  # noqa: ANN401 - a field
    return dataclasses.field(default=None, metadata=option(panel="Data", metavar=metavar, show_default=default_text))


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingAudit:
    """Sampling.

    Attributes:
        claim: epsilon that the training claims for one record.
        delta: delta of the claim.
        noise: what the claim rests on (gaussian shows smaller violations).
        records: records that are always in the data.
        canaries: canaries, records included or left out at random; or how many of --records to use as canaries.
        other: record that replaces the canary when it is left out; worst-case only.
        other_is_empty: the claim is about a record made empty, and --other is that record.
        method: audit (auto: by the number of canaries).
        runs: number of training runs.
        guesses: number of coins to guess, for one-run and losses.
        explain: train a few times more, and show sampling, the sum that one record moves, and epsilon recomputed.
        confidence: confidence level of the lower bound.
        time_limit: maximum duration of the whole audit.
        seed: seed of the audit's coins and of the runs.

    Raises:
        InputError: a duration out of range.
    """

    claim: float = dataclasses.field(metadata=option(panel="Claim"))
    delta: float = dataclasses.field(default=0.0, metadata=option(panel="Claim"))
    noise: str = dataclasses.field(
        default="any", metadata=option(choices=("any", "gaussian"), panel="Claim", metavar="KIND")
    )
    records: str | None = _data("'records' of TRAIN's module")
    canaries: str | None = _data("'canaries' of TRAIN's module", f"{_SOURCE}|NUMBER")
    other: str | None = _data("none")
    other_is_empty: bool = dataclasses.field(default=False, metadata=option(panel="Data"))
    method: str = dataclasses.field(
        default="auto", metadata=option(choices=("auto", "one-run", "losses", "worst-case"), metavar="METHOD")
    )
    runs: int | None = dataclasses.field(
        default=None, metadata=option(show_default="8 for losses, 1000 for worst-case")
    )
    guesses: int | None = dataclasses.field(default=None, metadata=option(show_default="a fifth of all"))
    explain: bool = False
    confidence: float = 0.95
    time_limit: float | None = dataclasses.field(default=None, metadata=option(metavar="SECONDS"))
    seed: int | None = dataclasses.field(default=None, metadata=option(show_default="random"))

    def __post_init__(self) -> None:
        """Refuse a duration before anything runs."""
        if self.time_limit is not None:
            check_positive("audit training", "time_limit", self.time_limit, MAXIMUM_SECONDS)


def run_audit_training(
    target: Annotated[
        str,
        typer.Argument(
            metavar="PACKAGE.MODULE:TRAIN",
            help="Function train(records, seed); modules of the current folder can be imported.",
        ),
    ],
    options: TrainingAudit,
    *,
    as_json: JsonOption = False,
) -> None:
    """Audit a training by running it.

    Runs can refute a claim, but never prove one. Exits with 1 if the claim is refuted.

    Examples:
        deniable audit training mypackage.training:train --claim 1 --delta 1e-5 --records mypackage.data:records
    """
    audit: Callable[..., Any] = functools.partial(_audit, target, options)
    if options.time_limit is not None:
        audit = limit_call_time(audit, options.time_limit, "The audit")
    with show_passes("training"), contextlib.redirect_stdout(sys.stderr):
        facts, verdict = audit()
    _report(target, facts, verdict, as_json=as_json)


def _audit(target: str, options: TrainingAudit) -> "tuple[TrainingFacts | None, Verdict]":
    """Return the facts, where they are asked for, and the verdict."""
    from deniable.auditing.training.audit import audit_training

    train = import_callable(target)
    records = _load_source(target, "records", options.records)
    canaries = _load_canaries(target, options.canaries, records, options.seed)
    pair: dict[str, Any] = {"claim": options.claim, "delta": options.delta, "seed": options.seed}
    if options.other is not None:
        pair["other"] = _take_one(_load_source(target, "other", options.other))
    if options.other_is_empty:
        pair["other_is_empty"] = True
    facts = _collect_facts(train, records, canaries, pair) if options.explain else None
    chosen = {name: getattr(options, name) for name in ("method", "noise", "runs", "guesses", "confidence")}
    return facts, audit_training(train, records, canaries, **pair, **chosen)


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
        lines = [f"{target}, by running it", str(verdict)]
        if facts is not None:
            names = [name for name, found in facts.verdicts.items() if found.status == "refuted"]
            refuted = [f"{target}, by its facts\nrefuted: by {' and by '.join(names)}\n"] if names else []
            lines = [facts.to_report().to_text(), *refuted, *lines]
        say("\n".join(lines))
    if verdict.status == "refuted" or (facts is not None and facts.is_refuted):
        raise typer.Exit(EXIT_REFUTED)


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
    from deniable.auditing.calls import call_user_function

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
