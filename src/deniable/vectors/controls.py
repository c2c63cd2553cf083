"""The two controls of Habernal 2022: no privacy at all, and nothing but privacy."""

import math

import numpy as np
from randomgen import AESCounter

from deniable.core.arrays import FloatArray
from deniable.core.errors import check_positive
from deniable.core.guarantees import ApproxDP, PureDP
from deniable.vectors.domains import check_dimension
from deniable.vectors.mechanism import ExactLoss, VectorMechanism


class _ControlMechanism(VectorMechanism):
    """What the controls share: inputs of any size, told apart as the paper does, zeros from ones."""

    def worst_pair(self, n: int) -> tuple[FloatArray, FloatArray]:
        """Return zeros and ones, the paper's two data sets."""
        return np.zeros(check_dimension(n)), np.ones(n)


class CopyMechanism(_ControlMechanism):
    """Returns its input: the control that every audit must refute (Habernal 2022, Section 5).

    Args:
        epsilon: the claim to refute, > 0.
        seed: accepted like everywhere; nothing is drawn.

    Raises:
        InputError: epsilon is not a positive finite number.
    """

    name = "copy"

    def __init__(self, *, epsilon: float, seed: int | None = None) -> None:
        super().__init__(seed=seed)
        self.epsilon = check_positive("Copy", "epsilon", epsilon)

    @property
    def claim(self) -> PureDP:
        """Refuted for any epsilon."""
        return PureDP(self.epsilon, "none: the output is the input, as the control of Habernal 2022", "refuted")

    def sensitivity(self, n: int) -> float:
        """Return infinity: inputs are not bounded."""
        check_dimension(n)
        return math.inf

    def scale(self, n: int) -> float:
        """Return 0: there is no noise."""
        check_dimension(n)
        return 0.0

    def _exact_loss(self, n: int) -> ExactLoss:
        return ExactLoss(math.inf, math.inf, self.worst_pair(n))

    def _sample_rows(self, rows: FloatArray, generator: AESCounter) -> FloatArray:  # noqa: ARG002 - nothing is drawn
        return rows.copy()


class RandomMechanism(_ControlMechanism):
    """Returns uniform draws from [0, 1)^n whatever its input: 0-DP (Habernal 2022, Section 5).

    Args:
        seed: for tests; even a public one tells nothing of an input that is not looked at.
    """

    name = "random"

    @property
    def claim(self) -> PureDP:
        """Pure 0-DP."""
        return PureDP(0.0, "the output does not depend on the input, as the control of Habernal 2022")

    @property
    def guarantee(self) -> PureDP | ApproxDP:
        """The claim, with a public seed too."""
        return self.claim

    def sensitivity(self, n: int) -> float:
        """Return 0: nothing of the input enters the output."""
        check_dimension(n)
        return 0.0

    def scale(self, n: int) -> float:
        """Return 1, the width of the interval."""
        check_dimension(n)
        return 1.0

    def exact_loss(self, n: int) -> ExactLoss:
        """Return no loss, with a public seed too."""
        return ExactLoss(0.0, 0.0, self.worst_pair(n))

    def _sample_rows(self, rows: FloatArray, generator: AESCounter) -> FloatArray:
        return np.random.Generator(generator).random(rows.shape)
