"""An exponential mechanism over each word's own nearest neighbours: custom output sets."""

import functools

import numpy as np

from deniable.auditing.black_box import audit
from deniable.auditing.verification import verify
from deniable.core.arrays import FloatArray
from deniable.core.guarantees import Verdict
from deniable.published.entry import ZOO_CONFIDENCE, ZooEntry, make_matrix_sampler
from deniable.space import Space

_EPSILON = 1.0
_NEIGHBOUR_COUNT = 20


@functools.cache
def _load_space() -> Space:
    return Space.glove(1_000, hide=(), metric="euclidean")


@functools.cache
def _compute_law() -> FloatArray:
    distances = _load_space().distances(range(len(_load_space())))
    limit = np.partition(distances, _NEIGHBOUR_COUNT - 1, axis=1)[:, _NEIGHBOUR_COUNT - 1 : _NEIGHBOUR_COUNT]
    weights = np.where(distances <= limit, np.exp(-_EPSILON / 2 * distances), 0.0)
    matrix: FloatArray = weights / weights.sum(axis=1, keepdims=True)
    return matrix


def _verify_law() -> Verdict:
    return verify(_compute_law(), space=_load_space(), epsilon=_EPSILON)


def _audit_samples(seed: int) -> Verdict:
    return audit(
        make_matrix_sampler(_compute_law(), _load_space(), seed),
        "monday",
        "january",
        distance=_load_space().distance,
        claim=_EPSILON,
        samples=5_000,
        confidence=ZOO_CONFIDENCE,
        batched=True,
        seed=seed,
    )


ENTRY = ZooEntry(
    name="own-output-sets",
    source="pypantera 1.0.2, CusText; mldp-text 0.1.2, SynTF; if claimed for any two words (docs/peers.md)",
    claim="1-metric-DP, 1,000 words",
    flaw="a word outside the other's set tells the two apart for certain",
    audit_samples=_audit_samples,
    sampled_status="refuted",
    verify_law=_verify_law,
    exact_status="refuted",
)
