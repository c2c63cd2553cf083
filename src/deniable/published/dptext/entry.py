"""DPText's reparametrization: the inverse of one parametrization fed with the uniform of another."""

import numpy as np

from deniable.auditing.black_box import audit
from deniable.auditing.verification import verify
from deniable.core.guarantees import Verdict
from deniable.published.dptext.mechanism import DPText
from deniable.published.entry import ZOO_CONFIDENCE, ZooEntry

_DIMENSION = 8


def _verify_law() -> Verdict:
    return verify(DPText(epsilon=1.0), dimension=_DIMENSION)


def _audit_samples(seed: int) -> Verdict:
    release = DPText(epsilon=1.0, seed=seed).sample
    return audit(
        release,
        np.zeros(_DIMENSION),
        np.ones(_DIMENSION),
        claim=1.0,
        samples=1_000,
        confidence=ZOO_CONFIDENCE,
        batched=True,
        seed=seed,
    )


ENTRY = ZooEntry(
    name="dptext",
    source="Beigi et al. 2019, Equation 9; refuted by Habernal 2022, Theorem 3.2",
    claim="1-DP, n = 8",
    flaw="the noise is never negative, so the support moves with the input",
    audit_samples=_audit_samples,
    sampled_status="refuted",
    verify_law=_verify_law,
    exact_status="refuted",
)
