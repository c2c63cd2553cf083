"""Guarantees of privacy: what a mechanism promises, to whom, on what ground, and what is known of that.

Frozen records, one for each form of differential privacy. `Status` is the one scale of what is known of a claim:
verdicts, certificates and model cards use it too.
"""

import dataclasses
from typing import Any, Literal, get_args

from deniable.core.errors import InputError
from deniable.core.numbers import format_upper

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
STATUSES: tuple[Status, ...] = get_args(Status)
"""Every status, from the strongest to the weakest."""
PROVED_IDEAL: Status = "proved for ideal arithmetic"

Unit = Literal["word", "record", "person"]
"""What is protected as a whole.

- ``word``: one word of a text;
- ``record``: one input of a mechanism or one example of a training set: a text, a vector, an image, a row;
- ``person``: all records of one person.
"""

ANY_TWO_WORDS = "any two words"
ANY_TWO_VALUES = "any two values"
ANY_TWO_TEXTS = "any two texts"
EMPTY_RECORD = "one record made empty: the number of records and the sampling rate are public"
"""Which data sets the guarantee of DP-SGD compares, the zero-out relation of Ponomareva et al. 2023.

An empty record keeps its place and has the gradient 0. Rate and divisor follow from the number of records, which the
model card states: a record that is added or removed would change both.
"""
EMPTY_PLACE = "one record made empty: the number of places for records and the sampling rate are public"
"""The same where the places are declared: a record is added to an empty place, or removed from its place."""
REPLACED_RECORD = "one record replaced by another"
ADDED_OR_REMOVED_RECORD = "one record added or removed"
ADDED_OR_REMOVED_PERSON = "all records of one person added or removed"


def is_proved(status: Status) -> bool:
    """Return whether a claim is proved, by the program's arithmetic or by ideal arithmetic."""
    return status in {"proved", PROVED_IDEAL}


def find_weakest_status(*statuses: Status) -> Status:
    """Return the weakest of some statuses: what rests on several claims is known no better than the weakest."""
    return max(statuses, key=STATUSES.index)


@dataclasses.dataclass(frozen=True)
class PureDP:
    """Pure differential privacy: for adjacent inputs and every output, P <= exp(epsilon) P'.

    Attributes:
        epsilon: >= 0.
        source: what the guarantee rests on.
        status: how far it is known to be true.
        unit: what is protected as a whole.
        adjacency: which two inputs are compared.
    """

    epsilon: float
    source: str
    status: Status = "proved"
    unit: Unit = "record"
    adjacency: str = ANY_TWO_VALUES

    def compose(self, other: "PureDP") -> "PureDP":
        """Return the guarantee of releasing both outputs for the same input: epsilons add up.

        Raises:
            InputError: the guarantees differ in unit or adjacency.
        """
        return PureDP(self.epsilon + other.epsilon, *_combine_grounds(self, other))

    def __str__(self) -> str:
        """Return the short form used in messages and tables."""
        return f"{format_upper(self.epsilon, 6)}-DP"


@dataclasses.dataclass(frozen=True)
class ApproxDP:
    """Approximate differential privacy: for adjacent inputs and every event, P <= exp(epsilon) P' + delta.

    Attributes:
        epsilon: >= 0.
        delta: in [0, 1).
        source: what the guarantee rests on.
        status: how far it is known to be true.
        unit: what is protected as a whole.
        adjacency: which two inputs are compared.
    """

    epsilon: float
    delta: float
    source: str
    status: Status = "proved"
    unit: Unit = "record"
    adjacency: str = ANY_TWO_VALUES

    def compose(self, other: "ApproxDP") -> "ApproxDP":
        """Return the guarantee of releasing both outputs for the same input: both numbers add up.

        Raises:
            InputError: the guarantees differ in unit or adjacency.
        """
        return ApproxDP(self.epsilon + other.epsilon, self.delta + other.delta, *_combine_grounds(self, other))

    def __str__(self) -> str:
        """Return the short form used in messages and tables."""
        return f"({format_upper(self.epsilon, 6)}, {format_upper(self.delta, 6)})-DP"


@dataclasses.dataclass(frozen=True)
class MetricDP:
    """Metric differential privacy (Chatzikokolakis et al. 2013; Carvalho et al. 2021, Definition 3.1).

    For adjacent inputs w, w' and every output y::

        P[M(w) = y] <= exp(epsilon * d(w, w')) * P[M(w') = y]

    Attributes:
        epsilon: privacy parameter per unit of distance, > 0.
        metric: name of the metric d.
        source: the theorem the guarantee rests on.
        status: how far it is known to be true.
        unit: what is protected as a whole.
        adjacency: which two inputs are compared.
    """

    epsilon: float
    metric: str
    source: str
    status: Status = "proved"
    unit: Unit = "word"
    adjacency: str = ANY_TWO_WORDS

    def loss(self, distance: float) -> float:
        """Return the largest privacy loss (log odds ratio, nats) between inputs this far apart."""
        return self.epsilon * distance

    def compose(self, other: "MetricDP") -> "MetricDP":
        """Return the guarantee of releasing both outputs for the same input: epsilons add up.

        Raises:
            InputError: the guarantees differ in metric, unit or adjacency.
        """
        if other.metric != self.metric:
            raise InputError(f"Guarantees compose over one metric only. Got {self.metric!r} and {other.metric!r}.")
        return MetricDP(self.epsilon + other.epsilon, self.metric, *_combine_grounds(self, other))

    def __str__(self) -> str:
        """Return the short form used in messages and tables."""
        return f"{format_upper(self.epsilon, 6)}-metric-DP ({self.metric})"


Guarantee = PureDP | ApproxDP | MetricDP


def _combine_grounds(first: Guarantee, second: Guarantee) -> tuple[str, Status, Unit, str]:
    """Return source, status, unit and adjacency of the sequential composition of two guarantees."""
    for name in ("unit", "adjacency"):
        values = getattr(first, name), getattr(second, name)
        if values[0] != values[1]:
            raise InputError(f"Guarantees compose over one {name} only. Got {values[0]!r} and {values[1]!r}.")
    source = f"sequential composition of ({first.source}) and ({second.source})"
    return source, find_weakest_status(first.status, second.status), first.unit, first.adjacency


def encode_guarantee(guarantee: Guarantee) -> dict[str, Any]:
    """Return a guarantee as plain fields, its kind among them, as certificates and model files hold it."""
    return {"kind": type(guarantee).__name__, **dataclasses.asdict(guarantee)}
