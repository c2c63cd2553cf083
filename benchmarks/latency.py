"""How long few words take: one text, small batches, and the first call of a process.

Every figure is CPU time of this process, since other programs may run. The floor of one text is what its draws cannot
do without: a search to the last ring but one for 8 of its 20 words, about the share of draws that come from the last
two rings at an epsilon of 2.7; timed alone.

    python benchmarks/latency.py

Not measured: whole tables (`throughput.py`), proofs (`steps.py`, `verify.py`).
"""

import argparse
import functools
import json
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

import deniable as dn
from deniable.core.arrays import FloatArray
from deniable.space.steps import count_levels

TEXT_WORDS = 20
BATCHES = (1, 10, 100, 2_000)
SEARCHES = 8
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


def report_texts(space: dn.Space, epsilon: float) -> None:
    """Print the time of one text, beside its floor, and the words per second of small batches."""
    graph = space.graph
    if graph is None:
        raise TypeError("the space counts no steps")
    release = dn.Release(dn.mechanism("auto", space, epsilon=epsilon))
    texts = make_texts(space, max(BATCHES))
    release.batch(texts)
    places = iter(range(10**6))
    seconds = measure_seconds(lambda: release.batch([texts[next(places) % len(texts)]]), 2_000)
    sources = np.random.default_rng(1).integers(graph.word_count, size=SEARCHES)

    def search() -> None:
        for source in sources:
            count_levels(graph.searched, source, np.empty((1, graph.reach), dtype=np.int64))

    search()
    floor = float(np.median(measure_seconds(search, 50)))
    median, late = np.quantile(seconds, [0.5, 0.99])
    print(f"one text of {TEXT_WORDS} words: {1e3 * median:.2f} ms CPU median, {1e3 * late:.2f} ms at 99%; floor")
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
    parser.add_argument("--epsilon", type=float, default=2.7)
    parser.add_argument("--hide-nothing", action="store_true", help="All 50,000 words at points of their own.")
    options = parser.parse_args()
    space = dn.Space.glove(hide=()) if options.hide_nothing else dn.Space.glove()
    report_first_call()
    report_texts(space, options.epsilon)


if __name__ == "__main__":
    main()
