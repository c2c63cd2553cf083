"""ADePT's Laplace mechanism: an l2 clip with the l2 sensitivity where the l1 sensitivity belongs."""

from deniable.auditing.black_box import audit
from deniable.auditing.verification import verify
from deniable.core.guarantees import Verdict
from deniable.published.adept.mechanism import ADePT
from deniable.published.entry import ZOO_CONFIDENCE, ZooEntry

_DIMENSION = 8


def _verify_law() -> Verdict:
    return verify(ADePT(epsilon=1.0), dimension=_DIMENSION)


def _audit_samples(seed: int) -> Verdict:
    mechanism = ADePT(epsilon=1.0, seed=seed)
    corners = mechanism.worst_pair(_DIMENSION)
    return audit(
        mechanism.sample, *corners, claim=1.0, samples=12_000, confidence=ZOO_CONFIDENCE, batched=True, seed=seed
    )


ENTRY = ZooEntry(
    name="adept",
    source="Krishna et al. 2021, Theorem 1; refuted by Habernal 2021, Theorem 5.1",
    claim="1-DP, n = 8",
    flaw="noise of scale 2C/epsilon for an l1 sensitivity of 2C sqrt(n): the loss is epsilon sqrt(n)",
    audit_samples=_audit_samples,
    sampled_status="refuted",
    verify_law=_verify_law,
    exact_status="refuted",
)
