"""How long few words take: one text, small batches, all block sums of a law, and the first call of a process.

Every figure is CPU time of this process but where wall time is said, since other programs may run. The floor of one
text is what its draws compute: for each word the distances and exponentials of one block of points, timed alone.

    python benchmarks/latency.py

Not measured: whole tables (`throughput.py`), proofs (`verify.py`).
"""

import argparse
import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import deniable as dn
from deniable.core.arrays import FloatArray
from deniable.space.vector_distances import PANEL_SIZE, EuclideanPanels
from deniable.words.laws.exponentials import write_decays

TEXT_WORDS = 20
BATCHES = (1, 10, 100, 2_000)
ROWS = 500
FIRST_CALL = """
import resource, sys
import {module}
{call}
usage = resource.getrusage(resource.RUSAGE_SELF)
print(usage.ru_utime + usage.ru_stime)
"""
SMALL_CALL = """
import deniable as dn
space = dn.Space(["a", "b", "c"], [[0.0, 1.0], [1.0, 0.0], [3.0, 3.0]])
dn.TEM(space, epsilon=3.0)("a")
"""


def measure_seconds(function: Callable[[], object], repeats: int) -> FloatArray:
    """Return the CPU seconds of each of some calls."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        seconds.append(time.process_time() - start)
    return np.array(seconds)


def make_texts(space: dn.Space, count: int) -> list[str]:
    """Return texts of 20 words of a space that is public, by Zipf's law of their ranks."""
    generator = np.random.default_rng(0)
    ranks = np.minimum(generator.zipf(1.1, size=(count, TEXT_WORDS)), len(space)) - 1
    return [" ".join(space.words[rank] for rank in row) for row in ranks]


def report_laws(space: dn.Space, epsilon: float) -> None:
    """Print what the block sums of all words cost, beside their rows, and what loading them takes."""
    mechanism = dn.TEM(space, epsilon=epsilon)
    points = np.random.default_rng(1).integers(len(space.points), size=ROWS)
    mechanism.law.rows(points[:2])
    start = time.process_time()
    mechanism.law.map_rows(lambda first, _: first, points, 1)
    by_rows = (time.process_time() - start) / ROWS * len(space.points)
    for _ in range(2):  # the first compiles
        with tempfile.TemporaryDirectory() as folder:
            os.environ["DENIABLE_CACHE"] = folder
            cpu, wall = time.process_time(), time.perf_counter()
            dn.TEM(space, epsilon=epsilon).law.prepare_draws()
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            size = max(path.stat().st_size for path in Path(folder).iterdir())
            loaded = dn.TEM(space, epsilon=epsilon)
            start = time.perf_counter()
            loaded.law.prepare_draws()
            load = time.perf_counter() - start
    print(f"laws of all {len(space.points):,} points: {by_rows:.1f} CPU-s by rows, {cpu:.1f} CPU-s by block sums")
    print(f"  ({wall:.1f} s wall), {size / 1e6:.0f} MB, ready in {1e3 * load:.1f} ms the next time")


def report_texts(space: dn.Space, epsilon: float) -> None:
    """Print the time of one text, beside its floor, and the words per second of small batches."""
    mechanism = dn.TEM(space, epsilon=epsilon)
    mechanism.law.prepare_draws()
    release = dn.Release(mechanism)
    texts = make_texts(space, max(BATCHES))
    release.batch(texts)
    places = iter(range(10**6))
    seconds = measure_seconds(lambda: release.batch([texts[next(places) % len(texts)]]), 2_000)
    panels = EuclideanPanels.of(space.points[:PANEL_SIZE])
    block = np.empty((1, PANEL_SIZE))

    def compute_blocks() -> None:
        for _ in range(TEXT_WORDS):
            panels(space.points[:1], block)
            write_decays(block[0], 1.0, np.inf)

    compute_blocks()
    floor = float(np.median(measure_seconds(compute_blocks, 200)))
    median, late = np.quantile(seconds, [0.5, 0.99])
    print(f"one text of {TEXT_WORDS} words: {1e3 * median:.2f} ms CPU median, {1e3 * late:.2f} ms at 99 %; floor")
    print(f"  {1e3 * floor:.2f} ms, ratio {median / floor:.1f}")
    for count in BATCHES:
        call = functools.partial(release.batch, texts[:count])
        per_call = float(np.median(measure_seconds(call, max(3, 2_000 // count))))
        print(f"  {count:,} texts a call: {count * TEXT_WORDS / per_call:,.0f} words per CPU second")


def report_first_call() -> None:
    """Print the CPU seconds of a process that imports and calls once, beside one that imports numba alone."""
    figures = {}
    for name, module, call in (("numba", "numba", ""), ("deniable and one call", "deniable", SMALL_CALL)):
        command = [sys.executable, "-c", FIRST_CALL.format(module=module, call=call)]
        runs = [float(subprocess.run(command, check=True, capture_output=True, text=True).stdout) for _ in range(5)]
        figures[name] = sorted(runs)[2]
    print(f"a process, CPU s: {json.dumps({name: round(value, 2) for name, value in figures.items()})}")


def main() -> None:
    """Print all parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epsilon", type=float, default=3.0)
    parser.add_argument("--hide-nothing", action="store_true", help="All 50,000 words at points of their own.")
    options = parser.parse_args()
    space = dn.Space.glove(hide=()) if options.hide_nothing else dn.Space.glove()
    report_first_call()
    report_laws(space, options.epsilon)
    report_texts(space, options.epsilon)


if __name__ == "__main__":
    main()
