"""The control of Habernal 2022 that ignores its input: it hides all, and no audit may refute it."""

import numpy as np
from randomgen import AESCounter

from deniable.core.arrays import FloatArray
from deniable.core.guarantees import Guarantee
from deniable.vectors.domains import check_dimension
from deniable.vectors.mechanism import ExactLoss, VectorMechanism


class RandomMechanism(VectorMechanism):
    """Returns uniform draws from [0, 1)^n whatever its input: 0-DP (Habernal 2022, Section 5).

    Its counterpart, which returns its input, is refuted: `deniable.published.dptext.copied_input`.

    Args:
        seed: for tests; even a public one reveals nothing, because the input is not used.
    """

    name = "random"

    @property
    def claim(self) -> Guarantee:
        """Pure 0-DP."""
        return Guarantee(0.0, "the output does not depend on the input, as the control of Habernal 2022")

    @property
    def guarantee(self) -> Guarantee:
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

    def worst_pair(self, n: int) -> tuple[FloatArray, FloatArray]:
        """Return zeros and ones, the two data sets of Habernal 2022."""
        return np.zeros(check_dimension(n)), np.ones(n)

    def exact_loss(self, n: int) -> ExactLoss:
        """Return a loss of 0, with a public seed too."""
        return ExactLoss(0.0, 0.0, self.worst_pair(n))

    def _sample_rows(self, rows: FloatArray, generator: AESCounter) -> FloatArray:
        return np.random.Generator(generator).random(rows.shape)
