"""Speed of ``deniable privatize`` on real text, end to end, against the floor of its arithmetic.

For each mechanism the 50,000 IMDB reviews, and 50,000 records of 10 words cut from them, go through
the command line as parquet files; the reviews once in one row group and once in groups of 5,000. Reported: words
per second of wall time, peak memory, and the ratio to the floor, timed alone in this run. For calibrated and TEM
it is what any program does to such a file: reading and writing it, one search for runs of letters, and 64 random bits a
word, on one core. For multivariate Laplace and truncated Gumbel it is the products, on all cores, that their search for
near words cannot do without. Every command runs once before on a few records, so that compiled code and facts about
the space are cached. *First s* is the run after that; the other columns are of the run after it. The README's first
command is timed with nothing cached.

With ``--text-path`` the text path is measured instead, alone: texts are cut, their words looked up and written back,
with themselves in place of drawn words. Its two halves, Python's and the compiled one, start with no spelling known,
and stand beside a copy of the same bytes and a search for runs of letters in them; all in CPU seconds of this process.

Not measured: privacy, utility, and installation.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from randomgen import AESCounter

import deniable as dn
from deniable.core.parallel import count_cores, parallel_map
from deniable.space.nearest_points import BATCH_VECTORS
from deniable.space.vector_distances import BLOCK_ROWS
from deniable.space.word_classes import DEFAULT_CLASSES
from deniable.text.compiled.lexer import lex_compiled
from deniable.text.encoded import EncodedTexts
from deniable.text.tables.layout import MAX_BATCH_CHARACTERS, RECORD_OVERHEAD
from deniable.text.tokens import LexedTexts, Lexer

SETTINGS = (
    ("calibrated", "steps", 2.7),
    ("tem", "steps", 5.0),
    ("calibrated", "euclidean", 3.0),
    ("multivariate-laplace", "euclidean", 3.0),
    ("truncated-gumbel", "euclidean", 200.0),
)
"""Mechanism, metric and epsilon."""
RECORDS, WORDS = 50_000, 10
EXAMPLE = ("--column", "text", "--column", "agent_note", "--epsilon", "2.7")
"""Options of the README's first command."""
GROUP_ROWS = 5_000
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
    first_seconds: float
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
    reviews = _corpus(f"IMDB, {len(texts):,} reviews", texts, folder / "imdb.parquet", space)
    groups = folder / "groups.parquet"
    pq.write_table(pq.read_table(reviews.path), groups, row_group_size=GROUP_ROWS)
    return [
        reviews,
        replace(reviews, name=f"the same, groups of {GROUP_ROWS:,} rows", path=groups),
        _corpus(f"{len(short):,} records of {WORDS} words", short, folder / "short.parquet", space),
    ]


def _corpus(name: str, texts: list[str], path: Path, space: dn.Space) -> Corpus:
    pq.write_table(pa.table({"text": texts}), path, row_group_size=len(texts))
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
    """Return the time of what cannot be done without; see the module."""
    if mechanism in ("calibrated", "tem"):
        return _measure_file(corpus)
    local = threading.local()

    def buffer(*shape: int, dtype: type = np.float64) -> npt.NDArray[Any]:
        if getattr(local, "shape", None) != (shape, dtype):
            local.shape, local.array = (shape, dtype), np.empty(shape, dtype)
        array: npt.NDArray[Any] = local.array
        return array

    points = space.points
    count = len(points)
    doubles = np.ascontiguousarray(points.T)
    product = _pace(lambda: np.matmul(points[:BLOCK_ROWS], doubles, out=buffer(BLOCK_ROWS, count)), BLOCK_ROWS)
    if mechanism == "truncated-gumbel":
        uniform = np.exp(-np.random.Generator(np.random.PCG64(0)).uniform(0, 18, count))
        logarithm = _pace(lambda: [np.log(uniform, out=buffer(count)) for _ in range(BLOCK_ROWS)], BLOCK_ROWS * count)
        return float(min(corpus.rows, count) * product + corpus.words * np.log(count) * 2 * logarithm)
    vectors, columns = points[:BATCH_VECTORS].astype(np.float32), doubles.astype(np.float32)
    room = len(vectors), count
    single = _pace(lambda: np.matmul(vectors, columns, out=buffer(*room, dtype=np.float32)), len(vectors))
    return float(corpus.words * single)


def _measure_file(corpus: Corpus) -> float:
    """Return the time of reading and writing a file, of a search in its texts, and of random bits for its words."""
    bits = AESCounter(0)
    start = time.perf_counter()
    table = pq.read_table(corpus.path)
    texts = EncodedTexts.of_arrow(table["text"].cast(pa.large_string()).combine_chunks())
    sum(1 for _ in re.finditer(b"[A-Za-z]+", texts.data.tobytes()))
    bits.random_raw(corpus.words)
    pq.write_table(table, corpus.path.with_suffix(".copy"))
    return time.perf_counter() - start


