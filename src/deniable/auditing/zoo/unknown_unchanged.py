"""A correct word mechanism that passes words outside its vocabulary through unchanged."""

import functools

from deniable.auditing.blackbox import audit
from deniable.auditing.zoo.entry import CONFIDENCE, Entry
from deniable.space import Space
from deniable.verdict import Verdict
from deniable.words import CalibratedExponential


@functools.cache
def _mechanism() -> CalibratedExponential:
    return CalibratedExponential(Space.glove(500), epsilon=1.0)


def _sampled(seed: int) -> Verdict:
    def program(word: str) -> str:
        return _mechanism()(word) if word in _mechanism().space else word

    return audit(program, "fluoxetine", "imatinib", claim=1.0, samples=200, confidence=CONFIDENCE, seed=seed)


ENTRY = Entry(
    name="unknown-unchanged",
    source="every published package that was read (docs/peers.md)",
    claim="1-metric-DP between any two words, 1 apart",
    flaw="a rare name or drug that the vocabulary lacks is published as it is",
    sampled=_sampled,
    sampled_status="refuted",
)
