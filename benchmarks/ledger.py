"""What a ledger costs: charges a second, and the throughput of privatized texts with and without one.

    python benchmarks/ledger.py --data FOLDER                     # SQLite, in a temporary folder
    python benchmarks/ledger.py --postgres postgresql://...       # an empty database besides

Charges: 100,000 cells of 10,000 persons in one transaction, then the same again (all known). The floor is that of
SQLite itself: 100,000 rows of the same columns inserted in one transaction, without reading or deciding. Throughput:
reviews of IMDB (``--data``), or texts of the default space by Zipf's law, privatized as one batch in memory by
`Release.batch`, in turn under a key and under a ledger; the ratio is that of the medians.
"""

import argparse
import contextlib
import platform
import secrets
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

import deniable as dn
from deniable.core.parallel import count_cores
from deniable.ledger import Charges, create_ledger, make_metric_cost
from deniable.ledger.charges import HASH_BYTES

CELLS, PERSONS, ROUNDS = 100_000, 10_000, 5
TEXTS, WORDS = 20_000, 40
BUDGET = 1e6


@contextlib.contextmanager
def measure_seconds(seconds: list[float]) -> Iterator[None]:
    """Append how long the block took."""
    start = time.perf_counter()
    yield
    seconds.append(time.perf_counter() - start)


def make_charges() -> Charges:
    """Return cells of a batch, ten of each person."""
    persons = [secrets.token_bytes(HASH_BYTES) for _ in range(PERSONS)]
    return Charges(
        [secrets.token_bytes(HASH_BYTES) for _ in range(CELLS)],
        [persons[cell % PERSONS] for cell in range(CELLS)],
        [20] * CELLS,
        range(CELLS),
    )


def measure_floor(folder: Path) -> float:
    """Return the seconds in which SQLite inserts as many rows, on disk when the transaction ends."""
    charges, seconds = make_charges(), list[float]()
    with contextlib.closing(sqlite3.connect(folder / "floor.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(
            "CREATE TABLE charges (fingerprint BLOB PRIMARY KEY, person BLOB, cost INTEGER, units INTEGER) "
            "WITHOUT ROWID"
        )
        rows = sorted(zip(charges.fingerprints, charges.persons, [1] * CELLS, charges.units, strict=True))
        with measure_seconds(seconds):
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("INSERT INTO charges VALUES (?, ?, ?, ?)", rows)
            connection.execute("COMMIT")
    return seconds[0]


def measure_charges(ledger: dn.Ledger) -> tuple[float, float]:
    """Return the median seconds of a new batch, and of the same batch again."""
    cost = make_metric_cost(2.3, "steps", {"mechanism": "benchmark"})
    new, known = list[float](), list[float]()
    for _ in range(ROUNDS):
        charges = make_charges()
        for seconds in (new, known):
            with measure_seconds(seconds):
                ledger.charge(cost, charges)
    return statistics.median(new), statistics.median(known)


def make_texts(data: Path | None, space: dn.Space) -> list[str]:
    """Return texts to privatize."""
    if data is not None:
        return [str(text) for text in pq.read_table(data / "imdb_train.parquet")["text"].to_pylist()][:TEXTS]
    ranks = np.minimum(np.random.default_rng(0).zipf(1.1, size=(TEXTS, WORDS)), len(space)) - 1
    return [" ".join(space.words[rank] for rank in row) for row in ranks.tolist()]


def measure_throughput(ledger: dn.Ledger, texts: list[str]) -> tuple[float, float, int]:
    """Return the median seconds of a batch under a key and under a ledger, and its words."""
    mechanism = dn.mechanism("auto", dn.Space.glove(), epsilon=2.3)
    keyed, counted = dn.Release(mechanism, key=secrets.token_bytes(32)), dn.Release(mechanism, ledger=ledger)
    persons = [str(row % (len(texts) // 4)) for row in range(len(texts))]
    plain, charged, words = list[float](), list[float](), 0
    for number in range(ROUNDS + 1):
        ids = [f"{number} {row}" for row in range(len(texts))]
        with measure_seconds(plain):
            words = keyed.batch(texts, ids).tally.words
        with measure_seconds(charged):
            counted.batch(texts, ids, persons=persons)
    return statistics.median(plain[1:]), statistics.median(charged[1:]), words  # the first loads compiled code


def report(name: str, ledger: dn.Ledger, floor: float, texts: list[str]) -> None:
    """Print the figures of one backend."""
    new, known = measure_charges(ledger)
    print(f"{name}: {CELLS:,} cells charged in {new:.2f} s ({new / floor:.1f} times the floor), again in {known:.2f} s")
    plain, charged, words = measure_throughput(ledger, texts)
    share = f"{100 * plain / charged:.0f}%"
    print(
        f"{name}: {len(texts):,} texts, {words:,} words: {words / plain:,.0f} words/s under a key, "
        f"{words / charged:,.0f} under the ledger, {share} of it"
    )


def main() -> None:
    """Measure each backend that is at hand."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with imdb_train.parquet; default: words by Zipf's law")
    parser.add_argument("--postgres", help="address of an empty database")
    parser.add_argument("--short", action="store_true", help="short texts by Zipf's law, also with --data")
    given = parser.parse_args()
    versions = f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    print(f"{count_cores()} {platform.machine()} cores, {versions}")
    texts = make_texts(None if given.short else given.data, dn.Space.glove())
    with tempfile.TemporaryDirectory() as folder:
        floor = measure_floor(Path(folder))
        print(f"floor: {CELLS:,} rows inserted by SQLite in {floor:.2f} s")
        places = {"sqlite": str(Path(folder) / "ledger.db")} | ({"postgres": given.postgres} if given.postgres else {})
        for name, location in places.items():
            secret = secrets.token_bytes(32)
            create_ledger(location, BUDGET, delta=None, unit="person", secret=secret)
            report(name, dn.Ledger(location, secret), floor, texts)


if __name__ == "__main__":
    main()
