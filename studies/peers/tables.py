"""The report of an audit as two markdown tables: laws and claims; unknown words and fresh processes."""

from __future__ import annotations

import math
from typing import Any

from compare_speed import show, table_line

ANY = "between any two words"
HEADER = ("package", "mechanism", "claim", "checked", "verdict", "epsilon", "witness", "samples", "seconds", "notes")
ASIDE = ("package", "mechanism", "unknown words unchanged", "known words gave one", "equal in two processes", "raised")


def show_all(report: dict[str, Any]) -> None:
    """Print what was found of the laws, then of unknown words and fresh processes."""
    held = report["machine"]
    show(f"{held['processors']} processors, load {held['load_before']:.1f} before; {held['platform']}; "
         f"Python {held['python']}\n")  # fmt: skip
    for header, cells in ((HEADER, main_cells), (ASIDE, aside_cells)):
        show(table_line(header))
        show(table_line(["---"] * len(header)))
        for row in report["rows"]:
            show(table_line(cells(row)))
        show("")


def main_cells(row: dict[str, Any]) -> list[str]:
    """Return the row of the first table."""
    head = [f"{row['package']} {row['version']}", row["mechanism"]]
    if "error" in row:
        return [*head, *["-"] * 7, f"could not be run: {row['error']}"]
    verdict = row["verdict"]
    found = verdict["lower_bound"] if verdict["status"] in {"refuted", "not refuted"} else verdict["epsilon"]
    shown = "infinite" if math.isinf(found) else f"{'at least ' if row.get('floored', True) else ''}{found:.4g}"
    metric = f" per unit of {row['metric']}" if row["metric"] != ANY else f" {ANY}"
    size = f"{row['space']}, {row['words']:,} words"
    return [
        *head,
        f"{row['epsilon']:g}{metric}; {size}",
        row["checked"],
        verdict["status"],
        shown,
        verdict["witness"] or "-",
        f"{row['samples']:,}",
        f"{row['seconds']:.0f}",
        "; ".join(filter(None, [row["note"], *remarks(row)])) or "-",
    ]


def remarks(row: dict[str, Any]) -> list[str]:
    """Return what else was seen of a law."""
    found = []
    if law := row.get("law"):
        found += [f"chi-square p = {law['fit']['p']:.2g}", law["note"]]
        found.append(f"{row['zeros']:.1%} of probabilities are 0" if row["zeros"] else "")
    if (same := row.get("same_sets")) and row["metric"] == ANY:
        found.append(f"largest loss between words of one output set {same['loss']:.3g} ({same['pairs']:,} pairs)")
    if (power := row["verdict"].get("detectable_epsilon")) is not None:
        found.append(f"would have seen {power:.3g}")
    return found


def aside_cells(row: dict[str, Any]) -> list[str]:
    """Return the row of the second table."""
    head = [f"{row['package']} {row['version']}", f"{row['mechanism']}, {row['epsilon']:g}, {row['space']}"]
    if "error" in row:
        return [*head, *["-"] * 4]
    unknown, twice = row["unknown"], row["repeated"]
    returned = [unknown.get("error", "-"), "-"]
    if "unchanged" in unknown:
        returned = [f"{unknown['unchanged']} of {unknown['given']}", f"{unknown['from_known']} of {unknown['known']}"]
    equal = f"{twice['equal']} of {twice['words']} (within one: {twice['within']})" if "equal" in twice else "-"
    return [*head, *returned, equal, f"{row['raised']:,} of {row['calls'] + row['raised']:,} calls"]
