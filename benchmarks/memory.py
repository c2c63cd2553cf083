"""Peak memory of ``deniable privatize`` on csv tables of any number of rows, with ids and persons.

Each table is generated: an id, a person and a text of 30 frequent words in each row, about 170 bytes. The command runs
in a process of its own, once before on a few rows, so that facts about the space are cached. Reported: rows, size of
the table, seconds, and the peak of the process's resident memory.

Not measured: what the operating system keeps of files in its own cache, and temporary files.

``python benchmarks/memory.py 1000000 10000000`` prints the table of docs/reliability.md.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

WORDS = 30
ROWS_TOGETHER = 10_000
PERSON_ROWS = 4
"""Mean number of rows of a person."""
VARIANTS: dict[str, list[str]] = {
    "row numbers": [],
    "ids": ["--id", "id"],
    "ids, persons": ["--id", "id", "--person", "person"],
}
FREQUENT_WORDS = (
    "the of and to in a for that on is was said with as it by at from his he an be has are have but were not this who "
    "they had which will their its or i would also one when new about two more after been than if time government year "
    "out day people state into percent could some president may first now world city good bad food great doctor"
)


@dataclass(frozen=True)
class Result:
    """One line of the table."""

    variant: str
    rows: int
    megabytes: float
    seconds: float
    peak_megabytes: float


def write_table(path: Path, rows: int) -> None:
    """Write a table of so many rows."""
    generator, vocabulary = np.random.default_rng(7), np.array(FREQUENT_WORDS.split())
    with path.open("w", encoding="utf-8") as file:
        file.write("id,person,text\n")
        for first in range(0, rows, ROWS_TOGETHER):
            count = min(ROWS_TOGETHER, rows - first)
            words = vocabulary[generator.integers(len(vocabulary), size=(count, WORDS))]
            persons = generator.integers(max(rows // PERSON_ROWS, 1), size=count)
            file.writelines(
                f"record-{first + row},person-{persons[row]},{' '.join(words[row])}\n" for row in range(count)
            )


def measure_run(table: Path, variant: str, rows: int) -> Result:
    """Privatize a table in a process of its own."""
    output = table.with_name("out.csv")
    command = [sys.executable, "-m", "deniable", "privatize", str(table), "--epsilon", "3", "--output", str(output)]
    start = time.perf_counter()
    process = subprocess.Popen([*command, "--force", *VARIANTS[variant]], stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"privatize ended with exit code {process.returncode}")
    peak_kilobytes = usage.ru_maxrss / (1024 if sys.platform == "darwin" else 1)
    return Result(variant, rows, table.stat().st_size / 1e6, seconds, peak_kilobytes * 1024 / 1e6)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("rows", type=int, nargs="+", help="numbers of rows")
    parser.add_argument("--variant", choices=VARIANTS, action="append", help="options of the command; default: all")
    parser.add_argument("--folder", type=Path, help="where tables are written")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        table = Path(folder) / "in.csv"
        write_table(table, 100)
        measure_run(table, "row numbers", 100)
        print("| with | rows | table, MB | seconds | peak memory, MB |\n|---|---|---|---|---|")
        for rows in options.rows:
            write_table(table, rows)
            for variant in options.variant or VARIANTS:
                result = measure_run(table, variant, rows)
                print(
                    f"| {result.variant} | {result.rows:,} | {result.megabytes:,.0f} | {result.seconds:,.0f} | "
                    f"{result.peak_megabytes:,.0f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
