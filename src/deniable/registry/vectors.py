"""Every vector mechanism by its name, also the published ones whose claims are false."""

import functools
from collections.abc import Callable

from deniable.published.adept.mechanism import ADePT
from deniable.published.dptext.copied_input import CopyMechanism
from deniable.published.dptext.mechanism import DPText
from deniable.published.dptext.random_output import RandomMechanism
from deniable.vectors import Box, Gaussian, L1Ball, L2Ball, Laplace, VectorMechanism

_UNIT_BOX, _UNIT_L1_BALL, _UNIT_L2_BALL = Box(0.0, 1.0), L1Ball(1.0), L2Ball(1.0)

VECTOR_MECHANISMS: dict[str, Callable[..., VectorMechanism]] = {
    "laplace": functools.partial(Laplace, domain=_UNIT_BOX),
    "gaussian": functools.partial(Gaussian, domain=_UNIT_BOX),
    "adept": ADePT,
    "adept-l1": functools.partial(Laplace, domain=_UNIT_L1_BALL),
    "adept-true": functools.partial(Laplace, domain=_UNIT_L2_BALL),
    "adept-gaussian": functools.partial(Gaussian, domain=_UNIT_L2_BALL),
    "dptext": DPText,
    "dptext-fixed": functools.partial(Laplace, domain=_UNIT_BOX),
    "copy": CopyMechanism,
    "random": RandomMechanism,
}
"""A new mechanism is one new file and one more entry here. All take epsilon, but for ``random``; the Gaussian ones
take delta too. ``adept-...`` and ``dptext-fixed`` are the remedies of the published mechanisms on their domains."""
