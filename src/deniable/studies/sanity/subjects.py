"""The mechanisms under the check, each with what is known of it."""

import dataclasses
import math
from collections.abc import Callable

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.published.adept.mechanism import ADePT
from deniable.published.adept.unclipped import UnclippedADePT
from deniable.published.dptext.copied_input import CopyMechanism
from deniable.published.dptext.mechanism import DPText
from deniable.vectors import Box, Laplace, RandomMechanism, VectorMechanism

_BOX = Box(0.0, 1.0)


@dataclasses.dataclass(frozen=True)
class Subject:
    """A mechanism, and its law where a coordinate is read as x or x'.

    Attributes:
        name: in tables.
        title: over its panel.
        make: from epsilon and seed to the mechanism.
        coordinate: from epsilon and n to the probabilities that a coordinate from x, and from x', reads
            as x'; coordinates are independent.
        control: one that does not depend on epsilon.
        corners: the inputs are opposite corners of the ball and not zeros and ones.
    """

    name: str
    title: str
    make: Callable[[float, int | None], VectorMechanism]
    coordinate: Callable[[float, int], tuple[float, float]]
    control: bool = False
    corners: bool = False

    def inputs(self, n: int) -> tuple[FloatArray, FloatArray]:
        """Return x and x' (n,): zeros and ones, or the corners that are their images in the ball."""
        if not self.corners:
            return np.zeros(n), np.ones(n)
        x_prime, x = self.make(1.0, None).worst_pair(n)
        return x, x_prime

    @property
    def threshold(self) -> float:
        """Half-way between a coordinate of x and of x'."""
        return 0.0 if self.corners else 0.5

    def truth(self, epsilon: float, n: int) -> float:
        """Return the exact loss at the two inputs, computed from the law."""
        return self.make(epsilon, None).exact_loss(n).lower


def _laplace(gap: float, scale: float) -> tuple[float, float]:
    """Return the probabilities for Laplace noise and inputs that lie ``gap`` apart, read at half-way."""
    wrong = 0.5 * math.exp(-gap / (2 * scale))
    return wrong, 1 - wrong


SUBJECTS = (
    Subject(
        "copy",
        "Controls: copy and random",
        lambda epsilon, seed: CopyMechanism(epsilon=epsilon, seed=seed),
        lambda _epsilon, _n: (0.0, 1.0),
        control=True,
    ),
    Subject(
        "random",
        "Controls: copy and random",
        lambda _epsilon, seed: RandomMechanism(seed=seed),
        lambda _epsilon, _n: (0.5, 0.5),
        control=True,
    ),
    Subject(
        "laplace",
        "Laplace, correct",
        lambda epsilon, seed: Laplace(epsilon=epsilon, domain=_BOX, seed=seed),
        lambda epsilon, n: _laplace(1.0, n / epsilon),
    ),
    Subject(
        "adept-unclipped",
        "ADePT in Habernal 2022: x + Lap(1/eps), no clip",
        lambda epsilon, seed: UnclippedADePT(epsilon=epsilon, domain=_BOX, seed=seed),
        lambda epsilon, _n: _laplace(1.0, 1 / epsilon),
    ),
    Subject(
        "adept",
        "ADePT in Krishna et al. 2021: l2 clip, Lap(2C/eps)",
        lambda epsilon, seed: ADePT(epsilon=epsilon, seed=seed),
        lambda epsilon, n: _laplace(2 / math.sqrt(n), 2 / epsilon),
        corners=True,
    ),
    Subject(
        "dptext-zero",
        "DPText, missing noise taken as 0",
        lambda epsilon, seed: DPText(epsilon=epsilon, invalid="zero", seed=seed),
        lambda epsilon, n: (0.5 * math.exp(-epsilon / (2 * n)), 1.0),
    ),
    Subject(
        "dptext-redraw",
        "DPText, missing noise drawn again",
        lambda epsilon, seed: DPText(epsilon=epsilon, invalid="redraw", seed=seed),
        lambda epsilon, n: (math.exp(-epsilon / (2 * n)), 1.0),
    ),
)
