"""Audits of rewriting methods: what the encoder of a real corpus makes of a claimed sensitivity, and of a claim."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from deniable.auditing.blackbox import audit
from deniable.auditing.sensitivity import Violations, violations
from deniable.errors import InputError, bad_parameter
from deniable.guarantees import ApproxDP
from deniable.parallel import each
from deniable.rewrite.attacks.ranking import order_of
from deniable.rewrite.methods.base import Method, VectorMethod
from deniable.vectors import VectorMechanism
from deniable.verdict import Verdict

Array = npt.NDArray[np.float64]
Seen = Literal["vector", "likelihood", "text"]
"""What an audit is shown of a release: the vector; how much likelier it is from one text than from the other, as who
has the public model can work out; or the text that is decoded from it."""
_BLOCK = 256
_ROUNDING = 1e-12
"""Relative error of a distance, beyond which a pair counts as farther apart than the claim."""


@dataclasses.dataclass(frozen=True)
class Farthest:
    """The two texts of a corpus whose clipped vectors lie farthest apart.

    Attributes:
        one: number of a text.
        other: number of the other.
        distance: of their vectors, in the norm that the noise needs: l1 for Laplace noise, l2 for Gaussian.
        claimed: the sensitivity that the noise is calibrated to.
        loss: the most that Laplace noise loses of them, in nats: distance over scale; None for Gaussian noise, which
            has no largest loss, and for DPText's published noise, whose loss is infinite.
    """

    one: int
    other: int
    distance: float
    claimed: float
    loss: float | None

    @property
    def ratio(self) -> float:
        """How many times as far apart as claimed."""
        return self.distance / self.claimed


def farthest(mechanism: VectorMechanism, clipped: Array) -> Farthest:
    """Return the pair of a corpus that a mechanism protects least: all pairs are compared.

    Args:
        mechanism: whose noise it is about.
        clipped: (K, n) vectors of texts after the mechanism's clip, see `clipped_vectors`.

    Raises:
        InputError: fewer than two vectors.
    """
    if len(clipped) < 2:  # noqa: PLR2004 - a pair
        raise InputError(f"A pair needs at least 2 texts. Got {len(clipped)}: give more.")
    order = order_of(mechanism)
    metric = "cityblock" if order == 1 else "euclidean"

    def block(first: int) -> tuple[float, int, int]:
        apart = cdist(clipped[first : first + _BLOCK], clipped[first:], metric)
        one, other = np.unravel_index(int(apart.argmax()), apart.shape)
        return float(apart[one, other]), first + int(one), first + int(other)

    distance, one, other = max(each(block, range(0, len(clipped), _BLOCK)), key=lambda found: found[0])
    n = clipped.shape[1]
    laplace = order == 1 and getattr(mechanism, "sampler", "") != "published"
    loss = distance / mechanism.scale(n) if laplace else None
    return Farthest(one, other, distance, mechanism.sensitivity(n), loss)


def clipped_vectors(method: VectorMethod, texts: Sequence[str]) -> Array:
    """Return the vectors (k, n) of texts that a method adds its noise to.

    Raises:
        InputError: the mechanism does not clip, or a text is too long.
    """
    domain = getattr(method.mechanism, "domain", None)
    if domain is None:
        raise bad_parameter("clipped_vectors", "method", "one whose mechanism clips to a domain", method.name)
    found: Array = domain.clip(method.encoded(texts))
    return found


def uncovered(mechanism: VectorMechanism, clipped: Array) -> Violations:
    """Return how many pairs of texts lie farther apart than the sensitivity that the noise is calibrated to.

    Each is a pair of neighbours which the noise does not protect as claimed (Habernal 2021, Section 6, there of drawn
    vectors). Distances are in the norm that the noise needs.

    Raises:
        InputError: fewer than two vectors.
    """
    claimed = mechanism.sensitivity(clipped.shape[1]) * (1 + _ROUNDING)
    return violations(clipped, claimed, order=order_of(mechanism))


def audit_pair(
    method: Method,
    one: str,
    other: str,
    *,
    seen: Seen = "text",
    samples: int = 20_000,
    confidence: float = 0.95,
    seed: int | None = None,
) -> Verdict:
    """Audit a method end to end on two texts: a lower confidence bound on its loss, see `deniable.audit`.

    Args:
        method: any; all but ``text`` need one that releases vectors.
        one: a text.
        other: another.
        seen: what the attacker is shown of each release.
        samples: releases.
        confidence: of the bound.
        seed: of the audit's own coins.

    Raises:
        InputError: the method releases no vectors, or a parameter is outside its domain.
    """
    guarantee = method.guarantee
    sampler = method.rewrite
    if seen != "text":
        if not isinstance(method, VectorMethod):
            raise bad_parameter("audit_pair", "seen", "'text' for a method that releases no vectors", seen)
        sampler = functools.partial(_released, method, clipped_vectors(method, [one, other]), one, seen)  # type: ignore[assignment]  # any output will do
    return audit(
        sampler,
        one,
        other,
        claim=guarantee.epsilon,
        delta=guarantee.delta if isinstance(guarantee, ApproxDP) else 0.0,
        samples=samples,
        confidence=confidence,
        batched=True,
        seed=seed,
    )


def _released(method: VectorMethod, pair: Array, one: str, seen: Seen, texts: Sequence[str]) -> Array:
    """Return what is shown (m, n) or (m,) of releases of texts, which are encoded once and not in every call."""
    released = method.mechanism.release(pair[[0 if text == one else 1 for text in texts]])
    if seen == "vector":
        return released
    order = order_of(method.mechanism)
    apart = (np.abs(released[:, None, :] - pair[None]) ** order).sum(axis=2)
    nearer: Array = apart[:, 1] - apart[:, 0]
    return nearer
