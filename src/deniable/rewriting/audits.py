"""Audits of rewriting methods: what the encoder of a real corpus makes of a claimed sensitivity, and of a claim."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Literal

import numpy as np
from scipy.spatial.distance import cdist

from deniable.auditing.black_box import audit
from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError, make_parameter_error
from deniable.core.guarantees import Verdict
from deniable.core.parallel import parallel_map
from deniable.rewriting.attacks.ranking import get_norm_order
from deniable.rewriting.methods.base import RewritingMethod, VectorMethod
from deniable.vectors import Domain, VectorMechanism

AuditView = Literal["vector", "likelihood", "text"]
"""What an audit is shown of a release: the vector; a score that grows with the likelihood ratio of the two texts, which
anybody who has the public model can compute; or the text that is decoded from it."""
_ROWS_PER_BLOCK = 256
_DISTANCE_ERROR = 1e-12
"""Relative error of a distance, beyond which a pair counts as farther apart than the claim."""


@dataclasses.dataclass(frozen=True)
class SensitivityViolations:
    """How many pairs of given vectors lie farther apart than a claimed sensitivity.

    Attributes:
        pair_count: unordered pairs compared.
        violation_count: those farther apart than claimed.
        claimed_sensitivity: the sensitivity.
    """

    pair_count: int
    violation_count: int
    claimed_sensitivity: float

    @property
    def violation_share(self) -> float:
        """The share of pairs that the claim does not cover."""
        return self.violation_count / self.pair_count


@dataclasses.dataclass(frozen=True)
class FarthestTexts:
    """The two texts of a corpus whose clipped vectors lie farthest apart.

    Attributes:
        first_row: number of a text.
        second_row: number of the other.
        distance: of their vectors, in the norm that the noise needs: l1 for Laplace noise, l2 for Gaussian.
        claimed_sensitivity: the sensitivity that the noise is calibrated to.
        loss: the loss of Laplace noise at these two, in nats: distance over scale; None for any other noise, such as
            Gaussian noise, which has no largest loss.
    """

    first_row: int
    second_row: int
    distance: float
    claimed_sensitivity: float
    loss: float | None

    @property
    def ratio(self) -> float:
        """How many times as far apart as claimed."""
        return self.distance / self.claimed_sensitivity


def find_farthest_texts(mechanism: VectorMechanism, clipped: FloatArray) -> FarthestTexts:
    """Return the pair of a corpus that a mechanism protects least: all pairs are compared.

    Args:
        mechanism: whose noise it is about.
        clipped: (K, n) vectors of texts after the mechanism's clip, see `encode_clipped_vectors`.

    Raises:
        InputError: fewer than two vectors.
    """
    _check_pair(clipped)
    metric = _name_metric(mechanism)

    def search_block(first: int) -> tuple[float, int, int]:
        distances = cdist(clipped[first : first + _ROWS_PER_BLOCK], clipped[first:], metric)
        one, other = np.unravel_index(int(distances.argmax()), distances.shape)
        return float(distances[one, other]), first + int(one), first + int(other)

    distance, one, other = max(
        parallel_map(search_block, range(0, len(clipped), _ROWS_PER_BLOCK)), key=lambda pair: pair[0]
    )
    n = clipped.shape[1]
    loss = distance / mechanism.scale(n) if mechanism.noise == "laplace" else None
    return FarthestTexts(one, other, distance, mechanism.sensitivity(n), loss)


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


def pairs_beyond_sensitivity(mechanism: VectorMechanism, clipped: FloatArray) -> SensitivityViolations:
    """Return how many pairs of texts lie farther apart than the sensitivity that the noise is calibrated to.

    Each is a pair of neighbours which the noise does not protect as claimed (Habernal 2021, Section 6, there of drawn
    vectors). Distances are in the norm that the noise needs.

    Raises:
        InputError: fewer than two vectors.
    """
    _check_pair(clipped)
    metric, limit = _name_metric(mechanism), mechanism.sensitivity(clipped.shape[1]) * (1 + _DISTANCE_ERROR)

    def count_block(first: int) -> int:
        distances = cdist(clipped[first : first + _ROWS_PER_BLOCK], clipped[first:], metric)
        return int(np.triu(distances > limit, 1).sum())

    count = sum(parallel_map(count_block, range(0, len(clipped), _ROWS_PER_BLOCK)))
    return SensitivityViolations(len(clipped) * (len(clipped) - 1) // 2, count, limit)


def _check_pair(clipped: FloatArray) -> None:
    if len(clipped) < 2:  # noqa: PLR2004 - a pair
        raise InputError(f"A pair needs at least 2 texts. Got {len(clipped)}: give more.")


def _name_metric(mechanism: VectorMechanism) -> Literal["cityblock", "euclidean"]:
    return "cityblock" if get_norm_order(mechanism) == 1 else "euclidean"


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
    order = get_norm_order(method.mechanism)
    distances = (np.abs(released[:, None, :] - pair[None]) ** order).sum(axis=2)
    differences: FloatArray = distances[:, 1] - distances[:, 0]
    return differences
