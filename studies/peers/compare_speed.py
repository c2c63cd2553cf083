"""Speed of published metric-DP text packages and of deniable, on the same words in one run.

Measured: privatizing a list of words, as wall and as CPU seconds (all threads and processes
of the worker), for multivariate Laplace, for TEM and for 1-Diffractor, each package through
its public interface with its default settings, in an environment and a process of its own.
Every package holds the same words and vectors and is given the same text. A first call on a
few words is not timed; it belongs to the set-up, which counts from the start of the process
and is reported apart.

Not measured: privacy, utility, memory, installation, and the cost of text around the words
(the text has only lower-case words of the space; `mldp-text` and `dp-diffractor` leave other
words as they are, `pypantera` gives them random vectors). What is compared is speed as a user
meets it, so batching counts: deniable groups equal words over a whole call and gains from
long texts, while the peers work word by word. A short call of deniable is listed for that.

Run it on an idle machine: peers whose linear algebra uses every processor lose far more than
their share when another program competes for one.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import venv
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import deniable as dn

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

WORKERS = Path(__file__).resolve().parent
DATA_VECTORS = "glove.840B.300d.33860.npz"
DATA_TEXT = "imdb_train.parquet"
SHORT_CALL = 1_000  # words, about four film reviews
WHOLE_FROM = 100  # rates and ratios from here on are written without decimals
SEED = 20_210_607  # of the text drawn by Zipf's law


@dataclass(frozen=True)
class Subject:
    """One package and one of its mechanisms, in the order in which they are timed."""

    package: str
    kind: str  # "tem", "tem-short", "laplace" or "native": rows of one kind are compared
    label: str
    note: str
    version: str = ""  # the release to install; empty for deniable, which runs as installed
    count: int = 0  # words in one call; 0: as many as the time budget allows


PEERS = (
    Subject(
        "mldp-text",
        "tem",
        "TEM",
        "one word per call; distances, scores and noise of the whole space anew for each",
        version="0.1.2",
    ),
    Subject(
        "mldp-text",
        "laplace",
        "MultivariateCalibrated",
        "one word per call; default index, an approximate nearest neighbour (FAISS IVF)",
        version="0.1.2",
    ),
    Subject(
        "pypantera",
        "tem",
        "TEM",
        "texts of one word; distances, scores and noise of the whole space anew for each",
        version="1.0.2",
    ),
    Subject(
        "pypantera",
        "laplace",
        "CMP",
        "texts of one word (longer ones are not faster and take more memory)",
        version="1.0.2",
    ),
    Subject(
        "dp-diffractor",
        "native",
        "1-Diffractor (geometric)",
        "another mechanism: noise on the position in a sorted word list; one list (default: "
        "five), stop words replaced too (default: kept), empty stand-ins for NLTK's data",
        version="0.2.1",
    ),
)


@dataclass(frozen=True)
class Row:
    """What was measured of one subject, or why nothing was."""

    package: str
    version: str
    kind: str
    mechanism: str
    words: int = 0
    wall: float = 0.0
    cpu: float = 0.0
    setup: float = 0.0
    note: str = ""
    error: str = ""

    @property
    def rate(self) -> float:
        """Words per wall second."""
        return self.words / self.wall if self.wall else 0.0

    @property
    def cpu_rate(self) -> float:
        """Words per CPU second."""
        return self.words / self.cpu if self.cpu else 0.0

    def record(self) -> dict[str, Any]:
        """Return the fields and the two rates, for JSON."""
        return asdict(self) | {"words_per_second": self.rate, "words_per_cpu_second": self.cpu_rate}

    def cells(self) -> list[str]:
        """Return the row of the table."""
        head = [self.package, self.version, self.mechanism]
        if self.error:
            return [*head, *["-"] * 6, f"could not be run: {self.error}"]
        seconds = [f"{self.wall:.2f}", f"{self.cpu:.2f}"]
        rates = [number(self.rate), number(self.cpu_rate)]
        return [*head, f"{self.words:,}", *seconds, *rates, f"{self.setup:.1f}", self.note]


HEADER = (
    "package",
    "version",
    "mechanism",
    "words",
    "wall s",
    "CPU s",
    "words / wall s",
    "words / CPU s",
    "set-up s",
    "notes",
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark; print the table and write the JSON file."""
    parser = command_line()
    options = parser.parse_args(arguments)
    try:
        report = run(options)
        if options.json:
            options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    except (OSError, ValueError) as error:
        parser.exit(2, f"{parser.prog}: {' '.join(str(error).split())}\n")


