"""Audit the word mechanisms of published packages: do they keep what they claim?

    python studies/peers/audit_packages.py
    python studies/peers/audit_packages.py --package mldp-text --mechanism tem --epsilon 4

Each package runs unchanged in an environment of its own (made by `studies/peers/compare_speed.py`, the speed
benchmark) on the same words and vectors, and answers over a pipe. For each of its mechanisms:

- where its own code computes what the law of the output follows from, that is read off the running
  package, the exact epsilon over all pairs of words and all outputs is computed (`deniable.verify`),
  and draws from the package are compared with the law (chi-square);
- otherwise it is audited as a black box on nearest pairs of words (`deniable.audit`);
- words that are not in its space: how often they come back unchanged;
- two fresh processes: whether their outputs are the same.

What is claimed, as we read it, stands with file and line in `claims.py`. Laws are those
of real numbers: what generators and floating point do to them is not audited, but for probabilities that
the package itself rounds to zero.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import os
import platform
import tempfile
import time
from pathlib import Path
from typing import Any

import checks
import client
import numpy as np
import tables
from claims import CASES, Case
from compare_speed import Formatter, Subject, count, default_work, environment, positive, say

import deniable as dn

SEED = 20_210_607
TESTED = 4  # words whose draws are compared with the law
SPLIT = ("cannot", "gonna", "gotta", "wanna")  # one word that NLTK makes two tokens of
FLOOR = 2e-300  # a worker writes 1e-300 for what is rarer
SLACK = 1e-8  # relative; a law that spends just what is claimed is not "undecided" for rounding


def main(arguments: list[str] | None = None) -> None:
    """Audit, print two tables, and write the JSON file."""
    parser = command_line()
    options = parser.parse_args(arguments)
    try:
        cases = chosen(options)
        rows = [audited(case, options) for case in cases]
        report = {"machine": machine(), "size": options.size, "seed": options.seed, "rows": rows}
        if options.json:
            options.json.write_text(json.dumps(finite(report), indent=2) + "\n", encoding="utf-8")
        tables.show_all(report)
    except (OSError, ValueError, dn.DeniableError) as error:
        parser.exit(2, f"{parser.prog}: {' '.join(str(error).split())}\n")


def command_line() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=Formatter)
    add = parser.add_argument
    add("--package", choices=sorted({case.package for case in CASES}), help="only this one")
    add("--mechanism", help="only this one: " + ", ".join(dict.fromkeys(case.mechanism for case in CASES)))
    add("--epsilon", type=positive, help="of the mechanism (default: a table of the benchmark)")
    add("--space", metavar="NAME", help="'glove' (deniable's own), 'line', 'needle', or a file of vectors that "
        "deniable reads (default: glove, and for two mechanisms a small space too)")  # fmt: skip
    add("--size", type=count, default=1_000, help="most frequent words of letters in it (default: 1000)")
    add("--draws", type=count, default=1_000, help=f"for each of {TESTED} words compared with a law (default: 1000)")
    add("--samples", type=count, help="of a black-box audit (default: 6000, in the small spaces 60000)")
    add(
        "--seed", type=int, default=SEED, help="of our own choices; the packages draw as they do (default: %(default)s)"
    )
    add("--limit", type=positive, default=600.0, help="seconds after which a worker is stopped (default: 600)")
    add("--work", type=Path, default=default_work(), metavar="DIR", help="where the packages' environments are made, "
        "and found the next time (default: %(default)s)")  # fmt: skip
    add("--json", type=Path, metavar="FILE", help="write everything found there too")
    return parser


def chosen(options: argparse.Namespace) -> list[Case]:
    """Return the cases asked for, each once; ValueError if there is none."""
    found: dict[Case, None] = {}
    for case in CASES:
        if options.package in {None, case.package} and options.mechanism in {None, case.mechanism}:
            given = {name: getattr(options, name) for name in ("epsilon", "space") if getattr(options, name)}
            found[dataclasses.replace(case, **given, note="" if given else case.note)] = None
    if not found:
        message = f"{options.package or 'no package'} has no mechanism {options.mechanism!r} here; see --help."
        raise ValueError(message)
    return list(found)


def machine() -> dict[str, Any]:
    """Return what the seconds depend on."""
    return {
        "processors": os.cpu_count(),
        "platform": platform.platform(),
        "python": platform.python_version(),
        "load_before": os.getloadavg()[0],
    }


def audited(case: Case, options: argparse.Namespace) -> dict[str, Any]:
    """Audit one mechanism; whatever goes wrong becomes the row's error."""
    say(f"{case.package} {case.version}: {case.mechanism} ...")
    start = time.perf_counter()
    given = client.words(case.space, options.size)
    epsilon = case.epsilon or least_gumbel(given.vectors)
    row: dict[str, Any] = dataclasses.asdict(case) | {"version": case.version, "epsilon": epsilon}
    row |= {"space": given.name, "words": len(given.names)}
    options.work.mkdir(parents=True, exist_ok=True)
    try:
        python = environment(options.work, Subject(case.package, "audit", case.mechanism, "", case.version))
        with tempfile.TemporaryDirectory(dir=options.work) as folder:
            here = Path(folder).resolve()
            with (
                client.opened(python, case, epsilon, given, here / "one", options.limit) as worker,
                client.opened(python, case, epsilon, given, here / "two", options.limit) as other,
            ):
                row |= examined(worker, other, given, epsilon, options)
    except (OSError, RuntimeError, dn.DeniableError) as error:
        row["error"] = " ".join(str(error).split()).replace("|", "/")
        say(f"  failed: {row['error']}")
    return row | {"seconds": time.perf_counter() - start}


