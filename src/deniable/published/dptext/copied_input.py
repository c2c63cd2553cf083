"""The control of Habernal 2022 that returns its input: no privacy at all, which every audit must see."""

import math

import numpy as np
from randomgen import AESCounter

from deniable.auditing.black_box import audit
from deniable.auditing.verification import verify
from deniable.core.arrays import FloatArray
from deniable.core.errors import check_positive
from deniable.core.guarantees import Guarantee, Verdict
from deniable.published.entry import ZOO_CONFIDENCE, ZooEntry
from deniable.vectors.domains import check_dimension
from deniable.vectors.mechanism import ExactLoss, VectorMechanism

_DIMENSION = 8


class CopyMechanism(VectorMechanism):
    """Returns its input: the control that every audit must refute (Habernal 2022, Section 5).

    Args:
        epsilon: the claim to refute, > 0.
        seed: accepted as by every mechanism; nothing is drawn.

    Raises:
        InputError: epsilon is not a positive finite number.
    """

    name = "copy"
    arithmetic = "no noise"

    def __init__(self, *, epsilon: float, seed: int | None = None) -> None:
        super().__init__(seed=seed)
        self.epsilon = check_positive("Copy", "epsilon", epsilon)

    @property
    def claim(self) -> Guarantee:
        """Refuted for any epsilon."""
        return Guarantee(self.epsilon, "none: the output is the input, as the control of Habernal 2022", "refuted")

    def sensitivity(self, n: int) -> float:
        """Return infinity: inputs are not bounded."""
        check_dimension(n)
        return math.inf

    def scale(self, n: int) -> float:
        """Return 0: there is no noise."""
        check_dimension(n)
        return 0.0

    def worst_pair(self, n: int) -> tuple[FloatArray, FloatArray]:
        """Return zeros and ones, the two data sets of Habernal 2022."""
        return np.zeros(check_dimension(n)), np.ones(n)

    def _exact_loss(self, n: int) -> ExactLoss:
        return ExactLoss(math.inf, math.inf, self.worst_pair(n))

    def _sample_rows(self, rows: FloatArray, generator: AESCounter) -> FloatArray:  # noqa: ARG002 - nothing is drawn
        return rows.copy()


def _verify_law() -> Verdict:
    return verify(CopyMechanism(epsilon=1.0), dimension=_DIMENSION)


def _audit_samples(seed: int) -> Verdict:
    return audit(
        CopyMechanism(epsilon=1.0).sample,
        np.zeros(_DIMENSION),
        np.ones(_DIMENSION),
        claim=1.0,
        samples=100,
        confidence=ZOO_CONFIDENCE,
        batched=True,
        seed=seed,
    )


ENTRY = ZooEntry(
    name="copy",
    source="control of Habernal 2022, Section 5",
    claim="1-DP, n = 8",
    flaw="no noise at all",
    audit_samples=_audit_samples,
    sampled_status="refuted",
    verify_law=_verify_law,
    exact_status="refuted",
)
