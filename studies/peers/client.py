"""A worker in a package's own environment, asked over a pipe; and the spaces that are audited."""

from __future__ import annotations

import json
import re
import subprocess
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from claims import GLOVE, LINE, NEEDLE, Case
from compare_speed import WORKERS, end_session, last_line, write_inputs

import deniable as dn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Matrix = np.ndarray[Any, np.dtype[np.float64]]
PAIRS = 10


@dataclass(frozen=True)
class Words:
    """The space given to a package: its words, vectors, and the pairs of a black-box audit."""

    name: str
    names: list[str]
    vectors: Matrix
    pairs: tuple[tuple[str, str], ...] = ()  # empty: the nearest ones

    def nearest(self, points: Matrix) -> list[tuple[str, str]]:
        """Return the pairs to audit, each a word and its nearest one by the claim's distance."""
        if self.pairs:
            return list(self.pairs)
        apart = np.linalg.norm(points[:, None, :] - points[None, :, :], axis=2)
        np.fill_diagonal(apart, np.inf)
        found: dict[frozenset[int], tuple[str, str]] = {}
        for w in np.argsort(apart.min(axis=1)).tolist():
            other = int(apart[w].argmin())
            found.setdefault(frozenset((w, other)), (self.names[w], self.names[other]))
        return list(found.values())[:PAIRS]


def words(source: str, size: int) -> Words:
    """Return a space by its name, or the first words of a file of vectors."""
    if source == LINE:
        return Words(LINE, ["left", "middle", "right"], np.array([[-1.0, 0], [0, 0], [1, 0]]), (("left", "middle"),))
    if source == NEEDLE:
        return needle()
    space = (
        dn.Space.glove(hide=(), metric="euclidean")
        if source == GLOVE
        else dn.Space.load(source, limit=4 * size, hide=(), metric="euclidean")
    )
    names = [word for word in space.words if re.fullmatch("[a-z]+", word)][:size]
    vectors = space.vectors[[space.index_by_word[word] for word in names]]
    return Words(Path(source).stem, names, vectors.astype(np.float32).astype(np.float64))


def needle() -> Words:
    """Return words on a line in 9 dimensions, with little variance in the other 8.

    There the Mahalanobis norm is about a third of the Euclidean length along the line, and "far"
    is the word from which "end" is reached least.
    """
    others = np.vstack([np.eye(9)[1:], -np.eye(9)[1:]]) * 0.3 - 10 * np.eye(9)[0]
    vectors = np.vstack([np.outer([0.0, 7.0, 25.0], np.eye(9)[0]), others])
    names = ["far", "near", "end", *(f"other{letter}" for letter in "abcdefghijklmnop")]
    return Words(NEEDLE, names, vectors, (("near", "far"),))


class RefusedError(RuntimeError):
    """A worker's answer that is no result: what the package cannot do, or raised."""


class Worker:
    """Asks one worker."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        """Wait until the mechanism is open."""
        self.process, self.folder = process, folder
        self.raised = self.calls = 0
        self.read()

    def read(self) -> dict[str, Any]:
        """Return the next answer."""
        if self.process.stdout is None or not (line := self.process.stdout.readline()):
            message = last_line((self.folder / "worker.err").read_text(encoding="utf-8", errors="replace"))
            raise RuntimeError(f"worker ended: {message}")
        answer: dict[str, Any] = json.loads(line)
        if trouble := answer.get("error") or answer.get("missing"):
            raise RefusedError(trouble)
        return answer

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send a request and return its answer; RefusedError if there is none."""
        if self.process.stdin is None:
            message = "the worker has no input"
            raise RuntimeError(message)
        self.process.stdin.write(f"{json.dumps(request)}\n")
        self.process.stdin.flush()
        return self.read()

    def draw(self, inputs: Sequence[str]) -> list[str]:
        """Return one output for each input, drawn now."""
        answer = self.ask({"draw": list(inputs)})
        self.calls += len(inputs)
        self.raised += answer["raised"]
        outputs: list[str] = answer["draw"]
        return outputs

    def law(self) -> tuple[Matrix, dict[str, Any]]:
        """Return P (n, n) and how it was read off."""
        path = self.folder / "law.npy"
        answer = self.ask({"law": str(path)})
        return np.load(path), answer

    def points(self) -> tuple[Matrix, str]:
        """Return the vectors whose Euclidean distances the claim is about, and that distance's name."""
        path = self.folder / "points.npy"
        answer = self.ask({"points": str(path)})
        return np.load(path), answer["metric"]


@contextmanager
def opened(python: Path, case: Case, epsilon: float, given: Words, folder: Path, limit: float) -> Iterator[Worker]:
    """Start a fresh worker on the words, in a folder of this run; end it, after `limit` seconds at the latest."""
    folder.mkdir()
    files = write_inputs(folder, given.names, given.vectors, [])
    job = {name: files[name] for name in ("glove_file", "word2vec_file", "dimensions", "size")}
    job |= {"package": case.package, "mechanism": case.mechanism, "epsilon": epsilon}
    script = WORKERS / f"{case.package.replace('-', '_')}_audit.py"
    with (
        (folder / "worker.err").open("w", encoding="utf-8") as errors,
        # A process group of its own, so that a worker's own processes end with it.
        subprocess.Popen(
            [str(python), str(script), json.dumps(job)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            cwd=folder,
            start_new_session=True,
        ) as process,
    ):
        timer = threading.Timer(limit, end_session, [process.pid])
        timer.start()
        try:
            yield Worker(process, folder)
        finally:
            timer.cancel()
            end_session(process.pid)
