"""Speed of ``deniable privatize`` on real text, end to end, against the floor of its arithmetic.

For each mechanism the 50,000 IMDB reviews, and 50,000 records of 10 words cut from them, go through
the command line as parquet files. Reported: words per second of wall time, peak memory, and the ratio
to the floor: the matrix products and the exponentials or logarithms that the mechanism cannot do
without, timed alone in this run, on all cores. Every command runs once before on a few records, so that
compiled code and facts about the space are cached; the README's first command is timed with nothing
cached.

Not measured: privacy, utility, and installation.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

import deniable as dn
from deniable.core.parallel import count_cores, parallel_map
from deniable.space.blocks import BLOCK_ROWS
from deniable.text.tables.layout import MAX_BATCH_CHARACTERS, RECORD_OVERHEAD
from deniable.text.tokens import Lexer
from deniable.words.multivariate_laplace import BLOCK_COLUMNS, BLOCK_TOKENS

EPSILONS = {"calibrated": 3.0, "tight": 3.0, "tem": 3.0, "multivariate-laplace": 3.0, "truncated-gumbel": 200.0}
RECORDS, WORDS = 50_000, 10
PASSES = 20


@dataclass(frozen=True)
class Corpus:
    """A parquet file of texts, and what its words demand."""

    name: str
    path: Path
    words: int
    rows: int
    """Distinct words, counted once for every window of the text."""


@dataclass(frozen=True)
class Result:
    """One line of the table."""

    corpus: str
    mechanism: str
    epsilon: float
    words: int
    seconds: float
    cpu_seconds: float
    peak_mb: float
    floor_seconds: float


# The peak memory of a process counts what its parent held when it was started: a small parent tells
# the command's own.
LAUNCHER = """
import json, os, subprocess, sys, time
start = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
process.returncode = os.waitstatus_to_exitcode(status)
seconds = time.perf_counter() - start
print(json.dumps([process.returncode, seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024]))
"""


def measure(command: Sequence[str], **environment: str) -> tuple[float, float, float]:
    """Return wall seconds, CPU seconds and peak memory in MB of a command that must succeed."""
    run = subprocess.run(
        [sys.executable, "-c", LAUNCHER, *command],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        check=True,
    )
    code, seconds, cpu_seconds, peak = json.loads(run.stdout)
    if code:
        sys.exit(f"throughput: {' '.join(command)} failed with exit code {code}")
    return seconds, cpu_seconds, peak


def corpora(data: Path, folder: Path, space: dn.Space, limit: int | None) -> list[Corpus]:
    """Write the two corpora and count their words."""
    texts = [
        text for part in ("train", "test") for text in pq.read_table(data / f"imdb_{part}.parquet")["text"].to_pylist()
    ][:limit]
    words = [word for text in texts[:5000] for word in text.split()][: RECORDS * WORDS]
    short = [" ".join(words[start : start + WORDS]) for start in range(0, len(words), WORDS)]
    return [
        _corpus(f"IMDB, {len(texts):,} reviews", texts, folder / "imdb.parquet", space),
        _corpus(f"{len(short):,} records of {WORDS} words", short, folder / "short.parquet", space),
    ]


def _corpus(name: str, texts: list[str], path: Path, space: dn.Space) -> Corpus:
    pq.write_table(pa.table({"text": texts}), path)
    lexer = Lexer(space, "draw", "lower", ())
    total = rows = held = 0
    seen: set[int] = set()
    for text in texts:
        lexed = lexer.lex(text)
        total += len(lexed.words)
        seen.update(lexed.words.tolist())
        held += len(text) + RECORD_OVERHEAD
        if held > MAX_BATCH_CHARACTERS:
            rows, held = rows + len(seen), 0
            seen = set()
    return Corpus(name, path, total, rows + len(seen))


def _pace(work: Callable[[], object], units: int) -> float:
    """Return seconds per unit of work, all cores busy, ``units`` done by each of `PASSES` calls."""

    def call(_: int) -> None:
        work()

    parallel_map(call, range(2 * count_cores()))
    start = time.perf_counter()
    parallel_map(call, range(PASSES))
    return (time.perf_counter() - start) / (PASSES * units)


def floor_seconds(mechanism: str, corpus: Corpus, space: dn.Space) -> float:
    """Return the time of the products and exponentials alone."""
    local = threading.local()

    def buffer(*shape: int, dtype: type = np.float64) -> npt.NDArray[Any]:
        if getattr(local, "shape", None) != (shape, dtype):
            local.shape, local.array = (shape, dtype), np.empty(shape, dtype)
        array: npt.NDArray[Any] = local.array
        return array

    points = space.points
    count, dimensions = points.shape
    doubles = np.ascontiguousarray(points.T)
    product = _pace(lambda: np.matmul(points[:BLOCK_ROWS], doubles, out=buffer(BLOCK_ROWS, count)), BLOCK_ROWS)
    exponents = -np.random.Generator(np.random.PCG64(0)).uniform(0, 18, count)
    if mechanism in ("calibrated", "tight", "tem"):
        exponential = _pace(
            lambda: [np.exp(exponents, out=buffer(count)) for _ in range(BLOCK_ROWS)], BLOCK_ROWS * count
        )
        return float(corpus.rows * (product + count * exponential))
    if mechanism == "truncated-gumbel":
        uniform = np.exp(exponents)
        logarithm = _pace(lambda: [np.log(uniform, out=buffer(count)) for _ in range(BLOCK_ROWS)], BLOCK_ROWS * count)
        return float(min(corpus.rows, count) * product + corpus.words * np.log(count) * 2 * logarithm)
    singles = doubles.astype(np.float32)
    noisy = np.resize(points, (BLOCK_TOKENS, dimensions)).astype(np.float32)
    tiles = [
        np.ascontiguousarray(singles[:, at : at + BLOCK_COLUMNS])
        for at in range(0, count - BLOCK_COLUMNS, BLOCK_COLUMNS)
    ]

    def tiled() -> None:
        for tile in tiles:
            np.matmul(noisy, tile, out=buffer(BLOCK_TOKENS, BLOCK_COLUMNS, dtype=np.float32))

    return float(corpus.words * count / (len(tiles) * BLOCK_COLUMNS) * _pace(tiled, BLOCK_TOKENS))


def table(results: Sequence[Result]) -> str:
    """Return the results in markdown."""
    lines = [
        "| corpus | mechanism | epsilon | words | wall s | CPU s | words/s | peak MB | floor s | wall / floor |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {r.corpus} | {r.mechanism} | {r.epsilon:g} | {r.words:,} | {r.seconds:.1f} | {r.cpu_seconds:.1f} | "
        f"{r.words / r.seconds:,.0f} | {r.peak_mb:,.0f} | {r.floor_seconds:.1f} | {r.seconds / r.floor_seconds:.2f} |"
        for r in results
    ]
    return "\n".join(lines)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with imdb_train.parquet and imdb_test.parquet")
    parser.add_argument("--mechanism", action="append", choices=list(EPSILONS), help="may be repeated; default: all")
    parser.add_argument("--corpus", action="append", choices=["imdb", "short"], help="may be repeated; default: both")
    parser.add_argument("--limit", type=int, help="only the first LIMIT reviews")
    parser.add_argument("--json", type=Path, help="also write the results as JSON")
    options = parser.parse_args()
    if not (options.data / "imdb_test.parquet").is_file():
        parser.error(f"{options.data} has no imdb_train.parquet and imdb_test.parquet: name their folder")

    script = str(Path(sys.executable).with_name("deniable"))
    example = str(Path(__file__).resolve().parents[1] / "examples" / "reviews.csv")
    results = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        target = str(folder / "out")
        first = [script, "privatize", example, "--epsilon", "3", "--output", f"{target}.csv"]
        cold, *_ = measure(first, DENIABLE_CACHE=str(folder / "cold"), NUMBA_CACHE_DIR=str(folder / "numba"))
        versions = f"Python {platform.python_version()}, deniable {dn.__version__}"
        print(f"{platform.machine()}, {count_cores()} cores, {versions}\n")
        print(f"README's first command, nothing cached: {cold:.1f} s\n", flush=True)
        space = dn.Space.glove(hide=())
        for corpus in corpora(options.data, folder, space, options.limit):
            if options.corpus and corpus.path.stem not in options.corpus:
                continue
            for mechanism in options.mechanism or EPSILONS:
                common = ["--mechanism", mechanism, "--epsilon", str(EPSILONS[mechanism]), "--force", "--output"]
                measure([script, "privatize", example, *common, f"{target}.csv"])
                figures = measure([script, "privatize", str(corpus.path), *common, f"{target}.parquet"])
                floor = floor_seconds(mechanism, corpus, space)
                results.append(Result(corpus.name, mechanism, EPSILONS[mechanism], corpus.words, *figures, floor))
                print(table(results[-1:]).splitlines()[-1], flush=True)
    print(f"\n{table(results)}")
    if options.json:
        options.json.write_text(json.dumps([asdict(result) for result in results], indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
