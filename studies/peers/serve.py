"""Shared by the audit workers: open one mechanism of a package, then answer requests, a JSON line each.

A request is ``{"draw": [words]}``, answered by ``{"draw": [outputs], "raised": calls}``; or ``{"law": FILE}``,
answered by ``{"how": ..., "note": ..., "raising": [words]}`` after the matrix P (n, n) has been saved in FILE;
or ``{"points": FILE}``, answered by ``{"metric": ...}`` after the vectors have been saved whose Euclidean
distances the claim is about. What cannot be had is answered by ``{"missing": ...}``, whatever is raised by
``{"error": ...}``, both one line.

Imports only what every peer's own environment has: the standard library and numpy.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

TRIES = 20
Matrix = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Job:
    """What `audit_packages.py` asks of a worker. Paths are files that it wrote for this run."""

    package: str
    mechanism: str
    epsilon: float
    glove_file: str  # text, one "word x1 .. xd" per line
    word2vec_file: str  # the same after a "count dimensions" line
    dimensions: int
    size: int  # words in the space

    def words(self) -> list[str]:
        """Return the words of the space, in order."""
        with Path(self.glove_file).open(encoding="utf-8") as file:
            return [line.split(" ", 1)[0] for line in file]

    def vectors(self) -> Matrix:
        """Return the vectors (n, d), in order."""
        with Path(self.glove_file).open(encoding="utf-8") as file:
            return np.array([[float(value) for value in line.split()[1:]] for line in file])


@dataclass(frozen=True)
class Law:
    """The law of one word's output for every word of the space, and how it was read off."""

    matrix: Matrix  # (n, n)
    how: str
    note: str = ""  # what else was seen on the way
    raising: tuple[str, ...] = ()  # words for which the package's call always raises


class Mechanism:
    """One word mechanism of a package; a worker's own part overrides what it can."""

    def __init__(self, job: Job) -> None:
        """Keep the job; subclasses open the package's object."""
        self.job = job
        self.raised = 0

    def again(self, call: Callable[[str], str], word: str) -> str:
        """Return the first answer of a call that may raise at random; count how often it did."""
        for _ in range(TRIES):
            try:
                return call(word)
            except Exception:  # noqa: BLE001 - packages raise what their libraries raise
                self.raised += 1
        return call(word)

    def draw(self, words: list[str]) -> list[str]:
        """Return one output for each word, by the package's public call."""
        raise NotImplementedError

    def law(self) -> Law:
        """Return the exact law, or raise NotImplementedError where the code does not compute one."""
        message = "the code computes no law"
        raise NotImplementedError(message)

    def points(self) -> tuple[Matrix, str]:
        """Return vectors (n, k) whose Euclidean distance is the one of the claim, and its name."""
        return self.job.vectors(), "Euclidean distance of the vectors"


class Recording:
    """Numpy, but `argsort` keeps what it is given and what it returns."""

    def __init__(self, seen: dict[str, Any]) -> None:
        """Keep in the given place."""
        self.seen = seen

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - anything of numpy
        """Return numpy's own."""
        return getattr(np, name)

    def argsort(self, values: Matrix) -> Any:  # noqa: ANN401 - numpy's own
        """Sort, and keep."""
        order = np.argsort(values)
        self.seen.setdefault("sorted", []).append(values)
        self.seen.setdefault("order", []).append(order)
        return order


def require_size(loaded: int, job: Job) -> None:
    """Raise RuntimeError unless the package holds every word of the space."""
    if loaded != job.size:
        message = f"{job.package} loaded {loaded} of {job.size} words"
        raise RuntimeError(message)


def gumbel_row(scores: Matrix, scale: float) -> Matrix:
    """Return the law of the argmax of scores plus independent Gumbel(0, scale) noise."""
    weights: Matrix = np.exp((scores - scores.max()) / scale)
    law: Matrix = weights / weights.sum()
    return law


def main(open_mechanism: Callable[[Job], AbstractContextManager[Mechanism]]) -> None:
    """Open the mechanism of the job in the first argument and answer requests until the input ends."""
    # Packages print to the standard output; the answers need it for themselves.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)
        job = Job(**json.loads(sys.argv[1]))
        with open_mechanism(job) as mechanism:
            send(answers, {"ready": True})
            for line in sys.stdin:
                send(answers, answer(mechanism, json.loads(line)))


def send(answers: TextIO, reply: dict[str, Any]) -> None:
    """Write one line and hand it over."""
    answers.write(f"{json.dumps(reply)}\n")
    answers.flush()


def answer(mechanism: Mechanism, request: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to one request; an exception becomes a line of text."""
    try:
        if "draw" in request:
            mechanism.raised = 0
            return {"draw": [str(word) for word in mechanism.draw(request["draw"])], "raised": mechanism.raised}
        if "law" in request:
            law = mechanism.law()
            np.save(request["law"], law.matrix)
            return {"how": law.how, "note": law.note, "raising": law.raising}
        points, metric = mechanism.points()
        np.save(request["points"], points)
    except NotImplementedError as error:
        return {"missing": str(error)}
    except Exception as error:  # noqa: BLE001 - whatever a package raises is a finding of the audit
        return {"error": " ".join(f"{type(error).__name__}: {error}".split())}
    return {"metric": metric}
