"""How to look for an epsilon among kernels that are known before anything is calibrated."""

import dataclasses
from collections.abc import Callable

from deniable.words.laws import ExponentialKernel


def _keep_parameter(parameter: float) -> float:
    return parameter


def _prepare_nothing(parameter: float, epsilon: float) -> None:
    del parameter, epsilon


@dataclasses.dataclass(frozen=True)
class KernelSearch:
    """The kernels of a mechanism over a space, by a parameter that grows with epsilon.

    Attributes:
        kernel_at: the kernel of a parameter, in no time.
        epsilon_at: about the epsilon of a parameter, not above it by more than rounding; by default the parameter is
            epsilon.
        prepare: called with a parameter and an epsilon near its own before the mechanism of that epsilon is built, so
            that its law is found fast; the law does not depend on it.
    """

    kernel_at: Callable[[float], ExponentialKernel]
    epsilon_at: Callable[[float], float] = _keep_parameter
    prepare: Callable[[float, float], None] = _prepare_nothing
