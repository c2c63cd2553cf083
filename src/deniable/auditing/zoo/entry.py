"""What an entry of the zoo says of itself, and what became of its claim."""

import dataclasses
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from deniable.auditing.blackbox import audit
from deniable.space import Space
from deniable.status import Status
from deniable.verdict import Verdict

Array = npt.NDArray[np.float64]
CONFIDENCE = 0.999
"""Of sampled verdicts: a correct entry is refuted by chance once in a thousand runs, not once in twenty."""


@dataclasses.dataclass(frozen=True)
class Entry:
    """A mechanism with a published claim, and the evidence that decides it.

    Attributes:
        name: in tables.
        source: who published it, or what it is a control of.
        claim: what it claims, in words.
        flaw: why that is false; empty where it is true.
        sampled: runs the black-box audit under a seed; None where it would say nothing.
        sampled_status: the verdict expected of samples.
        exact: verifies the law; None where there is none but the code.
        exact_status: the verdict expected of it.
    """

    name: str
    source: str
    claim: str
    flaw: str
    sampled: Callable[[int], Verdict] | None = None
    sampled_status: Status | None = None
    exact: Callable[[], Verdict] | None = None
    exact_status: Status | None = None


@dataclasses.dataclass(frozen=True)
class Finding:
    """The verdicts on an entry.

    Attributes:
        entry: what was audited.
        exact: verdict of the law, or None.
        sampled: verdict of samples, or None.
    """

    entry: Entry
    exact: Verdict | None
    sampled: Verdict | None

    @property
    def expected(self) -> bool:
        """Whether every verdict is as expected."""
        pairs = ((self.exact, self.entry.exact_status), (self.sampled, self.entry.sampled_status))
        return all((verdict.status if verdict else None) == status for verdict, status in pairs)


def examine(entry: Entry, seed: int) -> Finding:
    """Return the verdicts on an entry."""
    return Finding(entry, entry.exact() if entry.exact else None, entry.sampled(seed) if entry.sampled else None)


def drawn_from(matrix: Array, space: Space, seed: int) -> Callable[[list[str]], list[str]]:
    """Return a batched sampler of words with the law P (n, n), rows are inputs."""
    random, steps = np.random.default_rng(seed), np.cumsum(matrix, axis=1)

    def sampler(words: list[str]) -> list[str]:
        numbers = [space.number(word) for word in words]
        drawn = [
            np.searchsorted(steps[w], u * steps[w, -1], "right")
            for w, u in zip(numbers, random.random(len(words)), strict=True)
        ]
        return [space.words[y] for y in drawn]

    return sampler


def audit_words(sampler: Callable[[list[str]], list[str]], space: Space, claim: float, seed: int) -> Verdict:
    """Return the verdict of a black-box audit on the ten nearest pairs of words."""
    pairs, distances = closest_pairs(space, 10)
    return audit(
        sampler,
        pairs=pairs,
        distance=distances,
        claim=claim,
        samples=20_000,
        confidence=CONFIDENCE,
        batched=True,
        seed=seed,
    )


def closest_pairs(space: Space, count: int) -> tuple[list[tuple[str, str]], list[float]]:
    """Return the nearest pairs of words, where a loss per unit of distance is a small loss, and their distances."""
    apart = space.distances(range(len(space.points)))
    rows, columns = np.triu_indices(len(apart), 1)
    order = np.argsort(apart[rows, columns], kind="stable")[:count]
    pairs = [(space.word_at(int(i)), space.word_at(int(j))) for i, j in zip(rows[order], columns[order], strict=True)]
    return pairs, apart[rows[order], columns[order]].tolist()
