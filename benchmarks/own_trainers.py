"""What the audits of training see of this package's own trainers, at their claims and with too little noise.

    python benchmarks/own_trainers.py [--only NAME ...]

The trainers and the data are those of `tests/slow_audits`, which the tests run by ``pytest -m slow``. For each trainer
one row of a markdown table: the claim; the largest movement of any of its sums by one unit, over the bound that its
noise is made for, of how many pairs of neighbours at the same noisy sums; the lower bound on epsilon of many runs on a
worst-case pair at 99.9% confidence, the epsilon that would have been refuted nine times in ten, the number of runs;
the lower bound of the same trainer with a part of its noise, which must refute the claim; and the seconds of processor
time that all of it took. Exits with 1 if a trainer is refuted at its noise, or not refuted with too little.
"""

import argparse
import sys
import time
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.slow_audits.cases import CONFIDENCE, TrainerAudit, compare_neighbours  # noqa: E402
from tests.slow_audits.claims import ALL_AUDITS, TRAINING_AUDITS  # noqa: E402
from tests.slow_audits.rewriting import compute_pair_ratio  # noqa: E402

HEADINGS = (
    "trainer",
    "claim",
    "unit",
    "sum moved / allowed",
    "pairs",
    "epsilon >=",
    "detectable",
    "runs",
    "with less noise: share, runs, epsilon >=",
    "CPU seconds",
)


def main() -> None:
    """Audit and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", help="names of trainers (default: all)")
    only = parser.parse_args().only
    torch.set_num_threads(1)
    print(f"{CONFIDENCE:.1%} confidence\n")
    print("| " + " | ".join(HEADINGS) + " |\n|" + " --- |" * len(HEADINGS))
    has_failed = False
    for audit in (audit for audit in ALL_AUDITS if not only or audit.name in only):
        row, is_as_expected = audit_trainer(audit)
        print(row, flush=True)
        has_failed |= not is_as_expected
    sys.exit(has_failed)


def audit_trainer(audit: TrainerAudit) -> tuple[str, bool]:
    """Return the row of one trainer, and whether it is as it must be."""
    start = time.process_time()
    moved, pairs, is_exact = measure_movement(audit)
    cells = [str(audit), str(audit.claim), audit.claim.unit, moved, pairs]
    if not audit.runs:
        cells += [f"as {audit.measured_as}", "", "", ""]
        return format_row([*cells, f"{time.process_time() - start:.0f}"]), is_exact
    verdict, weak = audit.audit(), audit.audit_with_little_noise()
    cells += [f"{verdict.lower_bound:.2f}", f"{verdict.detectable_epsilon:.2f}", f"{audit.runs:,}"]
    cells += [f"{audit.weak_share:g}, {audit.weak_runs:,}, {weak.lower_bound:.2f}"]
    is_as_expected = is_exact and (verdict.status, weak.status) == ("not refuted", "refuted")
    return format_row([*cells, f"{time.process_time() - start:.0f}"]), is_as_expected


def measure_movement(audit: TrainerAudit) -> tuple[str, str, bool]:
    """Return the largest ratio, the number of pairs, and whether both are as they must be."""
    if audit in TRAINING_AUDITS:
        findings = compare_neighbours(audit)
        is_exact = findings.ratio <= 1 and not findings.differing
        return format_ratio(findings.ratio), str(findings.neighbours), is_exact
    if audit.name.startswith("tokens"):
        return "no sum", "", True
    ratio = compute_pair_ratio(audit.name)
    return format_ratio(ratio), "28", ratio <= 1


def format_ratio(ratio: float) -> str:
    """Return a ratio whose distance from 1 is not rounded away."""
    if ratio == 1:
        return "1"
    return f"1 - {1 - ratio:.0e}" if 0 < 1 - ratio < 5e-5 else f"{ratio:.4f}"  # noqa: PLR2004 - four digits


def format_row(cells: list[str]) -> str:
    """Return one line of the table."""
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
