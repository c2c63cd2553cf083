"""A correct word mechanism that passes words outside its vocabulary through unchanged."""

import functools
import itertools

import numpy as np

from deniable.auditing.blackbox import audit
from deniable.auditing.exact import verify
from deniable.auditing.zoo.entry import CONFIDENCE, Entry
from deniable.space import Space
from deniable.verdict import Verdict
from deniable.words import CalibratedExponential

_KNOWN, _ALL = 500, 510
"""Words that the mechanism knows, and words that texts hold."""


@functools.cache
def _mechanism() -> CalibratedExponential:
    return CalibratedExponential(Space.glove(_KNOWN), epsilon=1.0)


def _exact() -> Verdict:
    """The law over all words: the mechanism's own, and a 1 for every word that it does not know."""
    law = np.eye(_ALL)
    law[:_KNOWN, :_KNOWN] = [_mechanism().probabilities(word) for word in _mechanism().space.words]
    return verify(law, space=Space.glove(_ALL), epsilon=1.0)


def _sampled(seed: int) -> Verdict:
    def program(word: str) -> str:
        return _mechanism()(word) if word in _mechanism().space else word

    everything = Space.glove(_ALL)
    unknown = everything.words[_KNOWN:]
    pair = min(itertools.combinations(unknown, 2), key=lambda words: everything.distance(*words))
    return audit(
        program, *pair, claim=1.0, distance=everything.distance, samples=6_000, confidence=CONFIDENCE, seed=seed
    )


ENTRY = Entry(
    name="unknown-unchanged",
    source="mldp-text 0.1.2, dp-diffractor 0.2.1, pypantera 1.0.2 in TEM (docs/peers.md)",
    claim="1-metric-DP, 510 words",
    flaw="a rare name or drug that the vocabulary lacks is published as it is",
    sampled=_sampled,
    sampled_status="refuted",
    exact=_exact,
    exact_status="refuted",
)
