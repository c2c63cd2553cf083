"""The table of ``deniable audit --zoo``."""

import importlib.util
import math
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from deniable.auditing.zoo import Entry, Finding
    from deniable.verdict import Verdict

_HEAD = (
    "mechanism",
    "claim",
    "by its law",
    "exact",
    "by samples",
    "at least",
    "would see",
    "samples",
    "seconds",
    "as expected",
)
NEED_TORCH = 10
"""Entries of `deniable.robust.zoo` and `deniable.rewrite.zoo`, which cannot be counted without torch."""


def entries() -> "tuple[Entry, ...]":
    """Return all entries that can be audited here; say on stderr how many cannot."""
    from deniable.auditing.zoo import ENTRIES  # noqa: PLC0415 - keeps --help fast

    if importlib.util.find_spec("torch") is None:
        typer.echo(f"{NEED_TORCH} entries need torch, and are left out: install deniable[train].", err=True)
        return ENTRIES
    from deniable.rewrite import zoo as texts  # noqa: PLC0415 - torch is an extra, and slow to import
    from deniable.robust import zoo as images  # noqa: PLC0415 - the same

    return (*ENTRIES, *images.ENTRIES, *texts.ENTRIES)


def run_zoo(seed: int) -> "list[Finding]":
    """Return the verdicts on every entry."""
    from deniable.auditing.zoo import examine  # noqa: PLC0415 - keeps --help fast
    from deniable.parallel import reporter, watched  # noqa: PLC0415

    report, every = reporter(), entries()
    found: list[Finding] = []
    report(0, len(every))
    for entry in every:
        with watched(lambda done, total: None):  # noqa: ARG005 - one bar for the zoo, not one for each step
            found.append(examine(entry, seed))
        report(len(found), len(every))
    return found


def table(findings: "list[Finding]") -> str:
    """Return the verdicts as a table in plain text, with the flaws below."""
    rows = [_HEAD, *map(_row, findings)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    flaws = [f"{found.entry.name}: {found.entry.flaw} ({found.entry.source})" for found in findings if found.entry.flaw]
    wrong = [found.entry.name for found in findings if not found.expected]
    last = f"not as expected: {', '.join(wrong)}" if wrong else "every verdict is as expected"
    return "\n".join([*lines, "", *flaws, "", last])


def record(findings: "list[Finding]") -> list[dict[str, Any]]:
    """Return the verdicts for JSON."""
    return [
        {
            "mechanism": found.entry.name,
            "source": found.entry.source,
            "claim": found.entry.claim,
            "flaw": found.entry.flaw,
            "exact": found.exact.to_dict() if found.exact else None,
            "sampled": found.sampled.to_dict() if found.sampled else None,
            "expected": found.expected,
        }
        for found in findings
    ]


def _row(found: "Finding") -> tuple[str, ...]:
    exact, sampled = found.exact, found.sampled
    seconds = sum(verdict.seconds for verdict in (exact, sampled) if verdict)
    return (
        found.entry.name,
        found.entry.claim,
        exact.status if exact else "-",
        _number(exact) if exact else "-",
        sampled.status if sampled else "-",
        _number(sampled) if sampled else "-",
        _finite(sampled.detectable) if sampled and sampled.detectable is not None else "-",
        f"{sampled.samples:,}" if sampled else "-",
        f"{seconds:.1f}",
        "yes" if found.expected else "NO",
    )


def _number(verdict: "Verdict") -> str:
    """Return the exact epsilon, or the lower bound where there is none, or the theorem's."""
    value = verdict.lower_bound if verdict.samples or verdict.status == "refuted" else verdict.epsilon
    return _finite(value)


def _finite(value: float) -> str:
    return "infinite" if math.isinf(value) else f"{value:.4g}"
