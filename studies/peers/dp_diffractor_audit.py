"""Audit worker for `dp-diffractor`: words go as texts of one word through `Diffractor.rewrite`."""

from __future__ import annotations

import importlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
import serve
from dp_diffractor_worker import open_diffractor

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HIGHEST = 1e9
PROBES = 20  # words at which the fallback of TEM, and the clipping of geometric noise, are tried out
SEED = 20_210_607


class Words(serve.Mechanism):
    """One word list, sorted by the package; the claim is about positions in it."""

    def __init__(self, job: serve.Job, peer: Any) -> None:  # noqa: ANN401 - the package is not typed
        """Keep the package's object."""
        super().__init__(job)
        self.peer = peer
        self.core: Any = importlib.import_module("diffractor.core")
        self.listed: list[str] = peer.mgr.lists[0]
        serve.require_size(len(self.listed), job)
        self.number = {word: i for i, word in enumerate(job.words())}
        self.columns = [self.number[word] for word in self.listed]

    def draw(self, words: list[str]) -> list[str]:
        """Rewrite texts of one word."""
        return [str(text) for text in self.peer.rewrite(words)]

    def points(self) -> tuple[serve.Matrix, str]:
        """Return the words' positions in the list."""
        positions = np.zeros((len(self.listed), 1))
        positions[self.columns, 0] = np.arange(len(self.listed))
        return positions, "distance of positions in its sorted list"

    def probe(self, word: str, noise: object) -> str:
        """Return the package's output for a word under noise of our own."""
        resources = {
            "list": self.listed,
            "mapping": self.peer.mgr.word_to_idx[0],
            "config": self.peer.config,
            "rng": noise,
        }
        with mock.patch.object(self.core, "_RESOURCES", resources, create=True):
            return str(self.core.apply_privacy_mechanism(word, self.job.epsilon))

    def ordered(self, matrix: serve.Matrix) -> serve.Matrix:
        """Return a matrix over list positions in the order of the space."""
        result = np.zeros_like(matrix)
        result[np.ix_(self.columns, self.columns)] = matrix
        return result


class Geometric(Words):
    """The difference of two geometric numbers is added to the position, then clipped to the list."""

    def law(self) -> serve.Law:
        """Take the parameter from the package's own call, and try its clipping out."""
        noise = Geometrics([1, 1])
        self.probe(self.listed[0], noise)
        q, count = 1 - noise.seen[0], len(self.listed)
        rng = np.random.default_rng(SEED)
        for start, shift in rng.integers([0, -count], [count, count], (PROBES, 2)).tolist():
            expected = self.listed[min(max(start + shift, 0), count - 1)]
            if self.probe(self.listed[start], Geometrics([max(shift, 0), max(-shift, 0)])) != expected:
                message = "noise is not added to the position and clipped, as was read"
                raise ValueError(message)
        i = np.arange(count)
        matrix = (1 - q) / (1 + q) * q ** np.abs(i[:, None] - i[None, :]).astype(float)
        matrix[:, 0] = q**i / (1 + q)
        matrix[:, -1] = q ** (count - 1 - i) / (1 + q)
        how = (
            "its geometric parameter from apply_privacy_mechanism itself, and its clipping tried out there; the law of "
            "the clipped difference of two geometric numbers in closed form; what is rarer than 1e-300 counts as 1e-300"
        )
        matrix = np.maximum(matrix, 1e-300)
        return serve.Law(self.ordered(matrix), how)


class Geometrics:
    """Stands in for numpy's generator: gives the numbers wanted, keeps the parameters."""

    def __init__(self, numbers: Sequence[int]) -> None:
        """Give these, in order."""
        self.numbers, self.seen = list(numbers), list[float]()

    def geometric(self, p: float) -> int:
        """Give the next number."""
        self.seen.append(p)
        return self.numbers[len(self.seen) - 1]


class Tem(Words):
    """Scores of near positions to which Gumbel noise is added; the bottom element stands for all others."""

    def law(self) -> serve.Law:
        """Take scores and scale from `apply_privacy_mechanism`; let each word win to learn its name."""
        position = {word: i for i, word in enumerate(self.listed)}
        matrix = np.zeros((len(position), len(position)))
        probed = np.random.default_rng(SEED).choice(len(position), PROBES, replace=False).tolist()
        for word, i in position.items():
            noise = Gumbels(0)
            self.probe(word, noise)
            row = serve.gumbel_row(np.array(noise.scores), noise.scale)
            near = [position[self.probe(word, Gumbels(winner))] for winner in range(len(row) - 1)]
            others = np.setdiff1d(np.arange(len(position)), near)
            if i in probed and self.others(word) != others.tolist():
                message = "the bottom element draws from other words than was read"
                raise ValueError(message)
            matrix[i, near] = row[:-1]
            matrix[i, others] = row[-1] / len(others)
        how = (
            "scores and noise scale from apply_privacy_mechanism itself, given a generator that keeps them and lets "
            f"each candidate win; the bottom element's words likewise for {PROBES} inputs"
        )
        return serve.Law(self.ordered(matrix), how)

    def others(self, word: str) -> list[int]:
        """Return the positions from which the bottom element draws."""
        found = []
        for number in range(len(self.listed)):
            try:
                self.probe(word, Gumbels(-1, number))
            except StopIteration:
                continue
            found.append(number)
        return found


class Gumbels:
    """Stands in for numpy's generator: keeps scores and scale, and lets one candidate win."""

    __array_ufunc__ = None  # numpy's numbers leave the sum to `__radd__`

    def __init__(self, winner: int, number: int = -1) -> None:
        """Let the winner-th score win, or the bottom element (-1) and then propose one number."""
        self.winner, self.numbers = winner, iter([number] if number >= 0 else [])
        self.scores: list[float] = []
        self.scale, self.calls = 0.0, 0

    def gumbel(self, loc: float, scale: float) -> Gumbels:
        """Return noise that keeps the score to which it is added."""
        self.scale, self.loc = scale, loc
        return self

    def __radd__(self, score: float) -> float:
        """Add the noise."""
        self.scores.append(score)
        return HIGHEST if len(self.scores) - 1 == self.winner else -HIGHEST

    def integers(self, _: int, __: int) -> int:
        """Propose the number, then nothing."""
        return next(self.numbers)


@contextmanager
def open_mechanism(job: serve.Job) -> Iterator[serve.Mechanism]:
    """Set up one word list, sorted by the package, and start its process for that list."""
    with open_diffractor(job.word2vec_file, epsilon=job.epsilon, method=job.mechanism) as peer:
        yield (Tem if job.mechanism == "TEM" else Geometric)(job, peer)


if __name__ == "__main__":
    serve.main(open_mechanism)
