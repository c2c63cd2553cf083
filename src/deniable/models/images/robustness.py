"""What a certificate is: from counted predictions of a randomized model to a class and a radius.

Radii are in the unit of pixels in [0, 1], unless a published certificate says otherwise.
"""

import dataclasses
import math
from typing import ClassVar, Literal, Protocol

from deniable.core.errors import make_parameter_error
from deniable.core.guarantees import Status
from deniable.models.shared.tally import PredictionTally

Norm = Literal["l1", "l2", "linf"]
DecisionRule = Literal["votes", "softmax"]
_INVERSE_ORDERS = {"l1": 1.0, "l2": 0.5, "linf": 0.0}
"""1 / p of an l_p norm."""


@dataclasses.dataclass(frozen=True)
class CertifiedImage:
    """What is certified of one image.

    Attributes:
        label: the class of every image closer than ``radius``; None if the certificate abstains.
        radius: in the norm and the unit of the certificate; 0 if it abstains.
    """

    label: int | None
    radius: float


ABSTAINED = CertifiedImage(None, 0.0)


class RobustnessCertificate(Protocol):
    """A way to certify the predictions of a randomized model.

    Attributes:
        choices: names of the parameters that are chosen. All others follow from the network and its noise, so that a
            model's file holds the choices only, and none of them makes a certificate false.
        norm: of the radius.
        status: what is known of its claim.
        source: the theorem.
        decision_rule: which class is certified: the one with most ``votes``, or with the largest mean ``softmax``
            score.
        pixels_per_unit: factor from the unit of the radius to pixels of [0, 1].
    """

    choices: ClassVar[tuple[str, ...]]

    @property
    def decision_rule(self) -> DecisionRule:  # noqa: D102 - see the class
        ...

    @property
    def norm(self) -> Norm:  # noqa: D102 - see the class
        ...

    @property
    def status(self) -> Status:  # noqa: D102 - see the class
        ...

    @property
    def source(self) -> str:  # noqa: D102 - see the class
        ...

    @property
    def pixels_per_unit(self) -> float:  # noqa: D102 - see the class
        ...

    def certify(self, selection: PredictionTally, estimation: PredictionTally, alpha: float) -> CertifiedImage:
        """Return the class and its radius, wrong with probability at most alpha for one image.

        Args:
            selection: draws that choose the class.
            estimation: independent draws that bound the probabilities.
            alpha: in (0, 1).

        Raises:
            InputError: alpha outside (0, 1), or tallies of different classes.
        """
        ...


def convert_radius(radius: float, norm_from: Norm, norm_to: Norm, dimension: int) -> float:
    """Return the radius of the largest ball of one norm inside a ball of another.

    With 1/p > 1/q, ||v||_q <= ||v||_p <= d^(1/p - 1/q) ||v||_q. So a certificate in a norm of smaller p is divided,
    for instance l_inf by l1 / d or l2 / sqrt(d), and one of larger p is kept.

    Args:
        radius: >= 0, in ``norm_from``.
        norm_from: of the radius.
        norm_to: of the result.
        dimension: d, numbers of an image.

    Raises:
        InputError: a radius below 0, an unknown norm, or no dimension.
    """
    for name, norm in (("norm_from", norm_from), ("norm_to", norm_to)):
        if norm not in _INVERSE_ORDERS:
            raise make_parameter_error("converted", name, f"one of {', '.join(_INVERSE_ORDERS)}", norm)
    if math.isnan(radius) or radius < 0:
        raise make_parameter_error("converted", "radius", "a float of at least 0", radius)
    if dimension < 1:
        raise make_parameter_error("converted", "dimension", "an integer of at least 1", dimension)
    return float(radius / dimension ** max(_INVERSE_ORDERS[norm_from] - _INVERSE_ORDERS[norm_to], 0.0))
