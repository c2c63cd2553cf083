"""How long proofs and calibrations take under distances of vectors, as ratios to arithmetic that cannot be avoided.

    python benchmarks/verify.py [--data DIR] [--parts curve,metrics,large,gumbel,start,command]

All times are processor seconds, of all cores together, so that other work on the machine counts for less. The floor is
what a proof must compute of every pair: a float64 product, square root and exponential for the normalisers; measured
on all cores in the same run.

- curve: TEM verified, its outcomes and largest loss found, calibrated and tight found, for 5,000 ... 50,000 words in 50
  dimensions and, with --data DIR (glove.840B.300d.33860.npz), 33,860 words in 300.
- metrics: the angular metric at the two full sizes.
- large: TEM verified and calibrated found for 50,000, 100,000 and 200,000 words of GloVe 6B in 50 dimensions
  (--sizes for others), and what its 400,000 words would take on the line n^2.
- gumbel: truncated Gumbel exactly, all pairs and outputs of 2,000 words.
- start: importing the package, and one word drawn in a small space.
- command: the README's first command, with nothing cached, with compiled code alone cached, and with all of it; tune
  and measure with compiled code alone cached.

Nothing is cached except where it says so. Peak memory is the process's, up to that line.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import deniable as dn
from deniable.core.cache import bypass_cache
from deniable.core.parallel import parallel_map
from deniable.space.vector_distances import BLOCK_ROWS
from deniable.words.calibrated_exponential import calibrate_scale

ROOT = Path(__file__).resolve().parents[1]
EPSILON = 3.0
SIZES = (5_000, 10_000, 20_000, 30_000, 40_000, 50_000)
LARGE_SIZES = "50000,100000,200000"
WHOLE_LIST = 400_000
HEADINGS = ("space", "metric", "epsilon", "floor s", "verify", "outcomes", "loss", "calibrated", "tight", "peak MB")


def seconds(work: Callable[[], object]) -> float:
    """Return the processor time of one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def floor(space: dn.Space) -> float:
    """Return the time of a float64 product, square root and exponential for every pair."""
    points = space.points
    local = threading.local()

    def block(first: int) -> None:
        if not hasattr(local, "buffer"):
            local.buffer = np.empty((BLOCK_ROWS, len(points)))
        rows = points[first : first + BLOCK_ROWS]
        out = local.buffer[: len(rows)]
        np.matmul(rows, points.T, out=out)
        np.abs(out, out=out)
        np.sqrt(out, out=out)
        np.negative(out, out=out)
        np.exp(out, out=out)

    return seconds(lambda: parallel_map(block, range(0, len(points), BLOCK_ROWS)))


