"""An exponential mechanism over each word's own nearest neighbours: custom output sets."""

import functools

import numpy as np

from deniable.auditing.blackbox import audit
from deniable.auditing.exact import verify
from deniable.auditing.zoo.entry import CONFIDENCE, Array, Entry, drawn_from
from deniable.space import Space
from deniable.verdict import Verdict

EPSILON = 1.0
_NEIGHBOURS = 20


@functools.cache
def _space() -> Space:
    return Space.glove(1_000)


@functools.cache
def _law() -> Array:
    distances = _space().distances(range(len(_space())))
    limit = np.partition(distances, _NEIGHBOURS - 1, axis=1)[:, _NEIGHBOURS - 1 : _NEIGHBOURS]
    weights = np.where(distances <= limit, np.exp(-EPSILON / 2 * distances), 0.0)
    matrix: Array = weights / weights.sum(axis=1, keepdims=True)
    return matrix


def _exact() -> Verdict:
    return verify(_law(), space=_space(), epsilon=EPSILON)


def _sampled(seed: int) -> Verdict:
    return audit(
        drawn_from(_law(), _space(), seed),
        "monday",
        "january",
        distance=_space().distance,
        claim=EPSILON,
        samples=5_000,
        confidence=CONFIDENCE,
        batched=True,
        seed=seed,
    )


ENTRY = Entry(
    name="own-output-sets",
    source="pypantera 1.0.2, CusText; mldp-text 0.1.2, SynTF; if claimed for any two words (docs/peers.md)",
    claim="1-metric-DP, 1,000 words",
    flaw="a word outside the other's set tells the two apart for certain",
    sampled=_sampled,
    sampled_status="refuted",
    exact=_exact,
    exact_status="refuted",
)
