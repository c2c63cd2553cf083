"""The textbook Laplace mechanism in floating point: input plus numpy's noise."""

import numpy as np
import numpy.typing as npt

from deniable.auditing.blackbox import audit
from deniable.auditing.zoo.entry import CONFIDENCE, Entry
from deniable.verdict import Verdict


def _sampled(seed: int) -> Verdict:
    random = np.random.default_rng(seed)

    def release(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return x + random.laplace(size=x.shape)

    return audit(
        release,
        np.zeros(1),
        np.ones(1),
        claim=1.0,
        samples=20_000,
        confidence=CONFIDENCE,
        method="precision",
        batched=True,
        seed=seed,
    )


ENTRY = Entry(
    name="numpy-laplace",
    source="the textbook sampler (Mironov 2012)",
    claim="1-DP, n = 1",
    flaw="the last bits of a float show what the noise was added to",
    sampled=_sampled,
    sampled_status="refuted",
)
