"""How long proofs and calibrations take, as ratios to the arithmetic that cannot be avoided.

    python benchmarks/verify.py [--data DIR] [--parts curve,metrics,geodesic,gumbel,command]

The floor of a verification is two float64 matrix products of all vectors with each other and two
passes of exponentials over the n^2 results, on all cores, measured in the same run. (Verification
uses that d(x, y) = d(y, x) and needs no second exponential, so that it can be below its floor.)

- curve: TEM verified, calibrated and tight found, for 5,000 ... 50,000 words in 50 dimensions and,
  with --data DIR (glove.840B.300d.33860.npz), 33,860 words in 300.
- metrics: the angular metric at the two full sizes.
- geodesic: the geodesic metric: its graph found, TEM verified, calibrated found, for 10,000, 25,000 and 50,000 words;
  and what an attacker recovers from calibrated under it and under the Euclidean metric.
- gumbel: truncated Gumbel exactly, all pairs and outputs of 2,000 words.
- command: the README's first command, with nothing cached and a second time.

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
from deniable.space.blocks import BLOCK_ROWS
from deniable.words.calibrated_exponential import calibrate_scale

ROOT = Path(__file__).resolve().parents[1]
EPSILON = 3.0
SIZES = (5_000, 10_000, 20_000, 30_000, 40_000, 50_000)
HEADINGS = ("space", "metric", "epsilon", "floor s", "verify s", "ratio", "calibrated s", "tight s", "peak MB")


def seconds(work: Callable[[], object]) -> float:
    """Return the wall time of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def floor(space: dn.Space) -> float:
    """Return the time of two products and two passes of exponentials over all pairs."""
    points = space.points
    transposed = np.ascontiguousarray(points.T)
    starts = range(0, len(points), BLOCK_ROWS)
    local = threading.local()

    def block(start: int) -> None:
        if not hasattr(local, "buffer"):
            local.buffer = np.empty((BLOCK_ROWS, len(points)))
        rows = points[start : start + BLOCK_ROWS]
        out = local.buffer[: len(rows)]
        np.matmul(rows, transposed, out=out)
        np.multiply(out, -1e-3, out=out)
        np.exp(out, out=out)

    return 2 * seconds(lambda: parallel_map(block, starts))


def peak() -> float:
    """Return the most memory that this process has held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def line(space: dn.Space, epsilon: float) -> tuple[str, ...]:
    """Return one row of the table of proofs and calibrations."""
    least = floor(space)
    mechanism = dn.TEM(space, epsilon=epsilon)
    verify = seconds(lambda: dn.verify(mechanism, cache=False))
    calibrated = seconds(lambda: calibrate_scale(space, epsilon))
    with tempfile.TemporaryDirectory() as cache:
        os.environ["DENIABLE_CACHE"] = cache
        tight = seconds(lambda: dn.TightExponential(space, epsilon=epsilon).kernel)
    count, dimensions = space.vectors.shape
    return (
        f"{count:,} x {dimensions}",
        space.metric.name,
        f"{epsilon:g}",
        f"{least:.1f}",
        f"{verify:.1f}",
        f"{verify / least:.2f}",
        f"{calibrated:.1f}",
        f"{tight:.1f}",
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


def geodesic() -> None:
    """Print how long proofs and calibrations take under the geodesic metric, and how long its graph."""
    print("\n| space | edges | graph s | verify s | calibrated s | of processor s |\n|---|---:|---:|---:|---:|---:|")
    for size in (10_000, 25_000, 50_000):
        space = dn.Space.glove(size, metric="geodesic", hide=())
        with bypass_cache():
            before = time.process_time()
            graph = seconds(lambda space=space: space.edges)  # type: ignore[misc]
            verify = seconds(lambda space=space: dn.verify(dn.TEM(space, epsilon=EPSILON)))  # type: ignore[misc]
            calibrated = seconds(lambda space=space: calibrate_scale(space, EPSILON))  # type: ignore[misc]
            busy = time.process_time() - before
        edges = 0 if space.edges is None else len(space.edges.lengths)
        print(f"| {size:,} x 50 | {edges:,} | {graph:.1f} | {verify:.1f} | {calibrated:.1f} | {busy:.1f} |", flush=True)
    for metric in ("euclidean", "geodesic"):
        mechanism = dn.CalibratedExponential(dn.Space.glove(metric=metric, hide=()), epsilon=EPSILON)
        print(f"\ncalibrated at {EPSILON:g}, {metric} distance: {dn.recovery(mechanism):.3f} recovered", flush=True)


def gumbel() -> None:
    """Print how long the exact epsilon of truncated Gumbel takes on 2,000 words."""
    whole = dn.Space.glove(hide=())
    numbers = [number for number, word in enumerate(whole.words) if word.isalpha()][:2000]
    space = dn.Space([whole.words[number] for number in numbers], whole.vectors[numbers])
    for epsilon in (80.0, 400.0, 1e4):
        verdict = dn.verify(dn.TruncatedGumbel(space, epsilon=epsilon), cache=False)
        print(
            f"\ntruncated Gumbel at {epsilon:g} on 2,000 words: {verdict.status}, exact {verdict.epsilon:.6g} "
            f"(at least {verdict.lower_bound:.6g}), {verdict.seconds:.1f} s",
            flush=True,
        )


def command() -> None:
    """Print how long the README's first command takes, installed afresh with nothing cached, and again."""
    script = shutil.which("deniable", path=str(Path(sys.executable).parent))
    if script is None:
        raise SystemExit("deniable is not installed beside this Python.")
    with tempfile.TemporaryDirectory() as folder:
        # Neither facts nor compiled code are cached.
        environment = {**os.environ, "DENIABLE_CACHE": f"{folder}/facts", "NUMBA_CACHE_DIR": f"{folder}/code"}
        arguments = [script, "privatize", "examples/reviews.csv", "--column", "text", "--epsilon", "3"]
        for label in ("cold", "warm"):
            output = ["--output", f"{folder}/{label}.csv"]
            spent = seconds(
                lambda output=output: subprocess.run(  # type: ignore[misc]
                    [*arguments, *output], cwd=ROOT, env=environment, check=True, capture_output=True
                )
            )
            print(f"\nREADME's first command, {label}: {spent:.1f} s", flush=True)


def main() -> None:
    """Print the parts asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, help="folder with glove.840B.300d.33860.npz")
    parser.add_argument("--parts", default="curve,metrics,geodesic,gumbel,command")
    options = parser.parse_args()
    parts = options.parts.split(",")
    # Compile first: the table is about arithmetic.
    line(dn.Space.glove(1_000, hide=()), EPSILON)
    if "curve" in parts:
        table(line(space, EPSILON) for space in spaces(options.data, whole=False, metric="euclidean"))
    if "metrics" in parts:
        table(line(space, 10.0) for space in spaces(options.data, whole=True, metric="angular"))
    if "geodesic" in parts:
        geodesic()
    if "gumbel" in parts:
        gumbel()
    if "command" in parts:
        command()


if __name__ == "__main__":
    main()
