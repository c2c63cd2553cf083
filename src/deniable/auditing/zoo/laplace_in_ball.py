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

    return audit(mechanism, "near", "far", claim=_EPSILON, samples=4_000, confidence=CONFIDENCE, seed=seed)


ENTRY = Entry(
    name="laplace-in-ball",
    source="read literally, the noise of Yue et al. and others: 'a point in the unit ball', times a Gamma",
    claim="1-metric-DP on two words of the line, 1 apart",
    flaw="the density of the noise has a pole at 0: the loss per unit grows without bound as words come closer",
    sampled=_sampled,
    sampled_status="refuted",
    exact=_exact,
    exact_status="refuted",
)
