"""Every vector mechanism by its name, also the published ones whose claims are false."""

import functools
from collections.abc import Callable

from deniable.published.adept.mechanism import ADePT
from deniable.published.dptext.mechanism import DPText
from deniable.vectors import Box, Gaussian, Laplace, VectorMechanism
from deniable.vectors.controls import CopyMechanism, RandomMechanism

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
