"""An entry of the zoo: a claim, the evidence that decides it, and the verdicts on it."""

import dataclasses
from collections.abc import Callable

import numpy as np

from deniable.auditing.black_box import audit
from deniable.core.arrays import FloatArray
from deniable.core.guarantees import Status, Verdict
from deniable.space import Space

ZOO_CONFIDENCE = 0.999
"""Confidence of sampled verdicts: a correct entry is refuted by chance once in a thousand runs, not once in twenty."""


@dataclasses.dataclass(frozen=True)
class ZooEntry:
    """A mechanism with a published claim, and the evidence that decides it.

    Attributes:
        name: in tables.
        source: the publication, or what it is a control of.
        claim: the claim, in words.
        flaw: why that is false; empty where it is true.
        audit_samples: runs the black-box audit under a seed; None where it would be uninformative.
        sampled_status: the status expected of it.
        verify_law: verifies the law; None where no law is known.
        exact_status: the status expected of it.
    """

    name: str
    source: str
    claim: str
    flaw: str
    audit_samples: Callable[[int], Verdict] | None = None
    sampled_status: Status | None = None
    verify_law: Callable[[], Verdict] | None = None
    exact_status: Status | None = None


@dataclasses.dataclass(frozen=True)
class EntryVerdicts:
    """The verdicts on an entry.

    Attributes:
        entry: what was audited.
        exact_verdict: verdict of the law, or None.
        sampled_verdict: verdict of samples, or None.
    """

    entry: ZooEntry
    exact_verdict: Verdict | None
    sampled_verdict: Verdict | None

    @property
    def is_as_expected(self) -> bool:
        """Whether every verdict is as expected."""
        pairs = ((self.exact_verdict, self.entry.exact_status), (self.sampled_verdict, self.entry.sampled_status))
        return all((verdict.status if verdict else None) == status for verdict, status in pairs)


def examine_entry(entry: ZooEntry, seed: int) -> EntryVerdicts:
    """Return the verdicts on an entry."""
    return EntryVerdicts(
        entry,
        entry.verify_law() if entry.verify_law else None,
        entry.audit_samples(seed) if entry.audit_samples else None,
    )


def make_matrix_sampler(matrix: FloatArray, space: Space, seed: int) -> Callable[[list[str]], list[str]]:
    """Return a batched sampler of words with the law P (n, n), rows are inputs."""
    random, cumulative = np.random.default_rng(seed), np.cumsum(matrix, axis=1)

    def sampler(words: list[str]) -> list[str]:
        numbers = [space.index_of(word) for word in words]
        output_numbers = [
            np.searchsorted(cumulative[w], u * cumulative[w, -1], "right")
            for w, u in zip(numbers, random.random(len(words)), strict=True)
        ]
        return [space.words[y] for y in output_numbers]

    return sampler


def audit_nearest_words(sampler: Callable[[list[str]], list[str]], space: Space, claim: float, seed: int) -> Verdict:
    """Return the verdict of a black-box audit on the ten nearest pairs of words."""
    pairs, distances = find_nearest_pairs(space, 10)
    return audit(
        sampler,
        pairs=pairs,
        distance=distances,
        claim=claim,
        samples=20_000,
        confidence=ZOO_CONFIDENCE,
        batched=True,
        seed=seed,
    )


def find_nearest_pairs(space: Space, count: int) -> tuple[list[tuple[str, str]], list[float]]:
    """Return the nearest pairs of words, where a loss per unit of distance is a small loss, and their distances."""
    distances = space.distances(range(space.point_count))
    rows, columns = np.triu_indices(len(distances), 1)
    order = np.argsort(distances[rows, columns], kind="stable")[:count]
    pairs = [
        (space.first_word_at(int(i)), space.first_word_at(int(j)))
        for i, j in zip(rows[order], columns[order], strict=True)
    ]
    return pairs, distances[rows[order], columns[order]].tolist()