def least_gumbel(vectors: client.Matrix) -> float:
    """Return a claim 10% above (5 + 2 ln n) / d, below which truncated Gumbel noise has no scale."""
    apart = np.linalg.norm(vectors[:, None, :] - vectors[None, :, :], axis=2)
    return float(math.ceil(1.1 * (5 + 2 * math.log(len(vectors))) / apart[apart > 0].min()))


def examined(
    worker: client.Worker, other: client.Worker, given: client.Words, epsilon: float, options: argparse.Namespace
) -> dict[str, Any]:
    """Return what the checks find; the comparison of fresh processes must be the first to draw."""
    rng = np.random.default_rng(options.seed)
    result: dict[str, Any] = {"repeated": checks.repeated(worker, other, given.names[:100])}
    points, result["metric"] = worker.points()
    space = dn.Space(given.names, points)
    usable = [name for name in given.names if name not in SPLIT]
    try:
        matrix, law = worker.law()
    except client.RefusedError:
        result |= black_box(worker, given, points, epsilon, options)
    else:
        verdict = dn.verify(matrix, space=space, epsilon=epsilon)
        usable = [name for name in usable if name not in law["raising"]]
        tested = rng.permutation(usable)[:TESTED].tolist()
        fit = checks.chi_square(worker, matrix, given.names, tested, options.draws)
        result |= {
            "checked": "exact law",
            "law": law | {"fit": fit},
            "verdict": plain(verdict),
            "samples": fit["draws"],
        }
        result["zeros"] = float((matrix == 0).mean())
        result["floored"] = verdict.status == "refuted" and bool(((matrix > 0) & (matrix < FLOOR)).any())
        if not (matrix > 0).all():
            result["same_sets"] = checks.same_sets(matrix)
    result["unknown"] = checks.unknown(worker, usable, 100)
    return result | {"calls": worker.calls, "raised": worker.raised}


def black_box(
    worker: client.Worker, given: client.Words, points: client.Matrix, epsilon: float, options: argparse.Namespace
) -> dict[str, Any]:
    """Return the audit of the sampler on nearest pairs of words."""
    number = {name: i for i, name in enumerate(given.names)}
    pairs = given.nearest(points)
    apart = [float(np.linalg.norm(points[number[w]] - points[number[v]])) for w, v in pairs]
    samples = options.samples or (60_000 if given.pairs else 6_000)
    verdict = dn.audit(
        worker.draw, pairs=pairs, distance=apart, claim=epsilon, samples=samples, batched=True, seed=options.seed
    )
    return {"checked": f"black box, {len(pairs)} pairs", "verdict": plain(verdict), "samples": verdict.samples}


def plain(verdict: dn.Verdict) -> dict[str, Any]:
    """Return a verdict as a record, with the status of a law that spends just its claim."""
    status = verdict.status
    if status == "undecided" and verdict.epsilon <= verdict.claim * (1 + SLACK):
        status = "proved"
    return dataclasses.asdict(verdict) | {"status": status, "witness": verdict.witness and str(verdict.witness)}


def finite(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return a JSON value with numbers that are not finite as text."""
    if isinstance(value, dict):
        return {name: finite(held) for name, held in value.items()}
    if isinstance(value, list | tuple):
        return [finite(held) for held in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


if __name__ == "__main__":
    main()
