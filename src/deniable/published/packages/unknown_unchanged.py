"""A correct word mechanism that passes words outside its vocabulary through unchanged."""

import functools
import itertools

import numpy as np

from deniable.auditing.black_box import audit
from deniable.auditing.verification import verify
from deniable.core.guarantees import Verdict
from deniable.published.entry import ZOO_CONFIDENCE, ZooEntry
from deniable.space import Space
from deniable.words.calibrated_exponential import CalibratedExponential

_KNOWN, _ALL = 500, 510
"""Words that the mechanism knows, and words that texts hold."""


@functools.cache
def _make_mechanism() -> CalibratedExponential:
    return CalibratedExponential(Space.glove(_KNOWN, hide=(), metric="euclidean"), epsilon=1.0)


def _verify_law() -> Verdict:
    """The law over all words: the mechanism's own, and a 1 for every word that it does not know."""
    probabilities = np.eye(_ALL)
    probabilities[:_KNOWN, :_KNOWN] = [_make_mechanism().probabilities(word) for word in _make_mechanism().space.words]
    return verify(probabilities, space=Space.glove(_ALL, hide=(), metric="euclidean"), epsilon=1.0)


def _audit_samples(seed: int) -> Verdict:
    def run_program(word: str) -> str:
        return _make_mechanism()(word) if word in _make_mechanism().space else word

    all_words = Space.glove(_ALL, hide=(), metric="euclidean")
    unknown = all_words.words[_KNOWN:]
    pair = min(itertools.combinations(unknown, 2), key=lambda words: all_words.distance(*words))
    return audit(
        run_program, *pair, claim=1.0, distance=all_words.distance, samples=6_000, confidence=ZOO_CONFIDENCE, seed=seed
    )


ENTRY = ZooEntry(
    name="unknown-unchanged",
    source="mldp-text 0.1.2, dp-diffractor 0.2.1, pypantera 1.0.2 in TEM (docs/peers.md)",
    claim="1-metric-DP, 510 words",
    flaw="a rare name or drug that the vocabulary lacks is published as it is",
    audit_samples=_audit_samples,
    sampled_status="refuted",
    verify_law=_verify_law,
    exact_status="refuted",
)