def command_line() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=Formatter)
    add = parser.add_argument
    add("--data", type=Path, metavar="DIR", help=f"take the text from DIR/{DATA_TEXT} and the "
        f"vectors from DIR/{DATA_VECTORS}; without it words are drawn by Zipf's law")  # fmt: skip
    add("--vectors", metavar="FILE", help="vectors to use instead: an .npz of `vectors` and "
        "`words`, or any file that deniable reads, or 'glove' for deniable's default "
        "(default: glove, or those of --data)")  # fmt: skip
    add("--epsilon", type=positive, default=3.0, help="of every mechanism (default: 3)")
    add("--seconds", type=positive, default=30.0, help="time budget of each peer and mechanism "
        "after its set-up (default: 30)")  # fmt: skip
    add("--limit", type=positive, default=1800.0, help="seconds after which a worker, with its "
        "set-up, is stopped and reported as failed (default: 1800)")  # fmt: skip
    add("--peers", nargs="+", choices=sorted({peer.package for peer in PEERS}), metavar="NAME",
        help="only these: %(choices)s (default: all)")  # fmt: skip
    add("--tem-words", type=count, default=2_000_000, help="for deniable's TEM "
        "(default: 2000000)")  # fmt: skip
    add("--laplace-words", type=count, default=100_000, help="for deniable's "
        "MultivariateLaplace (default: 100000)")  # fmt: skip
    add("--work", type=Path, default=default_work(), metavar="DIR", help="where the peers' "
        "environments are made, and found the next time (default: %(default)s)")  # fmt: skip
    add("--json", type=Path, metavar="FILE", help="write the results there too")
    return parser


class Formatter(argparse.RawDescriptionHelpFormatter):
    """Keep the paragraphs of the module's docstring."""


def positive(text: str) -> float:
    """Parse a finite number above 0."""
    value = float(text)
    if not 0 < value < float("inf"):
        message = f"must be a finite number above 0, got {text}"
        raise argparse.ArgumentTypeError(message)
    return value


def count(text: str) -> int:
    """Parse a whole number above 0."""
    value = int(text)
    if value < 1:
        message = f"must be at least 1, got {text}"
        raise argparse.ArgumentTypeError(message)
    return value


def default_work() -> Path:
    """Return a folder in the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "deniable-benchmarks" / "peers"


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Time every subject, print the table and the ratios, and return the report."""
    source = options.vectors or (str(options.data / DATA_VECTORS) if options.data else "glove")
    if source != "glove":
        source = str(Path(source).resolve(strict=True))  # workers run in another folder
    space = (
        dn.Space.glove(hide=(), metric="euclidean")
        if source == "glove"
        else dn.Space.load(source, hide=(), metric="euclidean")
    )
    load = os.getloadavg()[0]
    options.work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=options.work) as folder:
        words = corpus(options, space.words, max(options.tem_words, options.laplace_words))
        job = write_inputs(Path(folder).resolve(), space.words, space.vectors, words)
        job |= {"space": source, "epsilon": options.epsilon, "seconds": options.seconds}
        rows = [measure(subject, job, options) for subject in subjects(options)]
    report = {
        "machine": {
            "processors": os.cpu_count(),
            "platform": platform.platform(),
            "python": platform.python_version(),
            "load_before": load,
        },
        "epsilon": options.epsilon,
        "space": {
            "source": Path(source).name,
            "words": job["size"],
            "dimensions": job["dimensions"],
        },
        "text": DATA_TEXT if options.data else "Zipf's law",
        "rows": [row.record() for row in rows],
        "ratios": ratios(rows),
    }
    print_report(report, rows)
    return report


def subjects(options: argparse.Namespace) -> Iterator[Subject]:
    """Give the peers asked for, then deniable."""
    yield from (peer for peer in PEERS if options.peers is None or peer.package in options.peers)
    yield Subject("deniable", "tem", "TEM", "one call", count=options.tem_words)
    yield Subject("deniable", "laplace", "MultivariateLaplace", "one call", count=options.laplace_words)
    yield Subject("deniable", "tem-short", "TEM, short call", "one call", count=SHORT_CALL)


