"""Writers that share one ledger and are killed at random: is an output ever without its charge, or a budget exceeded?

    python benchmarks/ledger_soak.py --seconds 600 --where /tmp/soak.db
    python benchmarks/ledger_soak.py --seconds 600 --where postgresql://owner@/db?host=/run/postgresql

Six processes release texts of 200 persons in batches, again and again the same ones among new ones, and write every
output to a file of their own before the next batch. Meanwhile one of them is killed (SIGKILL) every fraction of a
second, and started again. At the end every output that was written is released once more: all of them must have been
charged before, and come out equal; sums must be right, and nobody above the cap.
"""

import argparse
import json
import multiprocessing
import random
import secrets
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from multiprocessing.context import ForkProcess
from pathlib import Path

import numpy as np

import deniable as dn
from deniable.core.errors import BudgetExceeded
from deniable.ledger import create_ledger
from deniable.text.batches import CellBatch

WRITERS, PERSONS, TEXTS_PER_PERSON, BATCH = 6, 200, 60, 20
BUDGET = 320.0
"""Epsilon of each person: a third of their texts does not fit."""
PAUSES = (0.05, 0.6)
"""Seconds between two kills."""


def make_release(location: str, secret: bytes) -> dn.Release:
    """Return the release of all writers, over a small space."""
    words = [f"{first}{second}" for first in "bdfgkl" for second in ("ar", "ol", "im", "us", "en")]
    space = dn.Space(words, np.random.default_rng(0).normal(size=(len(words), 5)))
    return dn.Release(dn.TEM(space, epsilon=1.0), ledger=dn.Ledger(location, secret))


def make_cells(names: Sequence[str]) -> CellBatch:
    """Return the texts of names, which say whose they are and which of theirs."""
    return CellBatch.of_texts(list(map(make_text, names)), names, [name.partition(":")[0] for name in names])


def make_text(name: str) -> str:
    """Return the text of a name."""
    words = random.Random(name).choices(["bar", "dol", "fim", "gus", "ken", "lar"], k=8)  # noqa: S311 - texts of a test
    return " ".join(words)


def write_outputs(location: str, secret: bytes, path: Path) -> None:
    """Release random texts for ever, and append each output to a file, a line each."""
    release, chooser = make_release(location, secret), random.Random()  # noqa: S311 - which texts is no secret
    with path.open("a", encoding="utf-8") as file:
        while True:
            drawn = {f"{chooser.randrange(PERSONS)}:{chooser.randrange(TEXTS_PER_PERSON)}" for _ in range(BATCH)}
            names = sorted(drawn)
            while names:
                try:
                    batch = release.privatize_cells(make_cells(names), workers=1)
                except BudgetExceeded as error:
                    names = [name for row, name in enumerate(names) if row not in set(error.rows)]
                    continue
                file.writelines(json.dumps(pair) + "\n" for pair in zip(names, batch.texts, strict=True))
                file.flush()
                break


def read_outputs(paths: list[Path]) -> tuple[dict[str, str], int, int]:
    """Return the output of each text, how many were written, and how many repeats differ."""
    outputs, written, differing = dict[str, str](), 0, 0
    for path in paths:
        for line in path.read_text("utf-8").splitlines():
            try:
                name, text = json.loads(line)
            except ValueError:  # cut off by a kill
                continue
            written += 1
            differing += outputs.setdefault(name, text) != text
    return outputs, written, differing


def check_outputs(location: str, secret: bytes, outputs: dict[str, str]) -> tuple[int, int]:
    """Return how many outputs had no charge, and how many come out differently now."""
    release, uncharged, differing = make_release(location, secret), 0, 0
    names = sorted(outputs)
    for first in range(0, len(names), 1_000):
        part = names[first : first + 1_000]
        try:
            batch = release.privatize_cells(make_cells(part))
        except BudgetExceeded as error:  # what was charged needs no budget
            uncharged += len(error.rows)
            continue
        uncharged += batch.charged
        differing += sum(outputs[name] != text for name, text in zip(part, batch.texts, strict=True))
    return uncharged, differing


def run_writers(location: str, secret: bytes, folder: Path, seconds: float) -> Counter[str]:
    """Run the writers, kill one after the other, and return the counts of kills and of writers that failed."""
    counts, end = Counter[str](), time.monotonic() + seconds
    context = multiprocessing.get_context("fork")  # a writer begins at once, and so can be killed often

    def start(number: int) -> ForkProcess:
        writer = context.Process(target=write_outputs, args=(location, secret, folder / f"{number}.jsonl"), daemon=True)
        writer.start()
        return writer

    writers = [start(number) for number in range(WRITERS)]
    while time.monotonic() < end:
        time.sleep(random.uniform(*PAUSES))  # noqa: S311 - a test
        for number, writer in enumerate(writers):
            if not writer.is_alive():
                counts["failed by themselves"] += 1
                writers[number] = start(number)
        number = random.randrange(WRITERS)  # noqa: S311 - a test
        writers[number].kill()
        writers[number].join()
        counts["killed"] += 1
        writers[number] = start(number)
    for writer in writers:
        writer.kill()
        writer.join()
    return counts


def main() -> None:
    """Run the soak, and exit with 1 if anything was lost."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--where", required=True, help="a new file, or the address of an empty database")
    parser.add_argument("--seconds", type=float, default=600)
    given = parser.parse_args()
    secret = secrets.token_bytes(32)
    create_ledger(given.where, BUDGET, delta=None, unit="person", secret=secret)
    with tempfile.TemporaryDirectory() as folder:
        counts = run_writers(given.where, secret, Path(folder), given.seconds)
        outputs, written, differing = read_outputs(sorted(Path(folder).glob("*.jsonl")))
    uncharged, differing_now = check_outputs(given.where, secret, outputs)
    ledger = dn.Ledger(given.where, secret)
    problems = ledger.find_problems()
    spent = [total.amounts[0] for total in ledger.list_totals()]
    at_cap = sum(amount > ledger.facts.caps["metric"][0] - 8 * 10**9 for amount in spent)
    failed = counts["failed by themselves"]
    print(f"{WRITERS} writers, {given.seconds:g} s: {counts['killed']:,} killed, {failed} failed by themselves")
    print(f"{written:,} outputs of {len(outputs):,} texts; {at_cap} of {len(spent)} persons have spent their budget")
    print(f"outputs without a charge: {uncharged}")
    print(f"repeats that differ: {differing + differing_now}")
    print(f"problems of the ledger (sums, caps, integrity): {len(problems)}")
    sys.exit(1 if uncharged or differing or differing_now or problems or failed else 0)


if __name__ == "__main__":
    main()
