"""TEM whose bottom element gets the score -gamma + (2/epsilon) ln(n / |L_w|), not ln of what lies beyond L_w."""

import functools

import numpy as np

from deniable.auditing.exact import verify
from deniable.auditing.zoo.entry import Array, Entry, audit_words, drawn_from
from deniable.space import Space
from deniable.verdict import Verdict

EPSILON = 4.0
_BETA = 0.001


@functools.cache
def space() -> Space:
    """Return the thousand most frequent words of GloVe."""
    return Space.glove(1_000)


def parts() -> tuple[Array, Array]:
    """Return the unnormalised weights (n, n) of the words of L_w, 0 elsewhere, and those (n,) of bottom."""
    distances = space().distances(range(len(space())))
    count = len(distances)
    gamma = 2 / EPSILON * np.log((1 - _BETA) * (count - 1) / _BETA)
    near = distances <= gamma
    size = near.sum(axis=1)
    words = np.where(near, np.exp(-EPSILON / 2 * distances), 0.0)
    bottom = np.where(size < count, np.exp(-EPSILON / 2 * gamma) * count / size, 0.0)
    return words, bottom


@functools.cache
def law() -> Array:
    """Return P (n, n)."""
    words, bottom = parts()
    left = words == 0
    weights = words + left * (bottom / np.maximum(left.sum(axis=1), 1))[:, None]
    matrix: Array = weights / weights.sum(axis=1, keepdims=True)
    return matrix


def _exact() -> Verdict:
    return verify(law(), space=space(), epsilon=EPSILON)


def _sampled(seed: int) -> Verdict:
    return audit_words(drawn_from(law(), space(), seed), space(), EPSILON, seed)


ENTRY = Entry(
    name="tem-wrong-bottom",
    source="mldp-text 0.1.2, TEM (docs/peers.md)",
    claim="4-metric-DP, 1,000 words",
    flaw="far words get a share that jumps with the number of near ones, in outputs too rare to sample",
    sampled=_sampled,
    sampled_status="not refuted",
    exact=_exact,
    exact_status="refuted",
)
