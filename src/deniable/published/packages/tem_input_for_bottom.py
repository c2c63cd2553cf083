"""TEM that returns the input when the bottom element is drawn."""

import functools

import numpy as np

from deniable.auditing.verification import verify
from deniable.core.arrays import FloatArray
from deniable.core.guarantees import Verdict
from deniable.published.entry import ZooEntry, audit_nearest_words, make_matrix_sampler
from deniable.published.packages.tem_wrong_bottom import TEM_EPSILON, compute_tem_weights, load_frequent_words


@functools.cache
def compute_input_for_bottom_law() -> FloatArray:
    """Return P (n, n)."""
    words, bottom = compute_tem_weights()
    weights: FloatArray = words + np.diag(bottom)
    matrix: FloatArray = weights / weights.sum(axis=1, keepdims=True)
    return matrix


def _verify_law() -> Verdict:
    return verify(compute_input_for_bottom_law(), space=load_frequent_words(), epsilon=TEM_EPSILON)


def _audit_samples(seed: int) -> Verdict:
    return audit_nearest_words(
        make_matrix_sampler(compute_input_for_bottom_law(), load_frequent_words(), seed),
        load_frequent_words(),
        TEM_EPSILON,
        seed,
    )


ENTRY = ZooEntry(
    name="tem-input-for-bottom",
    source="pypantera 1.0.2, TEM (docs/peers.md)",
    claim="4-metric-DP, 1,000 words",
    flaw="words beyond gamma never come out, and which those are depends on the input",
    audit_samples=_audit_samples,
    sampled_status="not refuted",
    verify_law=_verify_law,
    exact_status="refuted",
)
