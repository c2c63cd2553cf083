"""ADePT without its clip, as simplified by Habernal 2022, Section 5: Laplace noise of scale 1/epsilon."""

import numpy as np

from deniable.auditing.black_box import audit
from deniable.auditing.verification import verify
from deniable.core.guarantees import Verdict
from deniable.published.entry import ZOO_CONFIDENCE, ZooEntry
from deniable.vectors import Box, Laplace

_DIMENSION = 8


class UnclippedADePT(Laplace):
    """Laplace noise for the sensitivity of one coordinate: x + Lap(1/epsilon)^n."""

    name = "adept-unclipped"

    def sensitivity(self, n: int) -> float:  # noqa: ARG002 - that is the flaw
        """Return the sensitivity of one coordinate, whatever n."""
        return self.domain.sensitivity(1, 1)


def _verify_law() -> Verdict:
    return verify(UnclippedADePT(epsilon=1.0, domain=Box(0.0, 1.0)), dimension=_DIMENSION)


def _audit_samples(seed: int) -> Verdict:
    release = UnclippedADePT(epsilon=1.0, domain=Box(0.0, 1.0), seed=seed).sample
    return audit(
        release,
        np.zeros(_DIMENSION),
        np.ones(_DIMENSION),
        claim=1.0,
        samples=300,
        confidence=ZOO_CONFIDENCE,
        batched=True,
        seed=seed,
    )


ENTRY = ZooEntry(
    name="adept-unclipped",
    source="the ADePT of Habernal 2022, Section 5",
    claim="1-DP, n = 8",
    flaw="noise for one coordinate, released for n: the loss is epsilon n",
    audit_samples=_audit_samples,
    sampled_status="refuted",
    verify_law=_verify_law,
    exact_status="refuted",
)
