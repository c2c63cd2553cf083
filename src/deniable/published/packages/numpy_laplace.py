"""The textbook Laplace mechanism in floating point: input plus numpy's noise."""

import numpy as np
import numpy.typing as npt

from deniable.auditing.black_box import audit
from deniable.core.guarantees import Verdict
from deniable.published.entry import ZOO_CONFIDENCE, ZooEntry


def _audit_samples(seed: int) -> Verdict:
    random = np.random.default_rng(seed)

    def add_noise(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return x + random.laplace(size=x.shape)

    return audit(
        add_noise,
        np.zeros(1),
        np.ones(1),
        claim=1.0,
        samples=20_000,
        confidence=ZOO_CONFIDENCE,
        method="precision",
        batched=True,
        seed=seed,
    )


ENTRY = ZooEntry(
    name="numpy-laplace",
    source="the textbook sampler (Mironov 2012)",
    claim="1-DP, n = 1",
    flaw="the last bits of a float show what the noise was added to",
    audit_samples=_audit_samples,
    sampled_status="refuted",
)
