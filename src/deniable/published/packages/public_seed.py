"""A correct mechanism whose generator starts from the same public seed in every run."""

import numpy as np

from deniable.auditing.black_box import audit
from deniable.auditing.verification import verify
from deniable.core.guarantees import Verdict
from deniable.published.entry import ZOO_CONFIDENCE, ZooEntry
from deniable.vectors import Box, Laplace


def _make_mechanism() -> Laplace:
    """Return the mechanism as each run of the program makes it anew."""
    return Laplace(epsilon=1.0, domain=Box(0.0, 1.0), seed=42)


def _verify_law() -> Verdict:
    return verify(_make_mechanism(), dimension=1)


def _audit_samples(seed: int) -> Verdict:
    def run_program(x: float) -> float:
        """One run of a program with a default seed: the noise is the same in each."""
        return float(_make_mechanism().sample(np.array([x]))[0])

    return audit(run_program, 0.0, 1.0, claim=1.0, samples=200, confidence=ZOO_CONFIDENCE, seed=seed)


ENTRY = ZooEntry(
    name="public-seed",
    source="dp-diffractor 0.2.1, default seed 42 (docs/peers.md)",
    claim="1-DP, n = 1",
    flaw="who knows the seed subtracts the noise",
    audit_samples=_audit_samples,
    sampled_status="refuted",
    verify_law=_verify_law,
    exact_status="refuted",
)
