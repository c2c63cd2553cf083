"""Vector mechanisms, by the name under which reports know them."""

from deniable.vectors.adept import ADePT
from deniable.vectors.controls import Copy, Random
from deniable.vectors.domains import Box, Domain, L1Ball, L2Ball
from deniable.vectors.dptext import DPText
from deniable.vectors.gaussian import Gaussian
from deniable.vectors.laplace import Laplace
from deniable.vectors.mechanism import ExactLoss, VectorMechanism

VECTOR_MECHANISMS: dict[str, type[VectorMechanism]] = {
    cls.name: cls for cls in (Laplace, Gaussian, ADePT, DPText, Copy, Random)
}
"""The registry: a new mechanism is one new file and one more entry here."""

__all__ = [
    "VECTOR_MECHANISMS",
    "ADePT",
    "Box",
    "Copy",
    "DPText",
    "Domain",
    "ExactLoss",
    "Gaussian",
    "L1Ball",
    "L2Ball",
    "Laplace",
    "Random",
    "VectorMechanism",
]
