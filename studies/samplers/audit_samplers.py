"""Audit published packages that rewrite or write private texts with language models: do they keep their claims?

    python studies/samplers/audit_samplers.py
    python studies/samplers/audit_samplers.py --packages dpmlm privfill --json FILE

Each package runs unchanged in an environment of its own, driven by its adapter in this folder, which notes the
probabilities from which it draws each token. They are compared by `dn.audit_language_model`: exactly, over the whole
vocabulary, for the pairs of neighbours that are written here. What is found is kept as rows in the file of `--json`.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from adapter import Adapter, opened
from packages import PACKAGES

import deniable as dn
from deniable.core.numbers import format_lower, format_upper

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Row = dict[str, Any]
HEADER = ("package", "what was tried", "neighbours", "claim", "verdict", "found", "witness", "seconds")
NOTES = [
    "The visit was short.", "Came for a letter only.",
    "Came back three times with pain in the chest and was sent to the hospital in the next town.",
]  # fmt: skip
BLACKED_OUT = "My name is _ and I was born in _."
SHORT = "My name is Ann and I was born in Rome."
LONG = "My name is Bartholomew Featherstonehaugh and I was born in the old town of Llanfairpwllgwyngyll."
WORD_PAIRS = {
    "a word for another of its kind": ("Ann left town early", "Ann left home early", (0,)),
    "a stop word for a word": ("Ann was in pain", "Ann had bad pain", (0, 0)),
    "a capital for a small letter": ("Ann left town", "ann left town", ()),
    "a word more": ("Ann left", "Ann left town", (0, 0)),
}
PLACES = 8
TEXTS = ("Ann left the town. She had a bad cold.", "Bob came back to Rome with two children. He was happy there.")


def main(arguments: list[str] | None = None) -> None:
    """Audit, keep what is found, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--packages", nargs="*", choices=[*PACKAGES], default=[*PACKAGES], help="only these (default: all)")
    add("--environments", type=Path, default=Path("sampler-environments"), metavar="DIR", help="where the packages' "
        "environments are, or are made by pip, by name (default: %(default)s)")  # fmt: skip
    add("--limit", type=float, default=1200.0, help="seconds after which an adapter is stopped (default: 1200)")
    add("--json", type=Path, metavar="FILE", help="keep what is found there, and show what earlier runs found too")
    options = parser.parse_args(arguments)
    try:
        rows: list[Row] = json.loads(options.json.read_text()) if options.json and options.json.exists() else []
        for name in options.packages:
            rows = [row for row in rows if row["package"] != name] + audit_package(name, options)
            if options.json:
                options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        show_table(rows)
    except (OSError, ValueError, dn.DeniableError) as error:
        parser.exit(2, f"{parser.prog}: {' '.join(str(error).split())}\n")


def audit_package(name: str, options: argparse.Namespace) -> list[Row]:
    """Return the rows of a package; one that fails is a finding."""
    package, rows, start = PACKAGES[name], [], time.perf_counter()
    try:
        with opened(package, options.environments, options.limit) as adapter:
            for row in JUDGES[name](adapter):
                end = time.perf_counter()
                rows.append({"package": name, "version": adapter.facts["version"]} | row | {"seconds": end - start})
                sys.stderr.write(f"{name}, {row['tried']}: {row['verdict']}, {end - start:.0f} s\n")
                start = end
    except (OSError, ValueError, subprocess.SubprocessError, dn.DeniableError) as error:
        said = " ".join(str(error).split())[-300:].replace("|", "/")
        rows.append({"package": name, "version": package.version, "tried": "run", "verdict": "could not be run",
                     "found": said, "seconds": time.perf_counter() - start})  # fmt: skip
    return rows


def describe(found: dn.LanguageAudit, tried: str, neighbours: str) -> Row:
    """Return the row of an exact audit."""
    verdict, facts, claim = found.verdict, found.facts, found.claim
    if facts is None:
        message = "an exact audit has facts"
        raise ValueError(message)
    share = found.claim.token_guarantee.epsilon
    parts = [f"loss {show(facts.loss)} where a token may lose {format_upper(share, 4)}"]
    if facts.one_sided_tokens:
        count, mass = facts.one_sided_tokens, format_lower(facts.one_sided_mass)
        parts.append(f"infinite for {count:,} tokens of one side only, probability {mass}")
    if claim.kind == "approx":
        parts.append(f"delta {format_lower(facts.delta)} at the claimed epsilon")
    moved = {name: change for name, change in (facts.public_changes or {}).items() if change}
    if facts.public_changes is not None:
        shown = ", ".join(f"{name} {show(change)}" for name, change in moved.items())
        parts.append(f"the public part moves with: {shown or 'nothing'}")
    return {
        "tried": tried,
        "neighbours": neighbours,
        "claim": f"({format_upper(claim.epsilon, 4)}, {claim.delta:g}), {claim.tokens} tokens, {claim.kind}",
        "verdict": verdict.status,
        "found": "; ".join(parts),
        "witness": str(verdict.witness),
        "epsilon of a token": share,
        "measured": finite(verdict.lower_bound),
        "loss": finite(facts.loss),
        "delta": facts.delta,
        "one-sided": facts.one_sided_mass,
        "public": {name: finite(change) for name, change in moved.items()},
    }


def show(value: float) -> str:
    """Return a bound in words."""
    return "infinite" if math.isinf(value) else format_lower(value)


def finite(value: float) -> float | str:
    """Return a number that JSON can hold."""
    return value if math.isfinite(value) else "infinite"


