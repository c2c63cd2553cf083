"""Shared by the workers: read a job, time one mechanism under it, print one JSON line.

Imports only the standard library, because it runs in every peer's own environment.
"""

from __future__ import annotations

import importlib.metadata
import itertools
import json
import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    Privatize = Callable[[list[str]], object]

FIRST_CALL = 10  # words: enough to load and compile what is loaded and compiled on first use


@dataclass(frozen=True)
class Job:
    """What `compare_speed.py` asks of a worker. Paths are files that it wrote for this run."""

    package: str
    mechanism: str  # "laplace", "tem", "tem-short" or "native"
    epsilon: float
    space: str  # "glove" or a file that deniable reads; only deniable's worker uses it
    glove_file: str  # text, one "word x1 .. xd" per line
    word2vec_file: str  # the same after a "count dimensions" line
    words_file: str  # the text to privatize, one word per line, in order
    dimensions: int
    size: int  # words in the space
    seconds: float  # time budget, used when count is 0
    count: int  # words to privatize in one call, 0 for as many as the budget allows
    started: float  # time.time() when the worker was started


class OpenMechanism(Protocol):
    """A worker's own part: set the mechanism up, give the call to time, clean up."""

    def __call__(self, job: Job) -> AbstractContextManager[Privatize]:
        """Yield the function that privatizes a list of words."""


def main(open_mechanism: OpenMechanism) -> None:
    """Time `open_mechanism` under the job in the first argument."""
    job = Job(**json.loads(sys.argv[1]))
    words = Path(job.words_file).read_text(encoding="utf-8").split()
    with open_mechanism(job) as privatize:
        privatize(words[:FIRST_CALL])
        setup = time.time() - job.started
        cpu = cpu_seconds()
        if job.count:
            done, wall = in_one_call(privatize, words, job.count)
        else:
            done, wall = within_budget(privatize, words, job.seconds)
    # Read only now: the CPU time of a process pool counts once its processes have ended.
    cpu = cpu_seconds() - cpu
    result = {
        "version": importlib.metadata.version(job.package),
        "words": done,
        "wall": wall,
        "cpu": cpu,
        "setup": setup,
    }
    sys.stdout.write(f"\n{json.dumps(result)}\n")


def in_one_call(privatize: Privatize, words: list[str], count: int) -> tuple[int, float]:
    """Words done and wall seconds of one call on `count` words."""
    batch = list(itertools.islice(itertools.cycle(words), count))
    started = time.perf_counter()
    privatize(batch)
    return count, time.perf_counter() - started


def within_budget(privatize: Privatize, words: list[str], seconds: float) -> tuple[int, float]:
    """Words done and wall seconds of calls on 1, 2, 4, ... words until the budget is used."""
    stream = itertools.cycle(words)
    done, wall, size = 0, 0.0, 1
    while size:
        batch = list(itertools.islice(stream, size))
        started = time.perf_counter()
        privatize(batch)
        wall += time.perf_counter() - started
        done += size
        affordable = int(done / wall * (seconds - wall))
        size = max(0, min(2 * size, affordable))
    return done, wall


def cpu_seconds() -> float:
    """User and system time of this process, its threads and its ended children."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def require_size(loaded: int, job: Job) -> None:
    """Raise RuntimeError unless the peer holds every word of the space."""
    if loaded != job.size:
        message = f"{job.package} loaded {loaded} of {job.size} words"
        raise RuntimeError(message)
