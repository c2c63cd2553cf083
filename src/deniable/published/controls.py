"""Controls of the zoo: correct mechanisms, none of which may be refuted."""

import functools
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from deniable.auditing.black_box import audit
from deniable.auditing.verification import verify
from deniable.core.arrays import FloatArray
from deniable.core.guarantees import Verdict
from deniable.published.dptext.random_output import RandomMechanism
from deniable.published.entry import ZOO_CONFIDENCE, ZooEntry, audit_nearest_words
from deniable.space import Space
from deniable.vectors import Box, Gaussian, L1Ball, L2Ball, Laplace, VectorMechanism
from deniable.words import WordMechanism
from deniable.words.calibrated_exponential import CalibratedExponential
from deniable.words.tem import TEM

_DIMENSION = 8
_BOX = Box(0.0, 1.0)


def _make_vector_evidence(make_mechanism: Callable[..., VectorMechanism], delta: float = 0.0) -> dict[str, object]:
    """Return the evidence on a vector mechanism: its worst pair, its own claim."""

    def audit_samples(seed: int) -> Verdict:
        mechanism = make_mechanism(seed=seed)
        x, x_prime = mechanism.worst_pair(_DIMENSION)
        return audit(
            mechanism.sample,
            x,
            x_prime,
            claim=make_mechanism().guarantee.epsilon,
            delta=delta,
            samples=20_000,
            confidence=ZOO_CONFIDENCE,
            batched=True,
            seed=seed,
        )

    return {
        "audit_samples": audit_samples,
        "sampled_status": "not refuted",
        "verify_law": lambda: verify(make_mechanism(), dimension=_DIMENSION),
        "exact_status": "proved",
    }


def _make_word_evidence(make_mechanism: Callable[..., WordMechanism]) -> dict[str, object]:
    """Return the evidence on a word mechanism: its law, and its nearest pairs."""

    def audit_samples(seed: int) -> Verdict:
        mechanism = make_mechanism(Space.glove(1_000, hide=()))
        return audit_nearest_words(mechanism.sample, mechanism.space, mechanism.guarantee.epsilon, seed)

    return {
        "audit_samples": audit_samples,
        "sampled_status": "not refuted",
        "verify_law": lambda: verify(make_mechanism(Space.glove(1_000, hide=()))),
        "exact_status": "proved",
    }


def _audit_half_sum(seed: int) -> Verdict:
    mechanism = Laplace(epsilon=1.0, domain=_BOX, seed=seed)

    def release_half(x: npt.NDArray[np.float64]) -> FloatArray:
        return 0.5 * mechanism.sample(x)  # half of (x + noise): post-processing

    return audit(
        release_half,
        np.zeros(_DIMENSION),
        np.ones(_DIMENSION),
        claim=1.0,
        samples=20_000,
        confidence=ZOO_CONFIDENCE,
        batched=True,
        seed=seed,
    )


def _make_control(name: str, claim: str, evidence: dict[str, object], source: str = "deniable") -> ZooEntry:
    return ZooEntry(name=name, source=f"control: {source}", claim=claim, flaw="", **evidence)  # type: ignore[arg-type]


CONTROL_ENTRIES = (
    ZooEntry(
        name="half-sum",
        source="control of a published sanity check, taken there for broken",
        claim="1-DP, n = 8",
        flaw="",
        audit_samples=_audit_half_sum,
        sampled_status="not refuted",
    ),
    _make_control(
        "random", "0-DP, n = 8", _make_vector_evidence(functools.partial(RandomMechanism)), "Habernal 2022, Section 5"
    ),
    _make_control(
        "laplace", "1-DP, n = 8", _make_vector_evidence(functools.partial(Laplace, epsilon=1.0, domain=_BOX))
    ),
    _make_control(
        "gaussian",
        "(1, 1e-5)-DP, n = 8",
        _make_vector_evidence(functools.partial(Gaussian, epsilon=1.0, delta=1e-5, domain=_BOX), delta=1e-5),
    ),
    _make_control(
        "adept-l1", "1-DP, n = 8", _make_vector_evidence(functools.partial(Laplace, epsilon=1.0, domain=L1Ball(1.0)))
    ),
    _make_control(
        "adept-true", "1-DP, n = 8", _make_vector_evidence(functools.partial(Laplace, epsilon=1.0, domain=L2Ball(1.0)))
    ),
    _make_control(
        "dptext-corrected", "1-DP, n = 8", _make_vector_evidence(functools.partial(Laplace, epsilon=1.0, domain=_BOX))
    ),
    _make_control("tem", "4-metric-DP, 1,000 words", _make_word_evidence(functools.partial(TEM, epsilon=4.0))),
    _make_control(
        "calibrated",
        "4-metric-DP, 1,000 words",
        _make_word_evidence(functools.partial(CalibratedExponential, epsilon=4.0)),
    ),
)