def peak() -> float:
    """Return the most memory that this process has held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def line(space: dn.Space, epsilon: float) -> tuple[str, ...]:
    """Return one row of the table of proofs and calibrations."""
    least = floor(space)
    mechanism = dn.TEM(space, epsilon=epsilon)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["DENIABLE_CACHE"] = cache
        # Each has what those before it leave in the cache, as in a command: the normalisers.
        verify = seconds(lambda: dn.verify(mechanism))
        outcomes = seconds(mechanism.outcomes)
        loss = seconds(mechanism.law.worst_loss)
    with bypass_cache():
        calibrated = seconds(lambda: calibrate_scale(space, epsilon))
        tight = seconds(lambda: dn.TightExponential(space, epsilon=epsilon).kernel)
    count, dimensions = space.vectors.shape
    return (
        f"{count:,} x {dimensions}",
        space.metric.name,
        f"{epsilon:g}",
        f"{least:.1f}",
        *(f"{spent:.1f} ({spent / least:.2f})" for spent in (verify, outcomes, loss, calibrated, tight)),
        f"{peak():,.0f}",
    )


def spaces(data: Path | None, *, whole: bool, metric: str) -> Iterator[dn.Space]:
    """Yield the spaces of the curve, or the two full ones."""
    for size in SIZES[-1:] if whole else SIZES:
        yield dn.Space.glove(size, metric=metric, hide=())
    if data is not None:
        yield dn.Space.load(data / "glove.840B.300d.33860.npz", metric=metric, hide=())


def table(rows: Iterator[tuple[str, ...]]) -> None:
    """Print the table of proofs and calibrations."""
    print("\n| " + " | ".join(HEADINGS) + " |")
    print("|---|---|" + "---:|" * (len(HEADINGS) - 2))
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)


def gumbel() -> None:
    """Print how long the exact epsilon of truncated Gumbel takes on 2,000 words."""
    whole = dn.Space.glove(hide=(), metric="euclidean")
    numbers = [number for number, word in enumerate(whole.words) if word.isalpha()][:2000]
    space = dn.Space([whole.words[number] for number in numbers], whole.vectors[numbers])
    for epsilon in (80.0, 400.0, 1e4):
        verdict = dn.verify(dn.TruncatedGumbel(space, epsilon=epsilon), cache=False)
        print(
            f"\ntruncated Gumbel at {epsilon:g} on 2,000 words: {verdict.status}, exact {verdict.epsilon:.6g} "
            f"(at least {verdict.lower_bound:.6g}), {verdict.seconds:.1f} s",
            flush=True,
        )


def large(sizes: list[int]) -> None:
    """Print how long proofs and calibrations of large lists take, and what the whole one would."""
    print("\n| space | floor s | verify | calibrated | wall s of both | peak MB |\n|---|---:|---:|---:|---:|---:|")
    rate = 0.0
    for size in sizes:
        space = dn.Space.glove(size, metric="euclidean", hide=())
        least, start = floor(space), time.perf_counter()
        with bypass_cache():
            verify = seconds(lambda space=space: dn.verify(dn.TEM(space, epsilon=EPSILON)))  # type: ignore[misc]
            calibrated = seconds(lambda space=space: calibrate_scale(space, EPSILON))  # type: ignore[misc]
        wall = time.perf_counter() - start
        rate = (verify + calibrated) / size**2
        times = (f"{spent:.1f} ({spent / least:.2f})" for spent in (verify, calibrated))
        print(f"| {size:,} x 50 | {least:.1f} | {' | '.join(times)} | {wall:.1f} | {peak():,.0f} |", flush=True)
    if WHOLE_LIST not in sizes:
        print(
            f"\n{WHOLE_LIST:,} words, extrapolated: {rate * WHOLE_LIST**2 / 60:.0f} processor min for both", flush=True
        )


def start() -> None:
    """Print what it takes to import the package, and to draw one word in a small space, with compiled code cached."""
    draw = (
        "import deniable as dn; "
        "dn.CalibratedExponential(dn.Space(['a', 'b', 'c'], [[0.0], [1.0], [3.0]]), epsilon=1.0)('a')"
    )
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "DENIABLE_CACHE": f"{folder}/facts", "NUMBA_CACHE_DIR": f"{folder}/code"}
        run([sys.executable, "-c", draw], environment)
        for label, code in (
            ("nothing", "pass"),
            ("numba", "import numba"),
            ("package", "import deniable"),
            ("draw", draw),
        ):
            wall, spent = run([sys.executable, "-c", code], {**environment, "DENIABLE_CACHE": f"{folder}/{label}"})
            print(f"\nstart, {label}: {spent:.2f} processor s, {wall:.2f} s", flush=True)


def command() -> None:
    """Print how long the README's first command takes with nothing cached, then with more; and tune and measure."""
    script = shutil.which("deniable", path=str(Path(sys.executable).parent))
    if script is None:
        raise SystemExit("deniable is not installed beside this Python.")
    table = "examples/reviews.csv"
    privatize = ["privatize", table, "--column", "text", "--epsilon", "3"]
    tune = ["tune", table, "--column", "text", "--max-recovery", "0.2"]
    measure = ["measure", table, "--column", "text", "--epsilons", "3"]
    with tempfile.TemporaryDirectory() as folder:
        for label, arguments, facts in (
            ("privatize, nothing cached", [*privatize, "--output", f"{folder}/cold.csv"], "cold"),
            ("privatize, compiled code cached", [*privatize, "--output", f"{folder}/new.csv"], "new"),
            ("privatize, all cached", [*privatize, "--output", f"{folder}/warm.csv"], "new"),
            ("tune, compiled once", tune, "tune"),
            ("tune, compiled code cached", tune, "tune-new"),
            ("measure, compiled once", [*measure, "--output", f"{folder}/one.html"], "measure"),
            ("measure, compiled code cached", [*measure, "--output", f"{folder}/two.html"], "measure-new"),
        ):
            caches = {"DENIABLE_CACHE": f"{folder}/{facts}", "NUMBA_CACHE_DIR": f"{folder}/code"}
            wall, spent = run([script, *arguments], {**os.environ, **caches})
            print(f"\n{label}: {spent:.1f} processor s, {wall:.1f} s", flush=True)


def run(arguments: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Return the wall time and the processor time of a command."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(arguments, cwd=ROOT, env=environment, check=True, capture_output=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print the parts asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, help="folder with glove.840B.300d.33860.npz")
    parser.add_argument("--parts", default="curve,metrics,large,gumbel,start,command")
    parser.add_argument("--sizes", default=LARGE_SIZES, help="words of the part large")
    options = parser.parse_args()
    parts = options.parts.split(",")
    if not {*parts} <= {"start", "command"}:
        line(
            dn.Space.glove(1_000, metric="euclidean", hide=()), EPSILON
        )  # Compile first: the tables are about arithmetic.
    if "curve" in parts:
        table(line(space, EPSILON) for space in spaces(options.data, whole=False, metric="euclidean"))
    if "metrics" in parts:
        table(line(space, 10.0) for space in spaces(options.data, whole=True, metric="angular"))
    if "large" in parts:
        large([int(size) for size in options.sizes.split(",")])
    if "gumbel" in parts:
        gumbel()
    if "start" in parts:
        start()
    if "command" in parts:
        command()


if __name__ == "__main__":
    main()
