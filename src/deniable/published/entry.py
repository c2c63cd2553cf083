"""An entry of the zoo: a claim, the evidence that decides it, and the verdicts on it."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from deniable.auditing.black_box import audit
from deniable.auditing.verification import verify
from deniable.core.arrays import FloatArray
from deniable.core.guarantees import Status, Verdict
from deniable.core.numbers import format_exact
from deniable.space import Space
from deniable.vectors import VectorMechanism

ZOO_CONFIDENCE = 0.999
"""Confidence of sampled verdicts: a correct entry is refuted by chance once in a thousand runs, not once in twenty."""
audit_claim = functools.partial(audit, claim=1.0, confidence=ZOO_CONFIDENCE)
"""The black-box audit of a claim of 1 at that confidence; its arguments are those of `audit`."""
_DIMENSION = 8
"""Of the vectors that vector mechanisms are examined on."""


@dataclasses.dataclass(frozen=True)
class ZooEntry:
    """A mechanism with a published claim, and the evidence that decides it.

    Attributes:
        name: in tables.
        source: the publication, or what it is a control of.
        claim: the claim, in words.
        flaw: why that is false; empty where it is true.
        audit_samples: runs the black-box audit under a seed; None where it would be uninformative.
        verify_law: verifies the law; None where no law is known.
        expected_of_samples: the status expected of the audit; None for refuted where there is a flaw, else not refuted.
        expected_of_law: the status expected of the law; None for refuted where there is a flaw, else proved.
    """

    name: str
    source: str
    claim: str
    flaw: str
    audit_samples: Callable[[int], Verdict] | None = None
    verify_law: Callable[[], Verdict] | None = None
    expected_of_samples: Status | None = None
    expected_of_law: Status | None = None

    @property
    def sampled_status(self) -> Status:
        """The status expected of the audit."""
        return self.expected_of_samples or ("refuted" if self.flaw else "not refuted")

    @property
    def exact_status(self) -> Status:
        """The status expected of the law."""
        return self.expected_of_law or ("refuted" if self.flaw else "proved")

    def examine(self, seed: int) -> "EntryVerdicts":
        """Return the verdicts on it."""
        sampled_verdict = self.audit_samples(seed) if self.audit_samples else None
        return EntryVerdicts(self, self.verify_law() if self.verify_law else None, sampled_verdict)


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
        return all(verdict is None or verdict.status == status for verdict, status in pairs)

    def to_dict(self) -> dict[str, Any]:
        """Return what was claimed and found, as JSON holds it."""
        return {
            "source": self.entry.source,
            "claim": self.entry.claim,
            "flaw": self.entry.flaw,
            "exact": self.exact_verdict.to_dict() if self.exact_verdict else None,
            "sampled": self.sampled_verdict.to_dict() if self.sampled_verdict else None,
            "expected": self.is_as_expected,
        }


def make_vector_entry(
    name: str,
    make_mechanism: Callable[..., VectorMechanism],
    *,
    source: str,
    flaw: str = "",
    samples: int = 20_000,
) -> ZooEntry:
    """Return the entry of a vector mechanism: its law, and an audit of samples on its worst pair.

    Args:
        name: in tables.
        make_mechanism: makes it, given a ``seed`` or nothing.
        source: see `ZooEntry`.
        flaw: see `ZooEntry`; both kinds of evidence refute what has one.
        samples: of the audit.
    """
    guarantee = make_mechanism().guarantee

    def audit_samples(seed: int) -> Verdict:
        mechanism = make_mechanism(seed=seed)
        pair, claim = mechanism.worst_pair(_DIMENSION), {"claim": guarantee.epsilon, "delta": guarantee.delta}
        return audit_claim(mechanism.sample, *pair, **claim, samples=samples, batched=True, seed=seed)

    epsilon, delta = format_exact(guarantee.epsilon), guarantee.delta
    return ZooEntry(
        name=name,
        source=source,
        claim=f"({epsilon}, {format_exact(delta)})-DP, n = {_DIMENSION}"
        if delta
        else f"{epsilon}-DP, n = {_DIMENSION}",
        flaw=flaw,
        audit_samples=audit_samples,
        verify_law=lambda: verify(make_mechanism(), dimension=_DIMENSION),
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
    return audit_claim(sampler, pairs=pairs, distance=distances, claim=claim, samples=20_000, batched=True, seed=seed)


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
