"""``deniable audit zoo``: broken mechanisms or trainers and correct ones, each audited by computation and samples."""

import json
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deniable.cli.choices import ZooName
from deniable.cli.commandline import EXIT_REFUTED
from deniable.cli.options import SAMPLING_PANEL, JsonOption, list_choices, make_option
from deniable.cli.progress import show_passes
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
ZooSeedOption = Annotated[
    int, make_option(SAMPLING_PANEL, "--seed", "Seed of all random draws; the same seed gives the same results.")
]
ZooArgument = Annotated[ZooName, typer.Argument(metavar="ZOO", help=f"Collection to audit: {list_choices(ZooName)}.")]


def run_audit_zoo(
    zoo: ZooArgument = ZooName.MECHANISMS, *, seed: ZooSeedOption = 0, as_json: JsonOption = False
) -> None:
    """Audit a collection of broken mechanisms or trainers, and print what each audit finds.

    Correct ones are audited too, as controls. Exits with 1 if a verdict is not as expected.
    """
    with show_passes("auditing"):
        findings = examine_zoo(zoo, seed)
    typer.echo(
        json.dumps(build_zoo_records(findings, zoo), indent=2, ensure_ascii=False)
        if as_json
        else format_zoo_table(findings, zoo)
    )
    if not all(finding.is_as_expected for finding in findings):
        raise typer.Exit(EXIT_REFUTED)


def load_installed_entries(zoo: ZooName) -> "tuple[ZooEntry, ...]":
    """Return the entries that can be examined here, and say on standard error how many need an extra."""
    from deniable.registry.zoo import load_trainer_entries, load_zoo_entries

    if zoo == ZooName.TRAINERS:
        entries, undecided_names = load_trainer_entries()
        if undecided_names:
            typer.echo(
                f"Facts of {len(undecided_names)} trainers need dp-accounting, and were left out: install "
                "deniable[train].",
                err=True,
            )
        return entries
    entries, missing_names = load_zoo_entries()
    if missing_names:
        typer.echo(f"{len(missing_names)} entries need torch, and were left out: install deniable[train].", err=True)
    return entries


def examine_zoo(zoo: ZooName, seed: int) -> "list[EntryVerdicts]":
    """Return the verdicts on every entry."""
    from deniable.core.parallel import get_progress_reporter, hide_progress
    from deniable.published.entry import examine_entry

    report, entries = get_progress_reporter(), load_installed_entries(zoo)
    findings: list[EntryVerdicts] = []
    report(0, len(entries))
    for entry in entries:
        with hide_progress():  # one pass over the zoo, not one for each step
            findings.append(examine_entry(entry, seed))
        report(len(findings), len(entries))
    return findings


def format_zoo_table(findings: "list[EntryVerdicts]", zoo: ZooName = ZooName.MECHANISMS) -> str:
    """Return the verdicts as a table in plain text, with the flaws below."""
    rows = [(_name_kind(zoo), *_COLUMN_TITLES), *map(_format_row, findings)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    flaws = [
        f"{finding.entry.name}: {finding.entry.flaw} ({finding.entry.source})"
        for finding in findings
        if finding.entry.flaw
    ]
    unexpected_names = [finding.entry.name for finding in findings if not finding.is_as_expected]
    last_line = (
        f"not as expected: {', '.join(unexpected_names)}" if unexpected_names else "every verdict is as expected"
    )
    return "\n".join([*lines, "", *flaws, "", last_line])


def build_zoo_records(findings: "list[EntryVerdicts]", zoo: ZooName = ZooName.MECHANISMS) -> list[dict[str, Any]]:
    """Return the verdicts for JSON."""
    return [
        {
            _name_kind(zoo): finding.entry.name,
            "source": finding.entry.source,
            "claim": finding.entry.claim,
            "flaw": finding.entry.flaw,
            "exact": finding.exact_verdict.to_dict() if finding.exact_verdict else None,
            "sampled": finding.sampled_verdict.to_dict() if finding.sampled_verdict else None,
            "expected": finding.is_as_expected,
        }
        for finding in findings
    ]


def _name_kind(zoo: ZooName) -> str:
    """Return what one entry of a collection is."""
    return zoo.value.removesuffix("s")


def _format_row(finding: "EntryVerdicts") -> tuple[str, ...]:
    exact_verdict, sampled_verdict = finding.exact_verdict, finding.sampled_verdict
    seconds = sum(verdict.seconds for verdict in (exact_verdict, sampled_verdict) if verdict)
    return (
        finding.entry.name,
        finding.entry.claim,
        exact_verdict.status if exact_verdict else "-",
        _format_bound(exact_verdict) if exact_verdict else "-",
        sampled_verdict.status if sampled_verdict else "-",
        _format_bound(sampled_verdict) if sampled_verdict else "-",
        _format_epsilon(sampled_verdict.detectable_epsilon, format_upper)
        if sampled_verdict and sampled_verdict.detectable_epsilon is not None
        else "-",
        f"{sampled_verdict.samples:,}" if sampled_verdict else "-",
        f"{seconds:.1f}",
        "yes" if finding.is_as_expected else "NO",
    )


def _format_bound(verdict: "Verdict") -> str:
    """Return the exact epsilon, or the lower bound where there is none, or the theorem's; "-" where none is known."""
    if verdict.status == "undecided":
        return "-"
    if verdict.samples or verdict.status == "refuted":
        return _format_epsilon(verdict.lower_bound, format_lower)
    return _format_epsilon(verdict.epsilon, format_upper)


def _format_epsilon(value: float, format_bound: Callable[[float, int], str]) -> str:
    return "infinite" if math.isinf(value) else format_bound(value, 4)
