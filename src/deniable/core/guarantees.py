"""What a mechanism claims: frozen records of a guarantee and of where it comes from."""

import dataclasses
from typing import Literal, get_args

from deniable.core.errors import InputError

Status = Literal["proved", "proved for ideal arithmetic", "claimed", "not refuted", "undecided", "refuted"]
"""From the strongest to the weakest.

- ``proved``: true of what the program draws, its arithmetic included;
- ``proved for ideal arithmetic``: true of real numbers, and the program draws with floating point, whose
  rounding no proof covers;
- ``claimed``: a publication says so, and its proof has gaps;
- ``not refuted``: a search that could have refuted it did not;
- ``undecided``: the bounds lie on both sides of the claim, or nothing could be computed;
- ``refuted``: false, with a witness.
"""

PROVED_IDEAL: Status = "proved for ideal arithmetic"
_STRENGTH_ORDER: tuple[Status, ...] = get_args(Status)


def is_proved(status: Status) -> bool:
    """Return whether a claim is proved, by arithmetic that is the program's or by ideal arithmetic."""
    return status in {"proved", PROVED_IDEAL}


def find_weakest_status(*statuses: Status) -> Status:
    """Return the weakest of some statuses: what rests on several claims stands as the weakest of them."""
    return max(statuses, key=_STRENGTH_ORDER.index)


@dataclasses.dataclass(frozen=True)
class PureDP:
    """Pure differential privacy: for any two inputs and every output, P <= exp(epsilon) P'.

    Attributes:
        epsilon: >= 0.
        source: what the guarantee rests on.
        status: how far it is known to be true.
    """

    epsilon: float
    source: str
    status: Status = "proved"

    def compose(self, other: "PureDP") -> "PureDP":
        """Return the guarantee of releasing both outputs for the same input: epsilons add up."""
        return PureDP(self.epsilon + other.epsilon, *_combine_sources(self, other))

    def __str__(self) -> str:
        """Return the short form used in messages and tables."""
        return f"{self.epsilon:.6g}-DP"


@dataclasses.dataclass(frozen=True)
class ApproxDP:
    """Approximate differential privacy: for any two inputs and every event, P <= exp(epsilon) P' + delta.

    Attributes:
        epsilon: >= 0.
        delta: in [0, 1).
        source: what the guarantee rests on.
        status: how far it is known to be true.
    """

    epsilon: float
    delta: float
    source: str
    status: Status = "proved"

    def compose(self, other: "ApproxDP") -> "ApproxDP":
        """Return the guarantee of releasing both outputs for the same input: both numbers add up."""
        return ApproxDP(self.epsilon + other.epsilon, self.delta + other.delta, *_combine_sources(self, other))

    def __str__(self) -> str:
        """Return the short form used in messages and tables."""
        return f"({self.epsilon:.6g}, {self.delta:g})-DP"


@dataclasses.dataclass(frozen=True)
class MetricDP:
    """Metric differential privacy (Chatzikokolakis et al. 2013; TEM paper, Definition 3.1).

    For all inputs w, w' and every output y::

        P[M(w) = y] <= exp(epsilon * d(w, w')) * P[M(w') = y]

    Attributes:
        epsilon: privacy parameter per unit of distance, > 0.
        metric: name of the metric d.
        source: the theorem the guarantee rests on.
        status: how far it is known to be true.
    """

    epsilon: float
    metric: str
    source: str
    status: Status = "proved"

    def loss(self, distance: float) -> float:
        """Return the largest privacy loss (log odds ratio, nats) between inputs this far apart."""
        return self.epsilon * distance

    def compose(self, other: "MetricDP") -> "MetricDP":
        """Return the guarantee of releasing both outputs for the same input: epsilons add up.

        Raises:
            InputError: the two guarantees are about different metrics.
        """
        if other.metric != self.metric:
            raise InputError(f"Guarantees compose over one metric only. Got {self.metric!r} and {other.metric!r}.")
        return MetricDP(self.epsilon + other.epsilon, self.metric, *_combine_sources(self, other))

    def __str__(self) -> str:
        """Return the short form used in messages and tables."""
        return f"{self.epsilon:g}-metric-DP ({self.metric})"


def _combine_sources(
    first: "PureDP | ApproxDP | MetricDP", second: "PureDP | ApproxDP | MetricDP"
) -> tuple[str, Status]:
    """Return source and status of the sequential composition of two guarantees."""
    source = f"sequential composition of ({first.source}) and ({second.source})"
    return source, find_weakest_status(first.status, second.status)
