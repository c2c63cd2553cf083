"""Rows a second of `deniable.engines` in each host, against the plain run on the same table.

The table has two columns, ids and texts of 20 to 60 words: reviews of IMDB cut into pieces (``--data``), or words of
the default space by Zipf's law of their ranks. Each host reads it from a parquet file, looks at its ids, privatizes the
texts and writes parquet, under one key, by one worker and by two; the plain run is `privatize_table`, by as many
threads. Each runs in a process of its own. *Start* is what comes before: imports, the host itself, and a table of a few
rows, so that compiled code and the law are loaded in its workers. All private tables are compared: they must be equal.

    python benchmarks/hosts.py --data FOLDER

Hosts without workers of their own get so many processors. Not measured: clusters of several machines, failures, memory,
and Presidio, which privatizes spans and no whole texts.
"""

import argparse
import contextlib
import importlib.util
import itertools
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

import deniable as dn
from deniable.core.parallel import count_cores
from deniable.text.table_release import ReleaseFiles, privatize_table
from deniable.text.tables.layout import TableLayout

ROWS, WARM_ROWS, GROUP_ROWS = 200_000, 2_000, 20_000
SHORTEST, LONGEST = 20, 60
SEED = 0

Run = Callable[[Path, Path, dn.Release], None]
"""Reads a parquet file, and writes the private table as a parquet file, or as a folder of them."""


@contextlib.contextmanager
def open_plain(workers: int) -> Iterator[Run]:
    """Yield the plain run, by so many threads."""

    def run(source: Path, target: Path, release: dn.Release) -> None:
        layout = TableLayout(source.name, ("text",), "id")
        certificate = target.with_suffix(".certificate")
        files = ReleaseFiles(
            str(source), str(target), certificate=str(certificate), table_format="parquet", layout=layout
        )
        privatize_table(files, release, workers=workers)

    yield run


