"""Membership attacks on a TF-IDF classifier of film reviews: how much they find, and how long they take.

    python benchmarks/membership.py --data DIR

DIR holds ``imdb_train.parquet`` with columns text and label. Sixteen models on random halves of the reviews, each
attacked in turn; see `deniable.measure.measure_membership`.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from deniable.measure.membership import measure_membership


def main() -> None:
    """Print one row of a markdown table for each attack."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--reviews", type=int, default=12_500)
    parser.add_argument("--shadows", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    table = pq.read_table(options.data / "imdb_train.parquet", columns=["text", "label"])
    chosen = np.random.default_rng(options.seed).permutation(len(table))[: options.reviews]
    texts = table.column("text").take(chosen).to_pylist()
    codes = np.array(table.column("label").take(chosen).to_pylist())
    print(f"{len(texts):,} reviews, {options.shadows} models, seed {options.seed}\n")
    print("| attack | seconds | AUC | TPR at 0.1% FPR | TPR at 1% FPR |\n|---|---|---|---|---|")
    for attack in ("lira", "rmia", "shadow"):
        start = time.perf_counter()
        found = measure_membership(texts, codes, attack=attack, shadows=options.shadows, seed=options.seed)["original"]
        seconds = time.perf_counter() - start
        shares = " | ".join(found.tpr[rate].format_percent() for rate in (0.001, 0.01))
        print(f"| {attack} | {seconds:.0f} | {found.auc} | {shares} |")


if __name__ == "__main__":
    main()
