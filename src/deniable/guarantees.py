"""What a mechanism claims: frozen records of a guarantee and of where it comes from."""

import dataclasses
from typing import Literal

from deniable.errors import InputError

Standing = Literal["proved", "claimed", "refuted"]


@dataclasses.dataclass(frozen=True)
class MetricDP:
    """Metric differential privacy (Chatzikokolakis et al. 2013; TEM paper, Definition 3.1).

    For all inputs w, w' and every output y::

        P[M(w) = y] <= exp(epsilon * d(w, w')) * P[M(w') = y]

    Attributes:
        epsilon: privacy parameter per unit of distance, > 0.
        metric: name of the metric d.
        source: the theorem the guarantee rests on.
        standing: ``proved`` by the source, only ``claimed`` by it, or ``refuted``.
    """

    epsilon: float
    metric: str
    source: str
    standing: Standing = "proved"

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
        order: tuple[Standing, ...] = ("proved", "claimed", "refuted")
        return MetricDP(
            epsilon=self.epsilon + other.epsilon,
            metric=self.metric,
            source=f"sequential composition of ({self.source}) and ({other.source})",
            standing=max(self.standing, other.standing, key=order.index),
        )

    def __str__(self) -> str:
        """Return the short form used in messages and tables."""
        return f"{self.epsilon:g}-metric-DP ({self.metric})"