def measure_text_path(corpus: Corpus, space: dn.Space) -> list[str]:
    """Return lines of a table: what the halves of the text path take for a corpus, and its floors."""
    column = pq.read_table(corpus.path)["text"].cast(pa.large_string()).combine_chunks()
    encoded = EncodedTexts.of_arrow(column)
    lex_compiled(Lexer(space, "draw", "lower", ()), EncodedTexts.of(["compiled"] * 2))
    data = encoded.data.tobytes()

    def run_python() -> LexedTexts:
        lexed = Lexer(space, "draw", "lower", ()).lex_texts(encoded)
        lexed.write(lexed.words)
        return lexed

    def run_compiled() -> LexedTexts:
        lexed = lex_compiled(Lexer(space, "draw", "lower", ()), encoded)
        lexed.write(lexed.words)
        return lexed

    works: dict[str, Callable[[], object]] = {
        "copy of the bytes": lambda: bytearray(data),
        "search for runs of letters": lambda: sum(1 for _ in re.finditer(b"[A-Za-z]+", data)),
        "Python": run_python,
        "compiled": run_compiled,
    }
    words, seconds = len(run_compiled().words), {}
    for name, work in works.items():
        start = time.process_time()
        work()
        seconds[name] = time.process_time() - start
    return [
        f"| {corpus.name} | {space.grammar} | {name} | {words:,} | {taken:.3f} | {words / taken / 1e6:,.2f} | "
        f"{seconds['Python'] / taken:,.2f} |"
        for name, taken in seconds.items()
    ]


def print_text_path(data: Path, limit: int | None) -> None:
    """Measure the text path in both grammars."""
    print("| corpus | grammar | work | words | CPU s | M words / CPU s | Python / this |")
    print("|---|---|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for hide in ((), DEFAULT_CLASSES):
            space = dn.Space.glove(hide=hide)
            for corpus in corpora(data, Path(folder), space, limit):
                print("\n".join(measure_text_path(corpus, space)), flush=True)


def table(results: Sequence[Result]) -> str:
    """Return the results in markdown."""
    lines = [
        "| corpus | mechanism | epsilon | words | first s | wall s | CPU s | words/s | peak MB | floor s | ratio |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {r.corpus} | {r.mechanism} | {r.epsilon:g} | {r.words:,} | {r.first_seconds:.1f} | {r.seconds:.1f} | "
        f"{r.cpu_seconds:.1f} | "
        f"{r.words / r.seconds:,.0f} | {r.peak_mb:,.0f} | {r.floor_seconds:.1f} | {r.seconds / r.floor_seconds:.2f} |"
        for r in results
    ]
    return "\n".join(lines)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with imdb_train.parquet and imdb_test.parquet")
    parser.add_argument(
        "--mechanism", action="append", choices=sorted({name for name, *_ in SETTINGS}), help="may be repeated"
    )
    parser.add_argument("--metric", choices=["steps", "euclidean"], help="default: both")
    parser.add_argument(
        "--corpus", action="append", choices=["imdb", "groups", "short"], help="may be repeated; default: all"
    )
    parser.add_argument("--limit", type=int, help="only the first LIMIT reviews")
    parser.add_argument("--text-path", action="store_true", help="measure the text path alone")
    parser.add_argument("--json", type=Path, help="also write the results as JSON")
    options = parser.parse_args()
    if not (options.data / "imdb_test.parquet").is_file():
        parser.error(f"{options.data} has no imdb_train.parquet and imdb_test.parquet: name their folder")

    if options.text_path:
        print_text_path(options.data, options.limit)
        return
    script = str(Path(sys.executable).with_name("deniable"))
    example = str(Path(__file__).resolve().parents[1] / "examples" / "reviews.csv")
    results = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        target = str(folder / "out")
        first = [script, "privatize", example, *EXAMPLE, "--output", f"{target}.csv"]
        cold, *_ = measure(first, DENIABLE_CACHE=str(folder / "cold"), NUMBA_CACHE_DIR=str(folder / "numba"))
        versions = f"Python {platform.python_version()}, deniable {dn.__version__}"
        print(f"{platform.machine()}, {count_cores()} cores, {versions}\n")
        print(f"README's first command, nothing cached: {cold:.1f} s\n", flush=True)
        space = dn.Space.glove(metric="euclidean")
        for corpus in corpora(options.data, folder, space, options.limit):
            if options.corpus and corpus.path.stem not in options.corpus:
                continue
            for mechanism, metric, epsilon in SETTINGS:
                if mechanism not in (options.mechanism or mechanism) or metric not in (options.metric or metric):
                    continue
                law = ["--mechanism", mechanism, "--metric", metric, "--epsilon", str(epsilon)]
                common = [*law, "--force", "--output"]
                measure([script, "privatize", example, "--column", "text", *common, f"{target}.csv"])
                command = [script, "privatize", str(corpus.path), *common, f"{target}.parquet"]
                first_seconds, *_ = measure(command)
                figures = measure(command)
                floor = floor_seconds(mechanism, corpus, space)
                setting = f"{mechanism}, {metric}"
                results.append(Result(corpus.name, setting, epsilon, corpus.words, first_seconds, *figures, floor))
                print(table(results[-1:]).splitlines()[-1], flush=True)
    print(f"\n{table(results)}")
    if options.json:
        options.json.write_text(json.dumps([asdict(result) for result in results], indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
