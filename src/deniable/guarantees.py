"""What a mechanism claims: frozen records of a guarantee and of where it comes from."""

import dataclasses

from deniable.errors import InputError
from deniable.status import Status, find_weakest_status


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
