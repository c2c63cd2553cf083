"""ADePT's Laplace mechanism: an l2 clip with the l2 sensitivity where the l1 sensitivity belongs."""

from deniable.auditing.blackbox import audit
from deniable.auditing.exact import verify
from deniable.auditing.zoo.entry import CONFIDENCE, Entry
from deniable.vectors import ADePT
from deniable.verdict import Verdict

N = 8


def _exact() -> Verdict:
    return verify(ADePT(epsilon=1.0), dimension=N)


def _sampled(seed: int) -> Verdict:
    mechanism = ADePT(epsilon=1.0, seed=seed)
    corners = mechanism.worst_pair(N)
    return audit(mechanism.release, *corners, claim=1.0, samples=12_000, confidence=CONFIDENCE, batched=True, seed=seed)


ENTRY = Entry(
    name="adept",
    source="Krishna et al. 2021, Theorem 1; refuted by Habernal 2021, Theorem 5.1",
    claim="1-DP, n = 8",
    flaw="noise of scale 2C/epsilon for an l1 sensitivity of 2C sqrt(n): the loss is epsilon sqrt(n)",
    sampled=_sampled,
    sampled_status="refuted",
    exact=_exact,
    exact_status="refuted",
)
