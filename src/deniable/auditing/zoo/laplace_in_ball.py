"""Multivariate Laplace noise whose direction is drawn in the ball instead of on the sphere."""

import numpy as np
from scipy import special

from deniable.auditing.blackbox import audit
from deniable.auditing.exact import verify
from deniable.auditing.zoo.entry import CONFIDENCE, Entry
from deniable.space import Space
from deniable.verdict import Verdict

_SPACE = Space(["near", "far"], np.array([[0.0], [1.0]]))
_EPSILON = 1.0


def _exact() -> Verdict:
    """In one dimension the noise passes half the distance with probability E_2(epsilon d / 2) / 2."""
    crossed = special.expn(2, _EPSILON / 2) / 2
    law = np.array([[1 - crossed, crossed], [crossed, 1 - crossed]])
    return verify(law, space=_SPACE, epsilon=_EPSILON)


def _sampled(seed: int) -> Verdict:
    random = np.random.default_rng(seed)

    def mechanism(word: str) -> str:
        noise = random.uniform(-1, 1) * random.gamma(1, 1 / _EPSILON)
        return _SPACE.words[int(abs(_SPACE.vectors[_SPACE.number(word), 0] + noise) > 0.5)]  # noqa: PLR2004 - half way

    return audit(mechanism, "near", "far", claim=_EPSILON, samples=8_000, confidence=CONFIDENCE, seed=seed)


ENTRY = Entry(
    name="laplace-in-ball",
    source="papers that draw the direction 'in the unit ball', read literally",
    claim="1-metric-DP, 2 words, 1 apart",
    flaw="the density of the noise has a pole at 0: 1.6 times the claim at distance 1, 5 times at 0.02",
    sampled=_sampled,
    sampled_status="refuted",
    exact=_exact,
    exact_status="refuted",
)