def judge_invink(adapter: Adapter) -> Iterator[Row]:
    """Return the rows of private prediction in one padded batch."""
    law, public = adapter.source("law"), adapter.source("public")
    claim = {"claim": "zcdp", "epsilon": adapter.facts["epsilon"], "delta": adapter.facts["delta"]}
    claim["tokens"] = adapter.facts["tokens"]
    emptied, replaced = [*NOTES[:-1], ""], [*NOTES[:-1], NOTES[0]]
    found = dn.audit_language_model(law, [(NOTES, emptied)], steps=2, seed=1, public=public, **claim)
    yield describe(found, "the next token", "one record made empty")
    found = dn.audit_language_model(law, [(NOTES, replaced)], **claim)
    yield describe(found, "the next token", "one record replaced")
    texts = [adapter.ask("draws", NOTES).tolist() for _ in range(2)]
    yield {
        "tried": "two runs, no seed given", "neighbours": "-", "claim": "-", "witness": "-",
        "verdict": "refuted" if texts[0] == texts[1] else "as due",
        "found": f"the first {len(texts[0])} tokens are {'the same' if texts[0] == texts[1] else 'different'}",
    }  # fmt: skip


def judge_fusion(adapter: Adapter) -> Iterator[Row]:
    """Return the rows of a private law that is mixed into a public one."""
    claim = {"claim": "approx", "epsilon": adapter.facts["epsilon"], "delta": adapter.facts["delta"], "tokens": 1}
    found = dn.audit_language_model(adapter.source("law-toy"), [("raises", "lowers")], **claim)
    yield describe(found, "one token of a model of three tokens", "two secrets")

    def black_out(source: str) -> Callable[[str, tuple[int, ...]], Any]:
        return lambda text, prefix: adapter.ask(source, [text, BLACKED_OUT], prefix)

    found = dn.audit_language_model(black_out("law"), [(SHORT, LONG)], public=black_out("public"), **claim)
    yield describe(found, "one token of SmolLM2, contexts given as texts", "two secrets")
    asked, counted = adapter.ask("counted", "raises").tolist()
    yield {
        "tried": "tokens that are counted", "neighbours": "-", "claim": f"{asked} tokens", "witness": "-",
        "verdict": "refuted" if counted < asked else "as due", "found": f"divergences of {counted} of {asked} tokens",
    }  # fmt: skip


def judge_dpmlm(adapter: Adapter) -> Iterator[Row]:
    """Return the rows of a text rewritten word by word."""
    epsilon = adapter.facts["epsilon"] * PLACES
    for name, pair in WORD_PAIRS.items():
        found = dn.audit_language_model(adapter.source("law"), [pair], claim="pure", epsilon=epsilon, tokens=PLACES)
        yield describe(found, "one word of a text", name)


def judge_privfill(adapter: Adapter) -> Iterator[Row]:
    """Return the rows of a text whose vectors get noise."""
    epsilon, delta = adapter.facts["epsilon"], adapter.facts["delta"]
    claim = f"({epsilon:g}, {delta:g})"
    runs = [[adapter.ask("vectors", text) for _ in range(3)] for text in TEXTS]
    apart = [[vectors[1] - vectors[0] for vectors in of_text] for of_text in runs]
    noise = max(float(np.abs(one - of_text[0]).max()) for of_text in apart for one in of_text)
    moved = float(np.abs(apart[0][0] - apart[1][0]).max())
    yield {
        "tried": "the vectors that get noise, first token less second", "neighbours": "any two texts", "claim": claim,
        "verdict": "refuted" if noise < moved / 1e6 else "not refuted",
        "found": f"infinite: three runs differ by {format_upper(noise)} at most, two texts by {format_lower(moved)}",
        "witness": f"{TEXTS[0]!r} and {TEXTS[1]!r}",
    }  # fmt: skip

    def draw(text: str, _: tuple[int, ...]) -> int:
        return int(adapter.ask("length", text)[0])

    lengths = [sorted({draw(text, ()) for _ in range(3)}) for text in TEXTS]
    found = dn.audit_language_model(draw, [TEXTS], claim="approx", epsilon=epsilon, delta=delta, samples=40, seed=1)
    yield {
        "tried": "the number of tokens written, 40 draws", "neighbours": "any two texts", "claim": claim,
        "verdict": found.verdict.status, "witness": f"lengths {lengths[0]} and {lengths[1]}",
        "found": f"at least {format_lower(found.verdict.lower_bound)} with 95% confidence; no sentence gets more "
        "tokens than the text around it",
    }  # fmt: skip


JUDGES: dict[str, Callable[[Adapter], Iterator[Row]]] = {
    "invink": judge_invink, "dp-fusion-lib": judge_fusion, "dpmlm": judge_dpmlm, "privfill": judge_privfill,
}  # fmt: skip


def show_table(rows: list[Row]) -> None:
    """Print the rows as a table in markdown."""
    write = sys.stdout.write
    write(f"{os.cpu_count()} processors; {platform.machine()}; Python {platform.python_version()}\n\n")
    for cells in (HEADER, ["---"] * len(HEADER), *map(list_cells, rows)):
        write(f"| {' | '.join(cells)} |\n")


def list_cells(row: Row) -> list[str]:
    """Return the cells of a row."""
    named = [str(row.get(name, "-")) for name in ("tried", "neighbours", "claim", "verdict", "found", "witness")]
    cells = [f"{row['package']} {row['version']}", *named, f"{row['seconds']:.0f}"]
    return [cell.replace("|", "/") for cell in cells]


if __name__ == "__main__":
    main()
