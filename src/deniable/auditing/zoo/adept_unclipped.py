"""The stand-in for ADePT of Habernal 2022, Section 5: Laplace noise of scale 1/epsilon, no clip at all."""

import numpy as np

from deniable.auditing.blackbox import audit
from deniable.auditing.exact import verify
from deniable.auditing.zoo.entry import CONFIDENCE, Entry
from deniable.vectors import Box, Laplace
from deniable.verdict import Verdict

N = 8


class UnclippedADePT(Laplace):
    """Laplace noise for the sensitivity of one coordinate: x + Lap(1/epsilon)^n."""

    name = "adept-unclipped"

    def sensitivity(self, n: int) -> float:  # noqa: ARG002 - that is the flaw
        """Return the sensitivity of one coordinate, whatever n."""
        return self.domain.sensitivity(1, 1)


def _exact() -> Verdict:
    return verify(UnclippedADePT(epsilon=1.0, domain=Box(0.0, 1.0)), dimension=N)


def _sampled(seed: int) -> Verdict:
    release = UnclippedADePT(epsilon=1.0, domain=Box(0.0, 1.0), seed=seed).release
    return audit(
        release, np.zeros(N), np.ones(N), claim=1.0, samples=300, confidence=CONFIDENCE, batched=True, seed=seed
    )


ENTRY = Entry(
    name="adept-unclipped",
    source="the ADePT of Habernal 2022, Section 5",
    claim="1-DP, n = 8",
    flaw="noise for one coordinate, released for n: the loss is epsilon n",
    sampled=_sampled,
    sampled_status="refuted",
    exact=_exact,
    exact_status="refuted",
)
