"""How often audits refute: true claims at most one time in twenty, false ones as often as theory lets them.

    python benchmarks/audit_power.py [--audits 1000] [--cases coin,anytime] [--json FILE]

Every row is so many independent audits by `deniable.audit`, as a user calls it, at 95% confidence: the
share refuted with its 95% interval (Clopper-Pearson), the median number of samples used, and how many
audits abstained: ended with a bound of 0. Mechanisms of known loss are audited where the claim is true
(truth = 1 x claim, or within it), and where it is 20% and 100% too low. What to hold the shares against:

- truth = 1 x: at most 5%;
- truth = 2 x with 10,000 samples (case "abstain"): nearly always refuted, and at most 1 of 200 abstains;
- truth = 2 x: 90% with the samples given, half as many again as the 91 played trials (n = 1) and 2,500
  (n = 8) that the best attacker there is needs; a third of them is for fitting ours;
- known broken mechanisms at their claim: ADePT with some 1,000 samples, its stand-in with tens, DPText
  with 100.
"""

import argparse
import dataclasses
import json
import math
import multiprocessing
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import stats
from threadpoolctl import threadpool_limits

import deniable as dn
from deniable.published.adept.mechanism import ADePT
from deniable.published.dptext.mechanism import DPText
from deniable.vectors import Box, Laplace

Array = npt.NDArray[np.float64]
Sampler = Callable[[Any], Any]
Method = Literal["auto", "coin", "candidates", "pooled", "anytime", "precision"]

SEED = 20_220_524
LEVEL = 0.05
FACTORS = (1.0, 1.2, 2.0)
HEADINGS = (
    "mechanism",
    "method",
    "truth / claim",
    "asked",
    "samples",
    "refuted",
    "95% interval",
    "abstained",
    "reference",
)
_UNIT = Box(0.0, 1.0)


@dataclasses.dataclass(frozen=True)
class Case:
    """One kind of audit.

    Attributes:
        name: for --cases; several rows share one.
        mechanism: for the table.
        method: of the audit.
        samples: asked for; the budget of an anytime audit.
        inputs: of `deniable.audit`.
        sampler: from the true epsilon and a seed.
        truths: epsilon in truth, over the claim; or None, the mechanism's own.
        reference: from a truth to what to expect.
        claim: epsilon.
    """

    name: str
    mechanism: str
    method: Method
    samples: int
    inputs: dict[str, Any]
    sampler: Callable[[float, int], Sampler]
    truths: tuple[float, ...] = FACTORS
    reference: dict[float, str] = dataclasses.field(default_factory=dict)
    claim: float = 1.0


def laplace(epsilon: float, seed: int) -> Sampler:
    """Return the correct mechanism, on [0, 1]^n."""
    return Laplace(epsilon=epsilon, domain=_UNIT, seed=seed).sample


def unclipped(epsilon: float, seed: int) -> Sampler:
    """Return x + Lap(1 / epsilon), on a grid, for numbers from 0 to 16."""
    grid = Laplace(epsilon=16 * epsilon, domain=Box(0.0, 16.0), seed=seed)
    return lambda x: grid.sample(np.reshape(x, (-1, 1))).reshape(np.shape(x))


def float_laplace(_: float, seed: int) -> Sampler:
    """Return the textbook mechanism: x + numpy's noise of scale 1."""
    random = np.random.default_rng(seed)
    return lambda x: x + random.laplace(size=np.shape(x))


def response(epsilon: float, seed: int, size: int = 8) -> Sampler:
    """Return randomized response among ``size`` values, each 1 apart."""
    random = np.random.default_rng(seed)
    kept = math.exp(epsilon) / (math.exp(epsilon) + size - 1)

    def sampler(x: Array) -> Array:
        other = (x + random.integers(1, size, size=len(x))) % size
        return np.where(random.random(len(x)) < kept, x, other).astype(np.int64)

    return sampler


def leaky(epsilon: float, seed: int, delta: float = 0.02) -> Sampler:
    """Return randomized response of two values that shows its input with probability delta."""
    random = np.random.default_rng(seed)
    kept = 1 / (1 + math.exp(-epsilon))

    def sampler(x: Array) -> Array:
        shown, kind = random.random(len(x)) < delta, random.random(len(x)) < kept
        return np.where(shown, x + 2, np.where(kind, x, 1 - x)).astype(np.int64)

    return sampler


