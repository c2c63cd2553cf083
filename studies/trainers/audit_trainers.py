"""Audit published trainers of differential privacy: do they keep the epsilon that they report?

    python studies/trainers/audit_trainers.py
    python studies/trainers/audit_trainers.py --packages opacus fastDP --json FILE
    python studies/trainers/audit_trainers.py --packages private-transformers --parts game --games 2000

Each package runs unchanged in an environment of its own, driven by its adapter in this folder. Parts:

- train: one training with canaries by fair coins. Each has a weight of its own. All weights after all steps are seen,
  as the claims allow. Canaries are judged against the epsilon that the package itself reports; and from the batches
  that were drawn, the epsilon of that scheme is recomputed, from below and from above, on the worst data.
- sensitivity: how far one record moves the sum of clipped gradients, per clipping norm C.
- seeds: whether two fresh processes, given no seed, leave the same weights bit for bit.
- repeat (diffprivlib): many fits on two small data sets that differ in a record.
- game (packages that shuffle, not by default): many trainings on the data that shuffled batches protect worst.

Only confidence is chance: facts and recomputed epsilons are exact for exact arithmetic, canaries and games hold with
confidence 95% each. What is found is kept in the file of `--json`, so that parts can be run one after another.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rates import EventCounts
from subjects import CASES, SUBJECTS, Case, Sampling, Subject

import deniable as dn
from deniable.accounting.training import TrainingPlan, bound_epsilon
from deniable.auditing.games import Claim
from deniable.auditing.training.batches import classify_batches
from deniable.auditing.training.bounds import judge_scores, plan_guesses
from deniable.core.guarantees import EMPTY_RECORD, Guarantee

HERE = Path(__file__).resolve().parent
PARTS = ("train", "sensitivity", "seeds", "repeat", "game")
ALPHA = 0.05
CHOICE_SHARE = 0.3
EVENT_SHARES = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8)
UNSEEN = "batches not seen; as documented"
ROUNDING = 1e-3
"""Of sums in float32, and of accountants that round: no verdict rests on less."""
COMMON = {"batch": 8, "epochs": 1, "noise": 0.7, "rate": 0.002, "delta": 1e-5, "epsilon": 1.0, "records": 500}
GAME = COMMON | {"records": 200, "batch": 1, "norm": 1000.0, "noise": 0.6, "delta": 0.01}
"""At this large delta some thousand trainings suffice to tell shuffled batches from Poisson samples."""
REPEATS = {
    "LinearRegression, one record x = 1": (0.3, {"scheme": "linear", "norm": 1.0, "records": 0}),
    "LogisticRegression, one record of norm 100": (1.0, {"scheme": "logistic", "norm": 100.0, "records": 0}),
}
"""By name: which share of the fits that are asked for, and the task."""
Floats = np.ndarray[Any, np.dtype[np.float64]]
Bools = np.ndarray[Any, np.dtype[np.bool_]]
Found = dict[str, Any]
HEADER = (
    "package", "version", "use", "claim", "accountant assumes", "scheme found", "epsilon recomputed", "sum moved / C",
    "canaries: at least", "would detect", "verdict",
)  # fmt: skip
EXTRA_HEADER = ("package", "use", "what was tried", "claim", "found", "verdict")


def main(arguments: list[str] | None = None) -> None:
    """Audit, keep what is found, and print two tables."""
    parser = make_parser()
    options = parser.parse_args(arguments)
    try:
        found: Found = json.loads(options.json.read_text()) if options.json and options.json.exists() else {}
        jobs = [(case, part) for case in CASES if case.subject.name in options.packages for part in options.parts]
        with concurrent.futures.ThreadPoolExecutor(options.workers) as pool:
            futures = [pool.submit(audit_part, case, part, options) for case, part in jobs if is_due(case, part)]
            for future in concurrent.futures.as_completed(futures):
                found |= future.result()
                if options.json:
                    options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        show_tables(found)
    except (OSError, ValueError, dn.DeniableError) as error:
        parser.exit(2, f"{parser.prog}: {' '.join(str(error).split())}\n")


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--packages", nargs="*", choices=sorted(SUBJECTS), default=list(SUBJECTS), help="only these (default: all)")
    add("--parts", nargs="*", choices=PARTS, default=list(PARTS[:4]), help="only these (default: all but game)")
    add("--environments", type=Path, default=Path("trainer-environments"), metavar="DIR", help="where the packages' "
        "environments are, or are made by pip, by name (default: %(default)s)")  # fmt: skip
    add("--canaries", type=int, default=500, help="coins of a training (default: %(default)s)")
    add("--repeats", type=int, default=2000, help="fits of the part repeat (default: %(default)s)")
    add("--games", type=int, default=1000, help="trainings of the part game (default: %(default)s)")
    add("--limit", type=float, default=600.0, help="seconds after which a process is stopped (default: 600)")
    add("--workers", type=int, default=2, help="processes at a time (default: %(default)s)")
    add("--json", type=Path, metavar="FILE", help="keep what is found there, and show what earlier runs found too")
    return parser


def is_due(case: Case, part: str) -> bool:
    """Return whether a part exists for a way of use."""
    package = case.subject.name
    is_first = case is next(other for other in CASES if other.subject is case.subject)
    return {
        "train": True,
        "sensitivity": package != "diffprivlib" and is_first,
        "seeds": is_first,
        "repeat": package == "diffprivlib" and is_first,
        "game": package != "diffprivlib" and not case.documented and "copies" not in case.options,
    }[part]


def audit_part(case: Case, part: str, options: argparse.Namespace) -> Found:
    """Return what a part finds, by name; a package that fails is a finding."""
    start = time.perf_counter()
    try:
        python = find_environment(options.environments, case.subject)
        found = {
            "train": lambda: train(case, python, options),
            "sensitivity": lambda: compare(case, python, options),
            "seeds": lambda: repeat_process(case, python, options),
            "repeat": lambda: repeat_fits(case, python, options),
            "game": lambda: play(case, python, options),
        }[part]()
    except (OSError, TypeError, ValueError, subprocess.SubprocessError, dn.DeniableError) as error:
        found = {"error": " ".join(str(error).split())[-300:].replace("|", "/")}
    found |= {"package": case.subject.name, "use": case.label, "part": part, "seconds": time.perf_counter() - start}
    sys.stderr.write(f"{case.key}, {part}: {found['seconds']:.0f} s {found.get('error', '')}\n")
    return {f"{case.key}, {part}": found}


def find_environment(folder: Path, subject: Subject) -> Path:
    """Return the interpreter of a package's environment, made by pip the first time."""
    python = folder.resolve() / subject.name / "bin" / "python"
    if not python.exists():
        venv.create(folder / subject.name, with_pip=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *subject.install], check=True)
    return python


