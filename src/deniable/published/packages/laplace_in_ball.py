"""Multivariate Laplace noise whose direction is drawn in the ball instead of on the sphere."""

import numpy as np
from scipy import special

from deniable.auditing.black_box import audit
from deniable.auditing.verification import verify
from deniable.core.guarantees import Verdict
from deniable.published.entry import ZOO_CONFIDENCE, ZooEntry
from deniable.space import Space

_SPACE = Space(["near", "far"], np.array([[0.0], [1.0]]))
_EPSILON = 1.0


def _verify_law() -> Verdict:
    """In one dimension the noise passes half the distance with probability E_2(epsilon d / 2) / 2."""
    flip_probability = special.expn(2, _EPSILON / 2) / 2
    probabilities = np.array([[1 - flip_probability, flip_probability], [flip_probability, 1 - flip_probability]])
    return verify(probabilities, space=_SPACE, epsilon=_EPSILON)


def _audit_samples(seed: int) -> Verdict:
    random = np.random.default_rng(seed)

    def mechanism(word: str) -> str:
        noise = random.uniform(-1, 1) * random.gamma(1, 1 / _EPSILON)
        return _SPACE.words[int(abs(_SPACE.vectors[_SPACE.index_of(word), 0] + noise) > 0.5)]  # noqa: PLR2004 - half way

    return audit(mechanism, "near", "far", claim=_EPSILON, samples=8_000, confidence=ZOO_CONFIDENCE, seed=seed)


ENTRY = ZooEntry(
    name="laplace-in-ball",
    source="papers that draw the direction 'in the unit ball', read literally",
    claim="1-metric-DP, 2 words, 1 apart",
    flaw="the density of the noise has a pole at 0: 1.6 times the claim at distance 1, 5 times at 0.02",
    audit_samples=_audit_samples,
    sampled_status="refuted",
    verify_law=_verify_law,
    exact_status="refuted",
)
