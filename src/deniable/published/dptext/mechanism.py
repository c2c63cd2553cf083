"""The noise of DPText as published: a reparametrization of the wrong interval (Beigi et al. 2019; Habernal 2022)."""

import functools
import math
from typing import Literal

import numpy as np
from randomgen import AESCounter

from deniable.core.arrays import FloatArray
from deniable.core.errors import check_positive, make_parameter_error
from deniable.core.guarantees import Guarantee
from deniable.published.entry import make_vector_entry
from deniable.vectors.domains import Box
from deniable.vectors.mechanism import ExactLoss, VectorMechanism

InvalidDraws = Literal["redraw", "zero"]
"""What becomes of draws that have no logarithm: they are drawn again, or add no noise."""


class DPText(VectorMechanism):
    """Adds noise by an inverse distribution function, applied to uniforms of the wrong interval. Refuted.

    With Delta = n (upper - lower), the l1 sensitivity of the box that inputs are clipped to::

        y_i = x_i - (Delta / epsilon) sgn(u_i) ln(1 - 2 |u_i|)

    This is Laplace noise if u_i is uniform on (-1/2, 1/2). The papers draw it from (0, 1): for
    u_i >= 1/2 the logarithm does not exist, and for all others the noise is positive (Habernal 2022,
    Theorem 3.1). Outputs below x_i then never come from x_i, and the loss is infinite (Theorem 3.2).

    The remedy, u on the right interval and an epsilon that is fixed before it sees data, is the Laplace
    mechanism on the box: ``Laplace(domain=Box(lower, upper))``; ``KNorm`` on the same box needs less noise.

    Args:
        epsilon: claimed for one row, > 0.
        invalid: ``redraw`` u where the logarithm does not exist, or add ``zero``; the papers do not say which.
        lower: smallest value of a coordinate.
        upper: largest value of a coordinate.
        seed: for tests only, see `VectorMechanism`.

    Raises:
        InputError: a parameter is outside its domain.
    """

    name = "dptext"
    arithmetic = "noise in floating point, as published"
    domain: Box

    def __init__(
        self,
        *,
        epsilon: float,
        invalid: InvalidDraws = "redraw",
        lower: float = 0.0,
        upper: float = 1.0,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        if invalid not in {"redraw", "zero"}:
            raise make_parameter_error("DPText", "invalid", "'redraw' or 'zero'", invalid)
        self.epsilon = check_positive("DPText", "epsilon", epsilon)
        self.invalid = invalid
        self.domain = Box(lower, upper)

    @property
    def claim(self) -> Guarantee:
        """The epsilon of the papers, refuted."""
        source = (
            "claimed by Beigi et al. 2019 (DPText); refuted by Habernal 2022 (How reparametrization trick broke "
            "differentially-private text representation learning), Theorem 3.2: infinite loss"
        )
        return Guarantee(self.epsilon, source, "refuted")

    def sensitivity(self, n: int) -> float:
        """Return Delta = n (upper - lower)."""
        return self.domain.sensitivity(1, n)

    def scale(self, n: int) -> float:
        """Return Delta / epsilon."""
        return self.sensitivity(n) / self.epsilon

    def worst_pair(self, n: int) -> tuple[FloatArray, FloatArray]:
        """Return the lower and the upper corner: outputs below ``upper`` never come from the second."""
        return self.domain.worst_pair(1, n)

    def _exact_loss(self, n: int) -> ExactLoss:
        return ExactLoss(math.inf, math.inf, self.worst_pair(n))

    def _sample_rows(self, rows: FloatArray, generator: AESCounter) -> FloatArray:
        draw = np.random.Generator(generator)
        u = draw.random(rows.shape)
        while len(invalid := np.argwhere(u >= 0.5)):  # noqa: PLR2004 - where 1 - 2 |u| has no logarithm
            u[tuple(invalid.T)] = draw.random(len(invalid)) if self.invalid == "redraw" else 0.0
        noisy: FloatArray = self.domain.clip(rows) - self.scale(rows.shape[1]) * np.sign(u) * np.log1p(-2 * np.abs(u))
        return noisy


ENTRIES = (
    make_vector_entry(
        "dptext",
        functools.partial(DPText, epsilon=1.0),
        source="Beigi et al. 2019, Equation 9; refuted by Habernal 2022, Theorem 3.2",
        flaw="the noise is never negative, so the support moves with the input",
        samples=1_000,
    ),
)
