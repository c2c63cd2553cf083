"""The control of Habernal 2022 that returns its input."""

import numpy as np

from deniable.auditing.black_box import audit
from deniable.auditing.verification import verify
from deniable.core.evidence import Verdict
from deniable.published.entry import ZOO_CONFIDENCE, ZooEntry
from deniable.vectors import CopyMechanism


def _verify_law() -> Verdict:
    return verify(CopyMechanism(epsilon=1.0), dimension=8)


def _audit_samples(seed: int) -> Verdict:
    return audit(
        CopyMechanism(epsilon=1.0).sample,
        np.zeros(8),
        np.ones(8),
        claim=1.0,
        samples=100,
        confidence=ZOO_CONFIDENCE,
        batched=True,
        seed=seed,
    )


ENTRY = ZooEntry(
    name="copy",
    source="control of Habernal 2022, Section 5",
    claim="1-DP, n = 8",
    flaw="no noise at all",
    audit_samples=_audit_samples,
    sampled_status="refuted",
    verify_law=_verify_law,
    exact_status="refuted",
)
