"""DPText's reparametrization: the inverse of one parametrization fed with the uniform of another."""

import numpy as np

from deniable.auditing.blackbox import audit
from deniable.auditing.exact import verify
from deniable.auditing.zoo.entry import CONFIDENCE, Entry
from deniable.vectors import DPText
from deniable.verdict import Verdict

N = 8


def _exact() -> Verdict:
    return verify(DPText(epsilon=1.0), dimension=N)


def _sampled(seed: int) -> Verdict:
    release = DPText(epsilon=1.0, seed=seed).release
    return audit(
        release, np.zeros(N), np.ones(N), claim=1.0, samples=1_000, confidence=CONFIDENCE, batched=True, seed=seed
    )


ENTRY = Entry(
    name="dptext",
    source="Beigi et al. 2019, Equation 9; refuted by Habernal 2022, Theorem 3.2",
    claim="1-DP, n = 8",
    flaw="the noise is never negative, so the support moves with the input",
    sampled=_sampled,
    sampled_status="refuted",
    exact=_exact,
    exact_status="refuted",
)
