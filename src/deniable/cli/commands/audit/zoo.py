"""``deniable audit zoo``: what makes broken claims, and what keeps its own, audited by computation and samples."""

import dataclasses
import importlib.util
import json
import math
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from deniable.cli.options import JsonOption
from deniable.cli.process import EXIT_REFUTED
from deniable.cli.progress import show_passes
from deniable.cli.terminal import say
from deniable.core.numbers import format_lower, format_upper

if TYPE_CHECKING:
    from deniable.core.guarantees import Verdict
    from deniable.published.entry import EntryVerdicts, ZooEntry

_COLUMN_TITLES = (
    "claim",
    "exact verdict",
    "epsilon",
    "sampled verdict",
    "lower bound",
    "detectable",
    "samples",
    "seconds",
    "as expected",
)


def run_audit_zoo(
    zoo: Annotated[
        Literal["mechanisms", "trainers", "samplers"],
        typer.Argument(metavar="ZOO", help="Collection to audit: mechanisms, trainers or samplers."),
    ] = "mechanisms",
    *,
    seed: Annotated[
        int,
        typer.Option(
            "--seed",
            help="Seed of all random draws; the same seed gives the same results.",
            rich_help_panel="Sampling",
        ),
    ] = 0,
    as_json: JsonOption = False,
) -> None:
    """Audit a collection of broken mechanisms, trainers or samplers, and print what each audit finds.

    Correct ones are audited too, as controls. It takes minutes. Exits with 1 if a verdict is not as expected.

    Examples:
        deniable audit zoo
        deniable audit zoo trainers
    """
    from deniable.core.parallel import get_progress_reporter, hide_progress

    findings: list[EntryVerdicts] = []
    say("This takes minutes: every entry is audited anew.", err=True)
    with show_passes("auditing"):
        report, entries = get_progress_reporter(), load_installed_entries(zoo)
        report(0, len(entries))
        for entry in entries:
            with hide_progress():  # one pass over the zoo, not one for each step
                findings.append(entry.examine(seed))
            report(len(findings), len(entries))
    kind = zoo.removesuffix("s")
    if as_json:
        records = [{kind: finding.entry.name, **finding.to_dict()} for finding in findings]
        typer.echo(json.dumps(records, indent=2, ensure_ascii=False))
    else:
        say(format_zoo_table(findings, kind))
    if not all(finding.is_as_expected for finding in findings):
        raise typer.Exit(EXIT_REFUTED)


def load_installed_entries(zoo: str) -> "list[ZooEntry]":
    """Return the entries that can be examined here, and say on standard error which need an extra."""
    from deniable.registry import ZOOS

    entries: list[ZooEntry] = []
    missing_names = []
    for name in ZOOS[zoo]:
        try:
            entries += ZOOS[zoo][name]
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            missing_names.append(name)
    if missing_names:
        say(f"{' and '.join(missing_names)} need torch, and were left out: install deniable[train].", err=True)
    if zoo == "trainers" and importlib.util.find_spec("dp_accounting") is None:
        count = sum(entry.verify_law is not None for entry in entries)
        say(f"Facts of {count} trainers need dp-accounting, and were left out: install deniable[train].", err=True)
        entries = [dataclasses.replace(entry, verify_law=None) for entry in entries]
    return entries


def format_zoo_table(findings: "list[EntryVerdicts]", kind: str) -> str:
    """Return the verdicts as a table in plain text, with the flaws below."""
    rows = [(kind, *_COLUMN_TITLES), *map(_format_row, findings)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    broken = [finding.entry for finding in findings if finding.entry.flaw]
    flaws = [f"{entry.name}: {entry.flaw} ({entry.source})" for entry in broken]
    unexpected_names = [finding.entry.name for finding in findings if not finding.is_as_expected]
    last_line = (
        f"not as expected: {', '.join(unexpected_names)}" if unexpected_names else "every verdict is as expected"
    )
    return "\n".join([*lines, "", *flaws, "", last_line])


def _format_row(finding: "EntryVerdicts") -> tuple[str, ...]:
    exact, sampled = finding.exact_verdict, finding.sampled_verdict
    detectable = None if sampled is None else sampled.detectable_epsilon
    return (
        finding.entry.name,
        finding.entry.claim,
        *(("-", "-") if exact is None else (exact.status, _format_bound(exact))),
        *(("-", "-") if sampled is None else (sampled.status, _format_bound(sampled))),
        "-" if detectable is None else "infinite" if math.isinf(detectable) else format_upper(detectable, 4),
        f"{sampled.samples:,}" if sampled else "-",
        f"{sum(verdict.seconds for verdict in (exact, sampled) if verdict):.1f}",
        "yes" if finding.is_as_expected else "NO",
    )


def _format_bound(verdict: "Verdict") -> str:
    """Return the exact epsilon, or the lower bound where there is none, or the theorem's; "-" where none is known."""
    if verdict.status == "undecided":
        return "-"
    is_bound = verdict.samples or verdict.status == "refuted" or math.isinf(verdict.epsilon)
    value = verdict.lower_bound if is_bound else verdict.epsilon
    return "infinite" if math.isinf(value) else (format_lower if is_bound else format_upper)(value, 4)
