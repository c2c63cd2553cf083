"""Audits of rewriting methods: what the encoder of a real corpus makes of a claimed sensitivity, and of a claim."""

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from scipy.spatial.distance import cdist

from deniable.auditing.black_box import audit
from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError, make_parameter_error
from deniable.core.guarantees import Verdict
from deniable.core.parallel import parallel_map
from deniable.rewriting.methods import RewritingMethod, VectorMethod
from deniable.rewriting.ranking import get_norm_order
from deniable.vectors import Domain, VectorMechanism

AuditView = Literal["vector", "likelihood", "text"]
"""What an audit is shown of a release: the vector; a score that grows with the likelihood ratio of the two texts, which
anybody who has the public model can compute; or the text that is decoded from it."""
_ROWS_PER_BLOCK = 256
_METRICS: dict[float, Literal["cityblock", "euclidean", "chebyshev"]] = {
    1: "cityblock",
    2: "euclidean",
    math.inf: "chebyshev",
}
_DISTANCE_ERROR = 1e-12
"""Relative error of a distance, beyond which a pair counts as farther apart than the claim."""


@dataclasses.dataclass(frozen=True)
class TextDistances:
    """How far apart the clipped vectors of a corpus lie, beside what a mechanism's noise is made for.

    Attributes:
        first_row: number of one of the two texts whose vectors lie farthest apart.
        second_row: number of the other.
        distance: of the two, in the norm that the noise needs, see `get_norm_order`.
        claimed_sensitivity: the sensitivity that the noise is calibrated to.
        loss: the loss of Laplace or K-norm noise at the two, in nats: distance over scale; None for any other noise,
            such as Gaussian noise, which has no largest loss.
        pair_count: unordered pairs compared.
        violation_count: those farther apart than claimed.
    """

    first_row: int
    second_row: int
    distance: float
    claimed_sensitivity: float
    loss: float | None
    pair_count: int
    violation_count: int

    @property
    def ratio(self) -> float:
        """How many times as far apart as claimed the two are."""
        return self.distance / self.claimed_sensitivity

    @property
    def violation_share(self) -> float:
        """The share of pairs that the claim does not cover."""
        return self.violation_count / self.pair_count


def measure_text_distances(mechanism: VectorMechanism, clipped: FloatArray) -> TextDistances:
    """Return the pair of a corpus that a mechanism protects least, and how many pairs it does not protect as claimed.

    All pairs are compared, each as a pair of neighbours (Habernal 2021, Section 6, there of drawn vectors).

    Args:
        mechanism: whose noise it is about.
        clipped: (K, n) vectors of texts after the mechanism's clip, see `encode_clipped_vectors`.

    Raises:
        InputError: fewer than two vectors.
    """
    count, n = clipped.shape
    if count < 2:  # noqa: PLR2004 - a pair
        raise InputError(f"A pair needs at least 2 texts. Got {count}: give more.")
    metric = _METRICS[get_norm_order(mechanism)]
    sensitivity = mechanism.sensitivity(n)

    def search_block(first: int) -> tuple[float, int, int, int]:
        distances = cdist(clipped[first : first + _ROWS_PER_BLOCK], clipped[first:], metric)
        one, other = np.unravel_index(int(distances.argmax()), distances.shape)
        violations = int(np.triu(distances > sensitivity * (1 + _DISTANCE_ERROR), 1).sum())
        return float(distances[one, other]), first + int(one), first + int(other), violations

    blocks = parallel_map(search_block, range(0, count, _ROWS_PER_BLOCK))
    distance, one, other, _ = max(blocks, key=lambda block: block[0])
    loss = distance / mechanism.scale(n) if mechanism.noise not in {None, "gaussian"} else None
    violation_count = sum(violations for *_, violations in blocks)
    return TextDistances(one, other, distance, sensitivity, loss, count * (count - 1) // 2, violation_count)


def encode_clipped_vectors(method: VectorMethod, texts: Sequence[str]) -> FloatArray:
    """Return the vectors (k, n) of texts that a method adds its noise to.

    Raises:
        InputError: the mechanism does not clip, or a text is too long.
    """
    return get_clip_domain(method).clip(method.encode(texts))


def get_clip_domain(method: VectorMethod) -> Domain:
    """Return the set that a method's mechanism clips vectors to.

    Raises:
        InputError: it does not clip.
    """
    domain = method.mechanism.domain
    if domain is None:
        raise InputError(f"The mechanism of {method.name} clips to no domain: choose a method that clips its vectors.")
    return domain


def audit_pair(
    method: RewritingMethod,
    one: str,
    other: str,
    *,
    view: AuditView = "text",
    samples: int = 20_000,
    confidence: float = 0.95,
    seed: int | None = None,
) -> Verdict:
    """Audit a method end to end on two texts: a lower confidence bound on its loss, see `deniable.audit`.

    Args:
        method: any; all but ``text`` need one that releases vectors.
        one: a text.
        other: another.
        view: what the attacker is shown of each release.
        samples: releases.
        confidence: of the bound.
        seed: of the audit's own coins.

    Raises:
        InputError: the method releases no vectors, or a parameter is outside its domain.
    """
    guarantee = method.guarantee
    sampler = method.rewrite
    if view != "text":
        if not isinstance(method, VectorMethod):
            raise make_parameter_error("audit_pair", "view", "'text' for a method that releases no vectors", view)
        sampler = functools.partial(_release_pair, method, encode_clipped_vectors(method, [one, other]), one, view)  # type: ignore[assignment]  # any output will do
    return audit(
        sampler,
        one,
        other,
        claim=guarantee.epsilon,
        delta=guarantee.delta,
        samples=samples,
        confidence=confidence,
        batched=True,
        seed=seed,
    )


def _release_pair(
    method: VectorMethod, pair: FloatArray, one: str, view: AuditView, texts: Sequence[str]
) -> FloatArray:
    """Return what is shown (m, n) or (m,) of releases of texts, which are encoded once and not in every call."""
    released = method.mechanism.sample(pair[[0 if text == one else 1 for text in texts]])
    if view == "vector":
        return released
    distances = np.linalg.norm(released[:, None, :] - pair[None], ord=get_norm_order(method.mechanism), axis=2)
    if method.mechanism.noise == "gaussian":
        distances **= 2
    differences: FloatArray = distances[:, 1] - distances[:, 0]
    return differences
