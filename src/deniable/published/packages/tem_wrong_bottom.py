"""TEM whose bottom element gets the score -gamma + (2/epsilon) ln(n / |L_w|), not ln of what lies beyond L_w."""

import functools

import numpy as np

from deniable.auditing.verification import verify
from deniable.core.arrays import FloatArray
from deniable.core.guarantees import Verdict
from deniable.published.entry import ZooEntry, audit_nearest_words, make_matrix_sampler
from deniable.space import Space

TEM_EPSILON = 4.0
_BETA = 0.001


@functools.cache
def load_frequent_words() -> Space:
    """Return the thousand most frequent words of GloVe."""
    return Space.glove(1_000, hide=(), metric="euclidean")


def compute_tem_weights() -> tuple[FloatArray, FloatArray]:
    """Return the unnormalised weights (n, n) of the words of L_w, 0 elsewhere, and those (n,) of bottom."""
    distances = load_frequent_words().distances(range(len(load_frequent_words())))
    count = len(distances)
    gamma = 2 / TEM_EPSILON * np.log((1 - _BETA) * (count - 1) / _BETA)
    is_near = distances <= gamma
    near_counts = is_near.sum(axis=1)
    word_weights = np.where(is_near, np.exp(-TEM_EPSILON / 2 * distances), 0.0)
    bottom_weights = np.where(near_counts < count, np.exp(-TEM_EPSILON / 2 * gamma) * count / near_counts, 0.0)
    return word_weights, bottom_weights


@functools.cache
def compute_wrong_bottom_law() -> FloatArray:
    """Return P (n, n)."""
    word_weights, bottom_weights = compute_tem_weights()
    is_beyond = word_weights == 0
    weights = word_weights + is_beyond * (bottom_weights / np.maximum(is_beyond.sum(axis=1), 1))[:, None]
    matrix: FloatArray = weights / weights.sum(axis=1, keepdims=True)
    return matrix


def _verify_law() -> Verdict:
    return verify(compute_wrong_bottom_law(), space=load_frequent_words(), epsilon=TEM_EPSILON)


def _audit_samples(seed: int) -> Verdict:
    return audit_nearest_words(
        make_matrix_sampler(compute_wrong_bottom_law(), load_frequent_words(), seed),
        load_frequent_words(),
        TEM_EPSILON,
        seed,
    )


ENTRY = ZooEntry(
    name="tem-wrong-bottom",
    source="mldp-text 0.1.2, TEM (docs/peers.md)",
    claim="4-metric-DP, 1,000 words",
    flaw="far words get a share that jumps with the number of near ones, in outputs too rare to sample",
    audit_samples=_audit_samples,
    sampled_status="not refuted",
    verify_law=_verify_law,
    exact_status="refuted",
)
