"""Controls that are correct: none of them may be refuted."""

import functools
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from deniable.auditing.blackbox import audit
from deniable.auditing.exact import verify
from deniable.auditing.zoo.entry import CONFIDENCE, Array, Entry, audit_words
from deniable.space import Space
from deniable.vectors import ADePT, Box, DPText, Gaussian, Laplace, Random, VectorMechanism
from deniable.verdict import Verdict
from deniable.words import TEM, CalibratedExponential, WordMechanism

N = 8
_BOX = Box(0.0, 1.0)


def _vectors(make: Callable[..., VectorMechanism], delta: float = 0.0) -> dict[str, object]:
    """Return the evidence on a vector mechanism: its worst pair, its own claim."""

    def sampled(seed: int) -> Verdict:
        mechanism = make(seed=seed)
        x, x_prime = mechanism.worst_pair(N)
        return audit(
            mechanism.release,
            x,
            x_prime,
            claim=make().guarantee.epsilon,
            delta=delta,
            samples=20_000,
            confidence=CONFIDENCE,
            batched=True,
            seed=seed,
        )

    return {
        "sampled": sampled,
        "sampled_status": "not refuted",
        "exact": lambda: verify(make(), dimension=N),
        "exact_status": "proved",
    }


def _words(make: Callable[..., WordMechanism]) -> dict[str, object]:
    """Return the evidence on a word mechanism: its law, and its nearest pairs."""

    def sampled(seed: int) -> Verdict:
        mechanism = make(Space.glove(1_000))
        return audit_words(mechanism.privatize, mechanism.space, mechanism.guarantee.epsilon, seed)

    return {
        "sampled": sampled,
        "sampled_status": "not refuted",
        "exact": lambda: verify(make(Space.glove(1_000))),
        "exact_status": "proved",
    }


def _half_sum(seed: int) -> Verdict:
    mechanism = Laplace(epsilon=1.0, domain=_BOX, seed=seed)

    def release(x: npt.NDArray[np.float64]) -> Array:
        return 0.5 * mechanism.release(x)  # half of (x + noise): post-processing

    return audit(
        release, np.zeros(N), np.ones(N), claim=1.0, samples=20_000, confidence=CONFIDENCE, batched=True, seed=seed
    )


def _entry(name: str, claim: str, evidence: dict[str, object], source: str = "deniable") -> Entry:
    return Entry(name=name, source=f"control: {source}", claim=claim, flaw="", **evidence)  # type: ignore[arg-type]


ENTRIES = (
    Entry(
        name="half-sum",
        source="control of a published sanity check, taken there for broken",
        claim="1-DP, n = 8",
        flaw="",
        sampled=_half_sum,
        sampled_status="not refuted",
    ),
    _entry("random", "0-DP, n = 8", _vectors(functools.partial(Random)), "Habernal 2022, Section 5"),
    _entry("laplace", "1-DP, n = 8", _vectors(functools.partial(Laplace, epsilon=1.0, domain=_BOX))),
    _entry(
        "gaussian",
        "(1, 1e-5)-DP, n = 8",
        _vectors(functools.partial(Gaussian, epsilon=1.0, delta=1e-5, domain=_BOX), delta=1e-5),
    ),
    _entry("adept-l1", "1-DP, n = 8", _vectors(functools.partial(ADePT, epsilon=1.0, clip="l1"))),
    _entry("adept-true", "1-DP, n = 8", _vectors(functools.partial(ADePT, epsilon=1.0, sensitivity="true"))),
    _entry("dptext-corrected", "1-DP, n = 8", _vectors(functools.partial(DPText, epsilon=1.0, sampler="corrected"))),
    _entry("tem", "4-metric-DP, 1,000 words", _words(functools.partial(TEM, epsilon=4.0))),
    _entry("calibrated", "4-metric-DP, 1,000 words", _words(functools.partial(CalibratedExponential, epsilon=4.0))),
)