def run_adapter(
    case: Case, python: Path, options: argparse.Namespace, task: Found
) -> tuple[Found, dict[str, np.ndarray[Any, Any]]]:
    """Run one process, and return its answer and its arrays."""
    with tempfile.TemporaryDirectory() as folder:
        given = {"package": case.subject.name, "scheme": case.scheme} | case.options | task | {"folder": folder}
        command = [str(python), str(HERE / f"{case.subject.script}.py"), json.dumps(given)]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=options.limit,
            env=environment | {"OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        if done.returncode:
            message = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
            raise ValueError(message[0])
        arrays: dict[str, np.ndarray[Any, Any]] = {}
        for file in Path(folder).glob("*.np[yz]"):
            loaded = np.load(file)
            arrays |= {file.stem: loaded} if file.suffix == ".npy" else dict(loaded)
        return parse_answer(done.stdout), arrays


def parse_answer(text: str) -> Found:
    """Return the JSON object of an adapter's last line; ValueError if there is none."""
    lines = text.strip().splitlines()
    try:
        answer = json.loads(lines[-1])
    except (IndexError, json.JSONDecodeError) as error:
        message = f"the adapter gave no answer: {text[-100:]!r}"
        raise ValueError(message) from error
    if not isinstance(answer, dict):
        message = f"the adapter gave no object: {lines[-1][:100]}"
        raise TypeError(message)
    return answer


def make_task(case: Case, **more: Any) -> Found:  # noqa: ANN401 - of many kinds
    """Return the task of a training; where a trainer has a seed by default, one with a secret seed."""
    return COMMON | {"fresh_seed": case.subject.uses_default_seed} | case.options | more


def draw_coins(count: int) -> list[bool]:
    """Return fair coins from the system's generator."""
    return [bool(bit & 1) for bit in os.urandom(count)]


def train(case: Case, python: Path, options: argparse.Namespace) -> Found:
    """Train once, judge the canaries, and recompute epsilon for the scheme that was seen."""
    coins = draw_coins(options.canaries)
    task = make_task(case, included=coins)
    answer, arrays = run_adapter(case, python, options, task)
    facts, (epsilon, delta) = answer["facts"], read_claim(answer["facts"])
    scheme, note = name_scheme(case, arrays, facts["records"])
    is_descent = "divisor" in facts
    scores = score_canaries(arrays, facts, task) if is_descent else np.array(answer["scores"])
    source = f"reported by {answer['package']} {answer['version']}"
    guarantee = Guarantee(epsilon, source, "claimed", delta=delta, adjacency=EMPTY_RECORD)
    claim, plan = Claim(guarantee, 1 - ALPHA), plan_guesses(len(coins), None)
    verdict = judge_scores(claim, np.array(coins, dtype=bool), scores, plan, "one training run")
    return {
        "version": answer["version"],
        "epsilon": epsilon,
        "delta": delta,
        "facts": facts,
        "warnings": answer["warnings"],
        "scheme": scheme,
        "scheme_note": note,
        "recomputed": recompute(task, facts, scheme, delta) if is_descent and scheme else None,
        "canaries": {
            "lower": verdict.lower_bound,
            "detectable": finite_or_none(verdict.detectable_epsilon),
        },
    }


def read_claim(facts: Found) -> tuple[float, float]:
    """Return epsilon and delta that a package reports: the larger one where it states two."""
    epsilon = max(facts["epsilons"]) if "epsilons" in facts else facts["epsilon"]
    return float(epsilon), float(facts["delta"])


def finite_or_none(value: float | None) -> float | None:
    """Return a number that JSON can hold."""
    return value if value is not None and math.isfinite(value) else None


def name_scheme(case: Case, arrays: dict[str, Any], records: int) -> tuple[Sampling | None, str]:
    """Return the scheme of the batches that were drawn, or the one documented where they are not seen."""
    sizes = arrays.get("sizes", [])
    if not len(sizes):
        return case.documented, UNSEEN
    batches = np.split(arrays["places"], np.cumsum(sizes)[:-1])
    shown = classify_batches(batches, records)
    return shown.scheme, shown.note


def score_canaries(arrays: dict[str, Any], facts: Found, task: Found) -> Floats:
    """Return for each canary the log likelihood ratio of its weight's changes, for coins of chance batch / records."""
    weights = arrays["weights"][:, -len(task["included"]) :].astype(np.float64)
    whole = task["batch"] * task["accumulation"] if "accumulation" in task else task["batch"]
    divisors = arrays["sizes"][:, None] if isinstance(facts["divisor"], str) else float(facts["divisor"])
    moved = np.diff(weights, axis=0) * divisors / (task["rate"] * facts["clip"])
    # The sign of a label: as the adapters' data draw it.
    labels = np.random.default_rng(0).integers(0, 2, task["records"] + len(task["included"]))[task["records"] :]
    loss = compute_losses(moved * (2 * labels - 1), facts["noise"], min(whole / facts["records"], 1.0))
    return np.asarray(loss.sum(axis=0))


def compute_losses(moved: Floats, noise: float, rate: float) -> Floats:
    """Return the privacy loss of each output of a Poisson-sampled Gaussian."""
    return np.asarray(
        np.logaddexp(math.log1p(-rate) if rate < 1 else -np.inf, math.log(rate) + (moved - 0.5) / noise**2)
    )


def recompute(task: Found, facts: Found, scheme: Sampling, delta: float) -> Found:
    """Return between which numbers the epsilon of a scheme lies, also where an epoch drops its last records."""
    batch = task["batch"] * task.get("accumulation", 1)
    records = facts["records"] - facts.get("left_out", 0)
    plan = TrainingPlan(scheme, records, batch, facts["steps"], facts["noise"], facts["clip"])
    batches = records // batch
    if scheme == "shuffled" and records % batch and facts["steps"] == task["epochs"] * batches:
        found = bound_epsilon(plan, delta, batches=batches, presence=batches * batch / records)
    else:
        found = bound_epsilon(plan, delta)
    return {"lower": found.lower, "upper": found.upper, "ground": found.ground}


def compare(case: Case, python: Path, options: argparse.Namespace) -> Found:
    """Measure how far one record moves the clipped sum."""
    task = make_task(case, included=[True], kind="sensitivity")
    found = {"records": run_adapter(case, python, options, task)[0]}
    if case.subject.name == "dp-transformers":
        found["texts"] = run_adapter(case, python, options, task | {"scheme": "tokens"})[0]
    return {"sums": found}


def repeat_process(case: Case, python: Path, options: argparse.Namespace) -> Found:
    """Train in two fresh processes on the same data, with no seed given, and compare the weights."""
    task = make_task(case, included=[True, False] * 10, fresh_seed=False)
    weights = [run_adapter(case, python, options, task)[1]["weights"][1:] for _ in range(2)]
    return {"equal": int((weights[0] == weights[1]).all(axis=1).sum()), "steps": len(weights[0])}


def repeat_fits(case: Case, python: Path, options: argparse.Namespace) -> Found:
    """Fit two small data sets many times, and judge |coefficient|."""
    found = {}
    for name, (share, task) in REPEATS.items():
        coins = draw_coins(round(share * options.repeats))
        given = COMMON | task | {"kind": "repeat", "included": coins}
        values = run_adapter(case, python, options, given)[1]["coefficients"]
        found[name] = {"epsilon": COMMON["epsilon"]} | judge_event(np.abs(values), np.array(coins), 0.0)
    return {"repeats": found}


def play(case: Case, python: Path, options: argparse.Namespace) -> Found:
    """Train many times on the data that shuffled batches protect worst."""
    coins = draw_coins(options.games)
    task = GAME | {"kind": "game", "included": coins, "fresh_seed": case.subject.uses_default_seed}
    answer, arrays = run_adapter(case, python, options, task)
    epsilon, delta = read_claim(answer["facts"])
    scores = score_traces(arrays["traces"], answer["facts"]["noise"])
    return {"version": answer["version"], "epsilon": epsilon, "delta": delta} | judge_event(
        scores, np.array(coins), delta
    )


def score_traces(traces: Floats, noise: float) -> Floats:
    """Return the log likelihood ratio of shuffled batches of one record; the others move a weight by -1 each."""
    x, variance = traces + 1, noise**2
    joined = [np.logaddexp.reduce((x * shift - shift**2 / 2) / variance, axis=1) for shift in (2.0, 1.0)]
    return np.asarray(joined[0] - joined[1])


def judge_event(values: Floats, coins: Bools, delta: float) -> Found:
    """Return a lower bound on epsilon from one event, which the first runs choose and the others count."""
    first = round(CHOICE_SHARE * len(coins))
    chosen, judged = slice(0, first), slice(first, None)
    events = [
        (sign, float(np.quantile(sign * values[chosen], 1 - share))) for sign in (1, -1) for share in EVENT_SHARES
    ]
    best = max(
        ((turn, *event) for turn in (False, True) for event in events),
        key=lambda event: count_event(values[chosen], coins[chosen], *event).estimate_strength(ALPHA),
    )
    counts = count_event(values[judged], coins[judged], *best)
    turn, sign, threshold = best
    return {
        "lower": counts.bound_epsilon(delta, ALPHA),
        "event": f"{'at least' if sign > 0 else 'at most'} {sign * threshold:.4g}",
        "rates": [
            [int(counts.without_record), counts.runs_without] if turn else [int(counts.with_record), counts.runs_with],
            [int(counts.with_record), counts.runs_with] if turn else [int(counts.without_record), counts.runs_without],
        ],
    }


def count_event(values: Floats, coins: Bools, turn: bool, sign: int, threshold: float) -> EventCounts:  # noqa: FBT001 - a role
    """Return how often an event happened; turned, the data without the record play the part of those with it."""
    happened, ours = sign * values >= threshold, coins != turn
    return EventCounts(int(happened[ours].sum()), int(happened[~ours].sum()), int(ours.sum()), int((~ours).sum()))


@dataclass(frozen=True)
class Grounds:
    """What a verdict on a training rests on."""

    epsilon: float
    recomputed: Found | None
    ratio: float | None
    canaries: float
    equal: bool
    repeated: int
    runs: float = 0.0  # what many runs bound, less their claim
    is_exact: bool = False  # something is released without noise
    is_unseen: bool = False  # the scheme is as documented

    def judge(self) -> str:
        """Return the verdict in words."""
        against = []
        if self.equal:
            against.append("noise repeats")
        if self.recomputed and self.recomputed["lower"] > self.epsilon * (1 + ROUNDING):
            against.append("scheme, as documented" if self.is_unseen else "scheme")
        if self.ratio is not None and self.ratio > 1 + ROUNDING:
            against.append("sum")
        if self.canaries > self.epsilon:
            against.append("canaries")
        if self.runs > 0:
            against.append("many runs")
        if self.is_exact:
            against.append("sums without noise")
        if against:
            return f"refuted: {', '.join(against)}"
        return "outside the accounting: a record twice in a step" if self.repeated else "not refuted"


def make_row(found: Found, key: str) -> list[str]:
    """Return the row of a training."""
    row = found[key]
    package, use = row["package"], row["use"]
    if "error" in row:
        return [package, "-", use, *["-"] * 7, f"could not be run: {row['error']}"]
    same = [item for item in found.values() if item["package"] == package and "error" not in item]
    sums: Found = next((item["sums"] for item in same if "sums" in item), {})
    equal = any(item["equal"] > 0 for item in same if "equal" in item)
    recomputed, canaries = row["recomputed"], row["canaries"]
    ratios = [answer["ratio"] for answer in sums.values()]
    repeated = row["facts"].get("repeated", 0)
    grounds = Grounds(
        row["epsilon"], recomputed, max(ratios, default=None), canaries["lower"], equal, repeated, exceed(same, use),
        row["facts"].get("squares_without_noise", 0) > 0, row["scheme_note"] == UNSEEN,
    )  # fmt: skip
    return [
        package,
        row["version"],
        use,
        f"{row['epsilon']:.3g}, {row['delta']:g}",
        SUBJECTS[package].assumes,
        describe_scheme(row),
        f"{recomputed['lower']:.3g} to {recomputed['upper']:.3g}" if recomputed else "-",
        ", ".join(f"{ratio:.4g}" for ratio in ratios) or "-",
        f"{canaries['lower']:.2g}",
        f"{canaries['detectable']:.2g}" if canaries["detectable"] else "-",
        grounds.judge(),
    ]


def describe_scheme(row: Found) -> str:
    """Return the scheme that was found, and whether it was seen."""
    if not row["scheme"]:
        return f"none: {row['scheme_note']}"
    is_documented = row["scheme_note"] == UNSEEN and row["scheme"] != "all"
    return f"{row['scheme']}, as documented" if is_documented else str(row["scheme"])


def exceed(same: list[Found], use: str) -> float:
    """Return by how much many runs of a way of use exceed a claim at most; 0 if they do not."""
    games = [item for item in same if item["part"] == "game" and item["use"] == use]
    fits = [item for found in same for name, item in found.get("repeats", {}).items() if name.startswith(use)]
    return max([item["lower"] - item["epsilon"] for item in games + fits], default=0.0)


def make_extra_rows(row: Found) -> list[list[str]]:
    """Return the rows of the second table that a part gives."""
    head = [row["package"], row["use"]]
    if "error" in row:
        return [[*head, row["part"], "-", row["error"], "could not be run"]]
    if "equal" in row:
        found = f"{row['equal']} of {row['steps']} steps with the same weights"
        return [
            [*head, "two fresh processes, no seed given", "-", found, "noise repeats" if row["equal"] else "as due"]
        ]
    if "repeats" in row:
        return [[row["package"], name, *describe_event(item)] for name, item in row["repeats"].items()]
    if row["part"] == "game":
        return [[*head, *describe_event(row)]]
    if row["part"] == "train" and row["facts"].get("squares_without_noise"):
        facts = row["facts"]
        found = f"{facts['squares_without_noise']} of {facts['squares']}"
        return [[*head, "sums of squares that are released as they are", f"{row['epsilon']:g}", found, "refuted"]]
    return []


def describe_event(item: Found) -> list[str]:
    """Return what was tried, the claim, what was found, and the verdict."""
    (ours, of_ours), (theirs, of_theirs) = item["rates"]
    runs = f"{of_ours + of_theirs:,} runs judged: {item['event']} in {ours} of {of_ours} with the record, "
    found = f"{runs}{theirs} of {of_theirs} without; epsilon at least {item['lower']:.3g}"
    verdict = "refuted" if item["lower"] > item["epsilon"] else "not refuted"
    return ["worst data, many runs", f"{item['epsilon']:.3g}", found, verdict]


def show_tables(found: Found) -> None:
    """Print both tables."""
    write = sys.stdout.write
    write(f"{os.cpu_count()} processors; {platform.machine()}; Python {platform.python_version()}\n\n")
    order = [f"{case.key}, {part}" for part in PARTS for case in CASES if f"{case.key}, {part}" in found]
    first = [make_row(found, key) for key in order if found[key]["part"] == "train"]
    second = [row for key in order if found[key]["part"] != "train" or "error" not in found[key]
              for row in make_extra_rows(found[key])]  # fmt: skip
    for header, rows in ((HEADER, first), (EXTRA_HEADER, second)):
        for cells in (header, ["---"] * len(header), *rows):
            write(f"| {' | '.join(cells)} |\n")
        write("\n")


if __name__ == "__main__":
    main()