@contextlib.contextmanager
def open_spark(workers: int) -> Iterator[Run]:
    """Yield a run of Spark on this machine, in so many tasks at a time."""
    from pyspark.sql import SparkSession

    from deniable.engines.spark import privatize_dataframe

    builder = SparkSession.builder.master(f"local[{workers}]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
    session = builder.config("spark.sql.files.maxPartitionBytes", "4m").getOrCreate()

    def run(source: Path, target: Path, release: dn.Release) -> None:
        table = session.read.parquet(str(source))
        tallies = target.with_suffix(".tallies")
        privatize_dataframe(table, release, text="text", id="id", tallies=tallies).write.parquet(str(target))

    yield run
    session.stop()


@contextlib.contextmanager
def open_ray(workers: int) -> Iterator[Run]:
    """Yield a run of Ray on this machine, by so many actors."""
    import ray
    import ray.data

    from deniable.engines.ray import privatize_dataset

    # An actor holds a processor; one more reads blocks.
    ray.init(address="local", num_cpus=workers + 1, include_dashboard=False, log_to_driver=False)

    def run(source: Path, target: Path, release: dn.Release) -> None:
        table = ray.data.read_parquet(str(source))
        actors = ray.data.ActorPoolStrategy(size=workers)
        tallies = target.with_suffix(".tallies")
        private = privatize_dataset(table, release, text="text", id="id", tallies=tallies, compute=actors)
        private.write_parquet(str(target))

    yield run
    ray.shutdown()


def limit_processors(workers: int) -> None:
    """Give this process so many processors, where the system can: hosts that have no number of workers use all."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:workers])


@contextlib.contextmanager
def open_pandas(workers: int) -> Iterator[Run]:
    """Yield a run of pandas, on so many processors."""
    limit_processors(workers)
    import pandas as pd

    from deniable.engines.frames import privatize_dataframe

    def run(source: Path, target: Path, release: dn.Release) -> None:
        privatize_dataframe(pd.read_parquet(source), release, text="text", id="id").table.to_parquet(target)

    yield run


@contextlib.contextmanager
def open_polars(workers: int) -> Iterator[Run]:
    """Yield a run of polars, on so many processors."""
    limit_processors(workers)
    import polars as pl

    from deniable.engines.frames import privatize_dataframe

    def run(source: Path, target: Path, release: dn.Release) -> None:
        privatize_dataframe(pl.read_parquet(source), release, text="text", id="id").table.write_parquet(target)

    yield run


@contextlib.contextmanager
def open_duckdb(workers: int) -> Iterator[Run]:
    """Yield a run of DuckDB, by so many threads and on so many processors."""
    limit_processors(workers)
    import duckdb

    from deniable.engines.arrow import privatize_relation

    connection = duckdb.connect(config={"threads": str(workers)})

    def run(source: Path, target: Path, release: dn.Release) -> None:
        released = privatize_relation(connection, connection.read_parquet(str(source)), release, text="text", id="id")
        released.table.write_parquet(str(target))

    yield run
    connection.close()


@contextlib.contextmanager
def open_huggingface(workers: int) -> Iterator[Run]:
    """Yield a run of a Hugging Face dataset, on so many processors."""
    limit_processors(workers)
    from datasets import Dataset, disable_progress_bars

    from deniable.engines.arrow import privatize_dataset

    disable_progress_bars()

    def run(source: Path, target: Path, release: dn.Release) -> None:
        dataset = Dataset(pq.read_table(source))
        privatize_dataset(dataset, release, text="text", id="id").table.to_parquet(target)

    yield run


@contextlib.contextmanager
def open_spacy(workers: int) -> Iterator[Run]:
    """Yield a run of a spaCy pipeline that does nothing else, by so many processes."""
    limit_processors(workers)
    import spacy

    from deniable.engines.spacy import make_docs

    nlp = spacy.blank("en")

    def run(source: Path, target: Path, release: dn.Release) -> None:
        if not nlp.has_pipe("deniable"):
            nlp.add_pipe("deniable", config={"epsilon": release.mechanism.epsilon, "key": str(release.key)})
        table = pq.read_table(source)
        docs = nlp.pipe(make_docs(nlp, table["text"].to_pylist(), table["id"].to_pylist()), n_process=workers)
        pq.write_table(table.set_column(1, "text", pa.array([doc._.private_text for doc in docs])), target)

    yield run


@dataclass(frozen=True)
class Host:
    """One host.

    Attributes:
        open: opens it for a number of workers.
        package: what it needs.
        workers: numbers of workers to try.
    """

    open: Callable[[int], AbstractContextManager[Run]]
    package: str
    workers: tuple[int, ...] = (1, 2)


HOSTS = {
    "plain": Host(open_plain, "deniable"),
    "spark": Host(open_spark, "pyspark"),
    "ray": Host(open_ray, "ray"),
    "pandas": Host(open_pandas, "pandas"),
    "polars": Host(open_polars, "polars"),
    "duckdb": Host(open_duckdb, "duckdb"),
    "huggingface": Host(open_huggingface, "datasets"),
    "spacy": Host(open_spacy, "spacy"),
}


@dataclass(frozen=True)
class Result:
    """One line of the table."""

    host: str
    workers: int
    start_seconds: float
    seconds: float
    rows: int

    @property
    def rows_per_second(self) -> float:
        """Rows a second, without the start."""
        return self.rows / self.seconds


def list_words(data: Path | None, rows: int) -> list[str]:
    """Return enough words for the table, in the order of texts."""
    needed = rows * LONGEST
    if data is None:
        space = dn.Space.glove(hide=())
        ranks = np.minimum(np.random.default_rng(SEED).zipf(1.1, size=needed), len(space)) - 1
        return [space.words[rank] for rank in ranks.tolist()]
    reviews = pq.read_table(data / "imdb_train.parquet")["text"].to_pylist()
    words = (word for review in itertools.cycle(reviews) for word in review.split())
    return list(itertools.islice(words, needed))


def write_table(words: Sequence[str], rows: int, path: Path) -> None:
    """Write a table of so many texts, cut one after the other."""
    lengths = np.random.default_rng(SEED).integers(SHORTEST, LONGEST + 1, size=rows)
    bounds = np.concatenate([[0], np.cumsum(lengths)]).tolist()
    texts = [" ".join(words[start:end]) for start, end in itertools.pairwise(bounds)]
    pq.write_table(pa.table({"id": range(rows), "text": texts}), path, row_group_size=GROUP_ROWS)


def measure_host(name: str, workers: int, folder: Path) -> None:
    """Print what a host takes to start and to privatize the table, as JSON."""
    start = time.perf_counter()
    release = dn.Release(dn.mechanism("auto", dn.Space.glove(), epsilon=3.0), key=f"file:{folder / 'key'}")
    target = folder / f"{name}-{workers}"
    with HOSTS[name].open(workers) as run:
        run(folder / "warm.parquet", target.with_name(f"{target.name}-warm"), release)
        started = time.perf_counter()
        run(folder / "table.parquet", target, release)
        ended = time.perf_counter()
    print(json.dumps([started - start, ended - started]))


def run_host(name: str, workers: int, folder: Path, rows: int) -> Result:
    """Return what a host takes, in a process of its own."""
    command = [sys.executable, __file__, "--host", name, "--workers", str(workers), "--folder", str(folder)]
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "PYSPARK_PYTHON": sys.executable}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if run.returncode:
        sys.exit(f"hosts: {name} failed:\n{run.stderr[-4000:]}")
    start_seconds, seconds = json.loads(run.stdout.splitlines()[-1])
    return Result(name, workers, start_seconds, seconds, rows)


def read_texts(path: Path) -> pa.ChunkedArray:
    """Return the private texts of a run, in the order of their ids."""
    return (
        ds.dataset(path, format="parquet")
        .to_table(columns=["id", "text"])
        .sort_by("id")["text"]
        .cast(pa.large_string())
    )


def format_table(results: Sequence[Result]) -> str:
    """Return the results in markdown: against the plain run of as many workers, and against one worker of the host."""
    lines = [
        "| host | workers | start s | run s | rows/s | of the plain run | growth |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    pace = {(result.host, result.workers): result.rows_per_second for result in results}
    for result in results:
        ratio = result.rows_per_second / pace["plain", result.workers]
        alone = pace.get((result.host, 1))  # a host that uses all processors has no run by one worker
        growth = "" if alone is None else f"{result.rows_per_second / alone:.2f}"
        lines.append(
            f"| {result.host} | {result.workers} | {result.start_seconds:.1f} | {result.seconds:.1f} | "
            f"{result.rows_per_second:,.0f} | {100 * ratio:.0f}% | {growth} |"
        )
    return "\n".join(lines)


def list_runs(names: Sequence[str]) -> list[tuple[str, int]]:
    """Return the hosts that are installed with their numbers of workers, the plain run first."""
    runs = []
    for name in dict.fromkeys(["plain", *names]):
        if importlib.util.find_spec(HOSTS[name].package) is None:
            print(f"{name} is left out: {HOSTS[name].package} is not installed", flush=True)
        else:
            runs += [(name, workers) for workers in HOSTS[name].workers]
    return runs


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with imdb_train.parquet; default: words by Zipf's law")
    parser.add_argument("--rows", type=int, default=ROWS, help="rows of the table")
    parser.add_argument("--host", action="append", choices=list(HOSTS), help="may be repeated; default: all")
    parser.add_argument("--json", type=Path, help="also write the results as JSON")
    parser.add_argument("--workers", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.folder is not None:
        measure_host(options.host[0], options.workers, options.folder)
        return
    versions = f"Python {platform.python_version()}, deniable {dn.__version__}"
    print(f"{platform.machine()}, {count_cores()} cores, {versions}, {options.rows:,} rows, seed {SEED}\n", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        words = list_words(options.data, options.rows)
        write_table(words, options.rows, folder / "table.parquet")
        write_table(words, min(options.rows, WARM_ROWS), folder / "warm.parquet")
        (folder / "key").write_bytes(os.urandom(32))
        (folder / "key").chmod(0o600)
        results = [run_host(*run, folder, options.rows) for run in list_runs(options.host or list(HOSTS))]
        plain = read_texts(folder / "plain-1")
        unequal = [
            f"{result.host} by {result.workers}"
            for result in results
            if not read_texts(folder / f"{result.host}-{result.workers}").equals(plain)
        ]
    print(format_table(results))
    print(f"\nnot equal to the plain run: {', '.join(unequal) or 'none'}")
    if options.json:
        options.json.write_text(json.dumps([asdict(result) for result in results], indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
