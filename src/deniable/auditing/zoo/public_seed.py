"""A correct mechanism whose generator starts from the same public seed in every run."""

import numpy as np

from deniable.auditing.blackbox import audit
from deniable.auditing.exact import verify
from deniable.auditing.zoo.entry import CONFIDENCE, Entry
from deniable.vectors import Box, Laplace
from deniable.verdict import Verdict


def _mechanism() -> Laplace:
    """Return the mechanism as each run of the program makes it anew."""
    return Laplace(epsilon=1.0, domain=Box(0.0, 1.0), seed=42)


def _exact() -> Verdict:
    return verify(_mechanism(), dimension=1)


def _sampled(seed: int) -> Verdict:
    def program(x: float) -> float:
        """One run of a program with a default seed: the noise is the same in each."""
        return float(_mechanism().release(np.array([x]))[0])

    return audit(program, 0.0, 1.0, claim=1.0, samples=200, confidence=CONFIDENCE, seed=seed)


ENTRY = Entry(
    name="public-seed",
    source="dp-diffractor 0.2.1, default seed 42 (docs/peers.md)",
    claim="1-DP, n = 1",
    flaw="who knows the seed subtracts the noise",
    sampled=_sampled,
    sampled_status="refuted",
    exact=_exact,
    exact_status="refuted",
)