def stand_in(_: float, seed: int) -> Sampler:
    """Return the stand-in for ADePT: noise for one coordinate, n released."""
    noisy = Laplace(epsilon=1.0, domain=_UNIT, seed=seed)
    return lambda x: noisy.sample(x.reshape(-1, 1)).reshape(x.shape)


def _cube(n: int) -> dict[str, Any]:
    return {"x": np.zeros(n), "x_prime": np.ones(n)}


def _line(*ends: float) -> dict[str, Any]:
    return {"pairs": [(0.0, end) for end in ends], "distance": list(ends)}


def _corners(n: int) -> dict[str, Any]:
    x, x_prime = ADePT(epsilon=1.0).worst_pair(n)
    return {"x": x, "x_prime": x_prime}


_TRUE = {1.0: "at most 5%"}
_POWER = _TRUE | {2.0: "90% by the best attacker"}

CASES = (
    Case("coin", "Laplace, n = 1", "coin", 137, _cube(1), laplace, reference=_POWER),
    Case("coin", "Laplace, n = 8", "coin", 3_750, _cube(8), laplace, reference=_POWER),
    Case("auto", "Laplace, n = 1", "auto", 137, _cube(1), laplace, reference=_POWER),
    Case("auto", "Laplace, n = 1", "auto", 1_000, _cube(1), laplace, reference=_TRUE),
    Case(
        "pooled", "Laplace, distances 0.5 1 2 3", "pooled", 400, _line(0.5, 1.0, 2.0, 3.0), unclipped, reference=_TRUE
    ),
    Case(
        "candidates",
        "response among 8",
        "candidates",
        400,
        {"candidates": [float(i) for i in range(8)]},
        response,
        reference=_TRUE,
    ),
    Case(
        "delta",
        "response, shown with delta = 0.02",
        "coin",
        600,
        {"x": 0.0, "x_prime": 1.0, "delta": 0.02},
        leaky,
        reference=_TRUE,
    ),
    Case("anytime", "Laplace, n = 1", "anytime", 1_000, _cube(1), laplace, reference=_TRUE),
    Case("anytime", "Laplace, n = 8", "anytime", 6_000, _cube(8), laplace, reference=_TRUE),
    Case("precision", "Laplace of deniable, n = 1", "precision", 2_000, _cube(1), laplace, (1.0,), _TRUE),
    Case(
        "precision",
        "numpy's Laplace, n = 1",
        "precision",
        2_000,
        _cube(1),
        float_laplace,
        (math.inf,),
        {math.inf: "any number"},
    ),
    Case(
        "known",
        "ADePT, n = 8",
        "auto",
        1_000,
        _corners(8),
        lambda _, seed: ADePT(epsilon=1.0, seed=seed).sample,
        (math.sqrt(8),),
        {math.sqrt(8): "some 1,000"},
    ),
    Case("known", "stand-in for ADePT, n = 8", "auto", 35, _cube(8), stand_in, (8.0,), {8.0: "tens"}),
    Case("known", "stand-in for ADePT, n = 8", "anytime", 300, _cube(8), stand_in, (8.0,), {8.0: "tens"}),
    Case(
        "known",
        "DPText, n = 8",
        "auto",
        100,
        _cube(8),
        lambda _, seed: DPText(epsilon=1.0, seed=seed).sample,
        (math.inf,),
        {math.inf: "any number"},
    ),
    Case(
        "abstain",
        "Laplace, n = 1, claim 0.5",
        "coin",
        10_000,
        _cube(1),
        laplace,
        (1.0, 2.0),
        _TRUE | {2.0: "at most 1 of 200 abstain"},
        claim=0.5,
    ),
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Audit, print the table row by row, and write the JSON file."""
    parser = command_line()
    options = parser.parse_args(arguments)
    chosen = [case for case in CASES if options.cases is None or case.name in options.cases]
    print(f"{options.audits:,} audits a row, seed {options.seed}, 95% confidence; {machine()}\n")
    print("| " + " | ".join(HEADINGS) + " |\n|" + " --- |" * len(HEADINGS))
    start = time.perf_counter()
    rows = []
    try:
        # Fresh processes: a fork of a process with threads may hang.
        with multiprocessing.get_context("spawn").Pool(options.workers, _quiet) as pool:
            for case in chosen:
                for truth in case.truths:
                    rows.append(measured(pool, case, truth, options.audits, options.seed))
                    print(line(rows[-1]), flush=True)
        print(f"\n{time.perf_counter() - start:,.0f} s in all")
        if options.json:
            report = {"machine": machine(), "audits": options.audits, "seed": options.seed, "rows": rows}
            options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    except (OSError, dn.DeniableError) as error:
        parser.exit(2, f"{parser.prog}: {' '.join(str(error).split())}\n")


def command_line() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = list(dict.fromkeys(case.name for case in CASES))
    parser.add_argument("--audits", type=_count, default=1_000, help="for each row (default: %(default)s)")
    parser.add_argument("--cases", type=_listed(names), help=f"only these, of {','.join(names)}")
    parser.add_argument("--seed", type=_natural, default=SEED, help="of audits and mechanisms (default: %(default)s)")
    parser.add_argument("--workers", type=_count, default=os.cpu_count(), help="processes (default: all cores)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there too")
    return parser


def measured(pool: Any, case: Case, truth: float, audits: int, seed: int) -> dict[str, Any]:  # noqa: ANN401 - a Pool
    """Return one row: so many audits of one case at one truth."""
    number = CASES.index(case)
    jobs = [(number, truth, seed, audit) for audit in range(audits)]
    verdicts = pool.starmap(audited, jobs, chunksize=max(1, min(20, audits // 8)))
    refuted = sum(found for found, _, _ in verdicts)
    low, high = stats.binomtest(refuted, audits).proportion_ci(0.95)
    return {
        "mechanism": case.mechanism,
        "method": case.method,
        "truth": "infinite" if math.isinf(truth) else truth,
        "asked": case.samples,
        "samples": statistics.median(used for _, used, _ in verdicts),
        "refuted": refuted / audits,
        "interval": [float(low), float(high)],
        "abstained": sum(abstained for _, _, abstained in verdicts),
        "reference": case.reference.get(truth, ""),
    }


def audited(number: int, truth: float, seed: int, audit: int) -> tuple[bool, int, bool]:
    """Return whether one audit refutes, the samples it used, and whether it abstained.

    Its coins and the noise have seeds of their own.
    """
    case = CASES[number]
    coins, noise = (int(s) for s in np.random.SeedSequence([seed, number, audit]).generate_state(2))
    verdict = dn.audit(
        case.sampler(truth * case.claim, noise),
        claim=case.claim,
        samples=case.samples,
        method=case.method,
        confidence=1 - LEVEL,
        batched=True,
        seed=coins,
        **case.inputs,
    )
    return verdict.status == "refuted", verdict.samples, verdict.lower_bound == 0


def line(row: dict[str, Any]) -> str:
    """Return one line of the table."""
    low, high = row["interval"]
    truth = row["truth"] if isinstance(row["truth"], str) else f"{row['truth']:.3g}"
    cells = (
        row["mechanism"],
        row["method"],
        truth,
        f"{row['asked']:,}",
        f"{row['samples']:,.0f}",
        f"{row['refuted']:.1%}",
        f"{low:.1%} to {high:.1%}",
        f"{row['abstained']:,}",
        row["reference"],
    )
    return f"| {' | '.join(cells)} |"


def machine() -> str:
    """Return what the time depends on."""
    return f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}"


def _quiet() -> None:
    """Let the worker processes share the cores."""
    threadpool_limits(1)


def _count(text: str) -> int:
    return _whole(text, 1)


def _natural(text: str) -> int:
    return _whole(text, 0)


def _whole(text: str, least: int) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < least:
        raise argparse.ArgumentTypeError(f"must be an int of at least {least}. Got {text!r}.")
    return int(text)


def _listed(names: Sequence[str]) -> Callable[[str], list[str]]:
    def parse(text: str) -> list[str]:
        given = text.split(",")
        if unknown := [name for name in given if name not in names]:
            raise argparse.ArgumentTypeError(f"must be of {', '.join(names)}. Got {unknown[0]!r}.")
        return given

    return parse


if __name__ == "__main__":
    main(sys.argv[1:])
