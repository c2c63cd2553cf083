"""The control of Habernal 2022 that returns its input."""

import numpy as np

from deniable.auditing.blackbox import audit
from deniable.auditing.exact import verify
from deniable.auditing.zoo.entry import CONFIDENCE, Entry
from deniable.vectors import Copy
from deniable.verdict import Verdict


def _exact() -> Verdict:
    return verify(Copy(epsilon=1.0), dimension=8)


def _sampled(seed: int) -> Verdict:
    return audit(
        Copy(epsilon=1.0).release,
        np.zeros(8),
        np.ones(8),
        claim=1.0,
        samples=100,
        confidence=CONFIDENCE,
        batched=True,
        seed=seed,
    )


ENTRY = Entry(
    name="copy",
    source="control of Habernal 2022, Section 5",
    claim="1-DP, n = 8",
    flaw="no noise at all",
    sampled=_sampled,
    sampled_status="refuted",
    exact=_exact,
    exact_status="refuted",
)
