"""TEM that returns the input when the bottom element is drawn."""

import functools

import numpy as np

from deniable.auditing.exact import verify
from deniable.auditing.zoo.entry import Array, Entry, audit_words, drawn_from
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
    return audit_words(drawn_from(law(), space(), seed), space(), EPSILON, seed)


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
