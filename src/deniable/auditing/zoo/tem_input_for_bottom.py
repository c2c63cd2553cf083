"""TEM that returns the input when the bottom element is drawn."""

import functools

import numpy as np

from deniable.auditing.blackbox import audit
from deniable.auditing.exact import verify
from deniable.auditing.zoo.entry import CONFIDENCE, Array, Entry, closest_pairs, drawn_from
from deniable.auditing.zoo.tem_wrong_bottom import EPSILON, parts, space
from deniable.verdict import Verdict


@functools.cache
def law() -> Array:
    """Return P (n, n)."""
    words, bottom = parts()
    weights: Array = words + np.diag(bottom)
    matrix: Array = weights / weights.sum(axis=1, keepdims=True)
    return matrix


def _exact() -> Verdict:
    return verify(law(), space=space(), epsilon=EPSILON)


def _sampled(seed: int) -> Verdict:
    pairs, distances = closest_pairs(space(), 10)
    return audit(
        drawn_from(law(), space(), seed),
        pairs=pairs,
        distance=distances,
        claim=EPSILON,
        samples=20_000,
        confidence=CONFIDENCE,
        batched=True,
        seed=seed,
    )


ENTRY = Entry(
    name="tem-input-for-bottom",
    source="pypantera 1.0.2, TEM (docs/peers.md)",
    claim="4-metric-DP, 1,000 words",
    flaw="words beyond gamma never come out, and which those are depends on the input",
    sampled=_sampled,
    sampled_status="not refuted",
    exact=_exact,
    exact_status="refuted",
)
