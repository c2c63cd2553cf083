"""How often audits of training refute: true claims at most one time in twenty, false ones as their power says.

    python benchmarks/training_audit_power.py [--audits 1000] [--violations 200] [--epsilons 1,4] [--workers 2]

Training is simulated by the mechanism that leaks most at its claim: each canary has a number of its own, 1 if it is
there and 0 if not, released with Gaussian noise on a grid (``gaussian``) or by randomized response (``any``). One run
has 1,000 canaries, ``losses`` 100 in each of 10 runs on top of levels that differ between canaries, and the worst case
one in 1,000 runs, whose every update is released in four steps. Each audit draws fresh coins and noise from its own
seed, and judges at delta 1e-5 and 95% confidence. *Refuted at 2 x*: the true epsilon is twice the claim. The share in
brackets is that of *detectable*, the epsilon that the verdict itself calls detectable: it should be about 90% for the
best attacker, and less where ours spends runs on its choice.
"""

import argparse
import dataclasses
import functools
import multiprocessing
import platform
import time
from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import special, stats

import deniable as dn
from deniable.accounting.gaussian import compute_noise_ratio
from deniable.core.guarantees import Verdict

Array = npt.NDArray[np.float64]
Method = Literal["one-run", "losses", "worst-case"]
Noise = Literal["any", "gaussian"]
CONFIDENCE, DELTA = 0.95, 1e-5
FACTORS = (1.5, 2.0, 4.0)
_RUNS = {"one-run": 1, "losses": 10, "worst-case": 1_000}
_CANARIES = {"one-run": 1_000, "losses": 100, "worst-case": 1}
_STEPS = 4
_GRID = 1 << 20


@dataclasses.dataclass(frozen=True)
class Audit:
    """One audit of a simulated training.

    Attributes:
        method: of `deniable.audit_training`.
        noise: of the training and of the claim.
        claim: epsilon claimed.
        truth: epsilon of the noise.
        seed: of everything.
    """

    method: Method
    noise: Noise
    claim: float
    truth: float
    seed: int


def main() -> None:
    """Print a markdown table."""
    options = parse_options()
    epsilons = [float(value) for value in options.epsilons.split(",")]
    start = time.perf_counter()
    print(f"{platform.machine()}, Python {platform.python_version()}, delta {DELTA:g}, 95% confidence\n")
    factors = [f"refuted at {factor:g} x" for factor in FACTORS]
    headings = ("method", "noise", "claim", "runs x canaries", "false alarms", "95% interval", "detectable", *factors)
    print("| " + " | ".join(headings) + " |\n|---|---|" + "---:|" * (len(headings) - 2))
    with multiprocessing.get_context("spawn").Pool(options.workers) as pool:
        for method in _RUNS:
            for noise in ("any", "gaussian"):
                for claim in epsilons:
                    row = measure_row(pool.imap, Audit(method, noise, claim, claim, 0), options)  # type: ignore[arg-type]  # names of the literals
                    print(f"| {' | '.join(row)} |", flush=True)
    print(f"\n{time.perf_counter() - start:.0f} s")


def parse_options() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--audits", type=int, default=1_000, help="of true claims, a row (default: %(default)s)")
    parser.add_argument("--violations", type=int, default=200, help="audits of each violation (default: %(default)s)")
    parser.add_argument("--epsilons", default="1,4", help="claims (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="processes (default: %(default)s)")
    return parser.parse_args()


def measure_row(
    run_all: Callable[[Callable[[Audit], bool], list[Audit]], Iterator[bool]], audit: Audit, options: argparse.Namespace
) -> list[str]:
    """Return the cells of a method at a claim."""
    alarms = sum(run_all(is_refuted, [dataclasses.replace(audit, seed=seed) for seed in range(options.audits)]))
    detectable = float(run_audit(audit).detectable_epsilon or np.inf)
    interval = stats.binomtest(alarms, options.audits).proportion_ci()
    runs, canaries = _RUNS[audit.method], _CANARIES[audit.method]
    cells = [
        audit.method,
        audit.noise,
        f"{audit.claim:g}",
        f"{runs:,} x {canaries:,}",
        f"{alarms} of {options.audits:,}",
    ]
    cells.append(f"{100 * interval.low:.1f}% to {100 * interval.high:.1f}%")
    shares = []
    for truth in [factor * audit.claim for factor in FACTORS] + ([detectable] if np.isfinite(detectable) else []):
        audits = [dataclasses.replace(audit, truth=truth, seed=10**6 + seed) for seed in range(options.violations)]
        shares.append(f"{100 * sum(run_all(is_refuted, audits)) / options.violations:.0f}%")
    cells.append(f"{detectable:.3g} ({shares.pop()})" if np.isfinite(detectable) else "none")
    return [*cells, *shares]


def is_refuted(audit: Audit) -> bool:
    """Return whether an audit refutes."""
    return run_audit(audit).status == "refuted"


def run_audit(audit: Audit) -> Verdict:
    """Return the verdict of one audit."""
    canaries = list(range(_CANARIES[audit.method]))
    options: dict[str, Any] = {} if audit.method == "one-run" else {"runs": _RUNS[audit.method]}
    return dn.audit_training(
        functools.partial(_train_in_steps if audit.method == "worst-case" else _train_scores, audit),
        [],
        canaries,
        claim=audit.claim,
        delta=DELTA,
        method=audit.method,
        noise=audit.noise,
        confidence=CONFIDENCE,
        seed=audit.seed,
        **options,
    )


def _train_scores(audit: Audit, records: list[int], seed: int) -> Array:
    """Return what is released of every canary, beside the level of its own that only losses meet."""
    present = np.zeros(_CANARIES[audit.method])
    present[records] = 1
    levels = 0.0 if audit.method == "one-run" else 20 * np.random.default_rng(audit.seed).standard_normal(len(present))
    released: Array = _release(audit, present, seed, 1) + levels
    return released


def _train_in_steps(audit: Audit, records: list[int], seed: int) -> Iterator[Array]:
    """Yield what each step releases; by randomized response the first one shows all."""
    random = np.random.default_rng(seed)
    for number in range(_STEPS if audit.noise == "gaussian" else 1):
        yield _release(audit, np.array([float(len(records))]), [int(random.integers(2**62)), number], _STEPS)


def _release(audit: Audit, present: Array, seed: int | list[int], steps: int) -> Array:
    random = np.random.default_rng(seed)
    if audit.noise == "any":
        flips = random.random(len(present)) >= special.expit(audit.truth)
        released: Array = np.where(flips, 1 - present, present)
        return released
    deviation = compute_noise_ratio(audit.truth, DELTA) * np.sqrt(steps)
    noisy: Array = np.round(_GRID * (present + deviation * random.standard_normal(len(present)))) / _GRID
    return noisy


if __name__ == "__main__":
    main()