# The text and the files


def corpus(options: argparse.Namespace, words: Sequence[str], size: int) -> list[str]:
    """Return at most `size` words of text, all of the space, lower-case and of letters only.

    Punctuation is left out because the peers split texts each in its own way.
    """
    plain = {word: rank for rank, word in enumerate(words, 1) if re.fullmatch("[a-z]+", word)}
    if not plain:
        message = "the space holds no lower-case words of the letters a to z"
        raise ValueError(message)
    if not options.data:
        weights = 1 / np.array(list(plain.values()))
        draws = np.random.default_rng(SEED).choice(len(plain), size, p=weights / weights.sum())
        names = list(plain)
        return [names[draw] for draw in draws.tolist()]
    found: list[str] = []
    for text in read_texts(options.data / DATA_TEXT):
        found += [word for word in re.findall("[a-z]+", text.lower()) if word in plain]
        if len(found) >= size:
            break
    if not found:
        message = f"no word of the space occurs in {options.data / DATA_TEXT}"
        raise ValueError(message)
    return found[:size]


def read_texts(path: Path) -> Iterator[str]:
    """Give the reviews without their line-break tags."""
    parquet = importlib.import_module("pyarrow.parquet")  # needed for this file only
    with parquet.ParquetFile(path) as file:
        if "text" not in file.schema_arrow.names:
            message = f"{path} has no column 'text'"
            raise ValueError(message)
        for batch in file.iter_batches(columns=["text"]):
            for text in batch.column("text").to_pylist():
                yield text.replace("<br />", " ")


def write_inputs(
    folder: Path, names: Sequence[str], vectors: np.ndarray[Any, Any], words: Iterable[str]
) -> dict[str, Any]:
    """Write the space and the text for the workers; return their part of the job."""
    paths = {f"{name}_file": str(folder / f"{name}.txt") for name in ("glove", "word2vec", "words")}
    size, dimensions = vectors.shape
    # Nine digits carry a float32 exactly. White space ends a word in these formats, and a few
    # spaces have words with some inside.
    lines = [
        " ".join([re.sub(r"\s", "_", name), *(f"{value:.9g}" for value in vector.tolist())]) + "\n"
        for name, vector in zip(names, vectors, strict=True)
    ]
    with Path(paths["glove_file"]).open("w", encoding="utf-8") as file:
        file.writelines(lines)
    with Path(paths["word2vec_file"]).open("w", encoding="utf-8") as file:
        file.write(f"{size} {dimensions}\n")
        file.writelines(lines)
    Path(paths["words_file"]).write_text("\n".join(words), encoding="utf-8")
    return {**paths, "size": size, "dimensions": dimensions}


# The workers


def measure(subject: Subject, job: dict[str, Any], options: argparse.Namespace) -> Row:
    """Time one subject; whatever goes wrong becomes the row's error."""
    say(f"{subject.package}: {subject.label} ...")
    head: dict[str, Any] = {
        "package": subject.package,
        "kind": subject.kind,
        "mechanism": subject.label,
    }
    head["note"] = subject.note
    try:
        python = environment(options.work, subject)
        result = work(python, subject, job, options.limit)
        return Row(**head, **result)
    except (OSError, RuntimeError, subprocess.SubprocessError, ValueError) as error:
        text = " ".join(str(error).split()).replace("|", "/")
        say(f"  failed: {text}")
        return Row(**head, version=subject.version or "-", error=text)


def environment(work_folder: Path, subject: Subject) -> Path:
    """Return the interpreter with the peer's release, installing it the first time."""
    if not subject.version:
        return Path(sys.executable)
    tag = f"py{sys.version_info.major}.{sys.version_info.minor}"
    folder = work_folder.resolve() / f"{subject.package}-{subject.version}-{tag}"
    python = folder / "bin" / "python"
    complete = folder / "installed"  # written last: an interrupted installation is made anew
    if complete.exists():
        return python
    say(f"  installing {subject.package} {subject.version} into {folder}")
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    requirement = f"{subject.package}=={subject.version}"
    command = [str(python), "-m", "pip", "install", "--quiet", requirement]
    pip = subprocess.run(command, capture_output=True, text=True, check=False)
    if pip.returncode:
        message = f"installation failed: {last_line(pip.stderr)}"
        raise RuntimeError(message)
    complete.touch()
    return python


