"""Vector mechanisms: epsilon-DP or (epsilon, delta)-DP for a whole vector."""

from deniable.vectors.domains import Box, Domain, L1Ball, L2Ball
from deniable.vectors.gaussian import Gaussian
from deniable.vectors.k_norm import KNorm
from deniable.vectors.laplace import Laplace
from deniable.vectors.mechanism import ExactLoss, VectorMechanism

__all__ = [
    "Box",
    "Domain",
    "ExactLoss",
    "Gaussian",
    "KNorm",
    "L1Ball",
    "L2Ball",
    "Laplace",
    "VectorMechanism",
]
