"""Vector mechanisms, by the name under which reports know them."""

import functools
from collections.abc import Callable

from deniable.vectors.adept import ADePT
from deniable.vectors.controls import CopyMechanism, RandomMechanism
from deniable.vectors.domains import Box, Domain, L1Ball, L2Ball
from deniable.vectors.dptext import DPText
from deniable.vectors.gaussian import Gaussian
from deniable.vectors.laplace import Laplace
from deniable.vectors.mechanism import ExactLoss, VectorMechanism

_UNIT = Box(0.0, 1.0)

VECTOR_MECHANISMS: dict[str, Callable[..., VectorMechanism]] = {
    "laplace": functools.partial(Laplace, domain=_UNIT),
    "gaussian": functools.partial(Gaussian, domain=_UNIT),
    "adept": ADePT,
    "adept-l1": functools.partial(ADePT, clip="l1"),
    "adept-true": functools.partial(ADePT, sensitivity="true"),
    "adept-gaussian": functools.partial(ADePT, noise="gaussian"),
    "dptext": DPText,
    "dptext-fixed": functools.partial(DPText, sampler="corrected"),
    "copy": CopyMechanism,
    "random": RandomMechanism,
}
"""The registry: a new mechanism is one new file and one more entry here. All take epsilon, but for random;
the Gaussian ones take delta too."""

__all__ = [
    "VECTOR_MECHANISMS",
    "ADePT",
    "Box",
    "CopyMechanism",
    "DPText",
    "Domain",
    "ExactLoss",
    "Gaussian",
    "L1Ball",
    "L2Ball",
    "Laplace",
    "RandomMechanism",
    "VectorMechanism",
]
