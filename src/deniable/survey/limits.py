"""What counts as protected and as useful; nothing heavy is loaded."""

import dataclasses
from typing import Literal

from deniable.core.errors import InputError

Need = Literal["texts", "classifier"]
MAX_WHOLE_EPSILON = 10.0
"""Of a whole record or person: at 10 odds between two of them change by a factor of 22,000; more promises nothing."""
MAX_WHOLE_DELTA = 1e-3
"""Of the same: who publishes each whole record with a chance of delta, and else nothing, keeps epsilon 0 and delta."""


@dataclasses.dataclass(frozen=True)
class Limits:
    """What counts as protected and as useful.

    Conventions, which the owner of the texts may set.

    Attributes:
        max_recovery: maximum share of words that attackers may guess, interval included.
        min_retained: minimum share of a classifier's gain over a blind guess that a release must keep.

    Raises:
        InputError: a share that is not between 0 and 1.
    """

    max_recovery: float = 0.2
    min_retained: float = 0.5

    def __post_init__(self) -> None:
        for option, value in (("--max-recovery", self.max_recovery), ("--min-retained", self.min_retained)):
            if not 0 < value < 1:
                raise InputError(f"{option} is a share and must be above 0 and below 1. Got {value:g}: give 0.5, say.")