def work(python: Path, subject: Subject, inputs: dict[str, Any], limit: float) -> dict[str, Any]:
    """Run the subject's worker and return its result; RuntimeError if it has none."""
    script = WORKERS / f"{subject.package.replace('-', '_')}_worker.py"
    job = inputs | {
        "package": subject.package,
        "mechanism": subject.kind,
        "count": subject.count,
        "started": time.time(),
    }
    command = [str(python), str(script), json.dumps(job)]
    # A process group of its own, so that a worker's own processes end with it.
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(job["words_file"]).parent,
        start_new_session=True,
    ) as process:
        try:
            output, errors = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired as error:
            message = f"not done after {limit:g} s"
            raise RuntimeError(message) from error
        finally:
            end_session(process.pid)
    if process.returncode < 0:
        message = f"ended by signal {-process.returncode} ({signal.strsignal(-process.returncode)})"
        raise RuntimeError(message)
    if process.returncode:
        raise RuntimeError(last_line(errors))
    result: dict[str, Any] = json.loads(last_line(output))
    return result


def end_session(leader: int) -> None:
    """End what is left of a worker."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        return


def last_line(text: str) -> str:
    """Return the last line that is not blank."""
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no output"


# The report


def ratios(rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
    """Compare deniable with the fastest peer: per mechanism, and TEM with any of them."""
    done = [row for row in rows if row.words]
    result = {}
    for name, own_kind, kinds in (
        ("TEM", "tem", ("tem",)),
        (f"TEM, a call of {SHORT_CALL:,} words", "tem-short", ("tem",)),
        ("multivariate Laplace", "laplace", ("laplace",)),
        ("TEM, against any mechanism", "tem", ("tem", "laplace", "native")),
    ):
        own = [row for row in done if row.package == "deniable" and row.kind == own_kind]
        peers = [row for row in done if row.package != "deniable" and row.kind in kinds]
        if own and peers:
            fastest = max(peers, key=lambda row: row.rate)
            frugal = max(peers, key=lambda row: row.cpu_rate)
            result[name] = {
                "peer": f"{fastest.package} {fastest.mechanism}",
                "wall": own[0].rate / fastest.rate,
                "peer_cpu": f"{frugal.package} {frugal.mechanism}",
                "cpu": own[0].cpu_rate / frugal.cpu_rate,
            }
    return result


def print_report(report: dict[str, Any], rows: Sequence[Row]) -> None:
    """Print the markdown table and a line for each ratio."""
    space, machine = report["space"], report["machine"]
    show(
        f"epsilon {report['epsilon']:g}; {space['source']}: {space['words']:,} words, "
        f"{space['dimensions']} dimensions; text: {report['text']}; "
        f"{machine['processors']} processors, load {machine['load_before']:.1f} before; "
        f"{machine['platform']}; Python {machine['python']}\n"
    )
    show(table_line(HEADER))
    show(table_line(["---"] * len(HEADER)))
    for row in rows:
        show(table_line(row.cells()))
    show("")
    for name, ratio in report["ratios"].items():
        show(
            f"deniable {name}: {number(ratio['wall'])} times as many words per wall second as the "
            f"fastest peer ({ratio['peer']}), {number(ratio['cpu'])} times as many per CPU second "
            f"({ratio['peer_cpu']})"
        )
    if not report["ratios"]:
        show("no ratio: deniable or all of its peers could not be run")


def number(value: float) -> str:
    """Write a number with three digits or more, never with an exponent."""
    return f"{value:,.0f}" if value >= WHOLE_FROM else f"{value:.3g}"


def table_line(cells: Iterable[str]) -> str:
    """Return one line of a markdown table."""
    return f"| {' | '.join(cells)} |"


def show(line: str) -> None:
    """Print a line of the result."""
    sys.stdout.write(f"{line}\n")


def say(line: str) -> None:
    """Print a line of progress."""
    sys.stderr.write(f"{line}\n")


if __name__ == "__main__":
    main()
