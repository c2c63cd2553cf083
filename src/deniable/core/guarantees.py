"""Guarantees of privacy: what a mechanism promises, to whom, on what ground, and what is known of that.

`Status` is the one scale of what is known of a claim: verdicts, certificates and model cards use it too.

Evidence for or against a guarantee: verdicts, their witnesses, and how strong a guarantee they let stand.
"""

import dataclasses
import functools
import math
from typing import Any, Literal, get_args

from deniable.core.errors import InputError
from deniable.core.numbers import as_percent, format_beside, format_exact, format_lower, format_odds, format_upper

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
NoiseLaw = Literal["laplace", "gaussian", "l2-norm", "max-norm"]
"""Law of noise: independent coordinates, or a point whose odds fall with its length or its largest coordinate."""

SHOWN_SHARE = 0.01
"""Share of an epsilon from which on it is said to be unused."""

Unit = Literal["word", "record", "person"]
"""What is protected as a whole.

- ``word``: one word of a text;
- ``record``: one input of a mechanism or one example of a training set: a text, a vector, an image, a row;
- ``person``: all records of one person.
"""
UNIT_PLURALS: dict[str, str] = {"word": "words", "record": "records", "person": "people"}

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
    """Whether a claim is proved, by the program's arithmetic or by ideal arithmetic."""
    return status in {"proved", PROVED_IDEAL}


def find_weakest_status(*statuses: Status) -> Status:
    """The weakest of some statuses: what rests on several claims is known no better than the weakest."""
    return max(statuses, key=STATUSES.index)


@dataclasses.dataclass(frozen=True)
class Guarantee:
    """Differential privacy: no event of the output is much likelier on one input than on an adjacent one.

    For any two adjacent inputs w, w' and every event E::

        P[M(w) in E] <= exp(epsilon * d(w, w')) * P[M(w') in E] + delta

    Pure differential privacy has delta 0. Metric differential privacy (Chatzikokolakis et al. 2013; Carvalho et al.
    2021, Definition 3.1) has a metric d; without one, any two adjacent inputs count as 1 apart.

    Attributes:
        epsilon: >= 0, per unit of distance where there is a metric.
        source: what the guarantee rests on, such as a theorem.
        status: how far it is known to be true.
        delta: in [0, 1).
        metric: name of d, if there is one.
        unit: what is protected as a whole.
        adjacency: which two inputs are compared.
    """

    epsilon: float
    source: str
    status: Status = "proved"
    _: dataclasses.KW_ONLY
    delta: float = 0.0
    metric: str | None = None
    unit: Unit = "record"
    adjacency: str = ANY_TWO_VALUES

    @classmethod
    def of_words(cls, epsilon: float, metric: str, source: str, status: Status = "proved") -> "Guarantee":
        """Metric differential privacy for any two words, as word mechanisms promise it."""
        return cls(epsilon, source, status, metric=metric, unit="word", adjacency=ANY_TWO_WORDS)

    @property
    def kind(self) -> str:
        """The form of differential privacy: MetricDP, ApproxDP or PureDP."""
        return "MetricDP" if self.metric is not None else "ApproxDP" if self.delta else "PureDP"

    def loss(self, distance: float) -> float:
        """The largest privacy loss (log odds ratio, nats) between inputs this far apart under the metric."""
        return self.epsilon * distance

    def compose(self, other: "Guarantee") -> "Guarantee":
        """The guarantee of releasing both outputs for the same input: epsilons and deltas add up.

        Raises:
            InputError: the guarantees differ in metric, unit or adjacency.
        """
        for name in ("metric", "unit", "adjacency"):
            values = getattr(self, name), getattr(other, name)
            if values[0] != values[1]:
                raise InputError(f"Guarantees compose over one {name} only. Got {values[0]!r} and {values[1]!r}.")
        return dataclasses.replace(
            self,
            epsilon=self.epsilon + other.epsilon,
            delta=self.delta + other.delta,
            source=f"sequential composition of ({self.source}) and ({other.source})",
            status=find_weakest_status(self.status, other.status),
        )

    def __str__(self) -> str:
        """The short form used in messages and tables."""
        epsilon = format_upper(self.epsilon, 6)
        if self.metric is not None:
            return f"{epsilon}-metric-DP ({self.metric})"
        return f"({epsilon}, {format_upper(self.delta, 6)})-DP" if self.delta else f"{epsilon}-DP"

    def to_dict(self) -> dict[str, Any]:
        """The kind and the fields, as certificates and model files hold them: delta and metric where there are any."""
        fields: dict[str, Any] = {"kind": self.kind, "epsilon": self.epsilon}
        if self.delta:
            fields["delta"] = self.delta
        if self.metric is not None:
            fields["metric"] = self.metric
        grounds = {"source": self.source, "status": self.status, "unit": self.unit, "adjacency": self.adjacency}
        return fields | grounds


@dataclasses.dataclass(frozen=True)
class Witness:
    """Two inputs and an output with a large privacy loss.

    Attributes:
        input: w.
        other: w'.
        output: y.
        distance: d(w, w').
        loss: ln P(y|w) - ln P(y|w'), in nats; infinite where w' never gives y. For sampled evidence,
            where the output is an attacker's guess, the lower confidence bound.
        correct_guesses: correct guesses behind a sampled event.
        guesses: all guesses behind it; 0 for an event whose probability is computed.
    """

    input: str
    other: str
    output: str
    distance: float
    loss: float
    correct_guesses: int = 0
    guesses: int = 0

    def __str__(self) -> str:
        """The witness in one line."""
        distance_text = f"{self.distance:.4g} apart"
        if self.guesses:
            guess_counts = f"{self.correct_guesses:,} of {self.guesses:,} guesses are right"
            return f"{self.output}, {guess_counts}; nearest inputs {self.input} and {self.other}, {distance_text}"
        if math.isinf(self.loss):
            return f"output {self.output!r} comes from {self.input!r} but never from {self.other!r}, {distance_text}"
        likelier = f"{format_odds(self.loss, format_lower)} times as likely from {self.input!r} as from {self.other!r}"
        return f"output {self.output!r} is {likelier}, {distance_text}"


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What evidence says of a guarantee.

    Attributes:
        guarantee: the guarantee that is judged, as claimed.
        status: how far it is known to be true, by this evidence.
        method: how the verdict was reached, and what it covers.
        epsilon: upper bound on the true epsilon, all rounding in it; where the status is ``proved for ideal
            arithmetic``, on that of the ideal law. Infinite where none is known.
        lower_bound: lower bound on the true epsilon, in itself a proof up to ``confidence``.
        confidence: of the lower bound; 1 where nothing is sampled.
        samples: number of draws behind it; 0 where it is computed from the law.
        witness: the pair and output behind the lower bound.
        seconds: how long that took.
        detectable_epsilon: the least true epsilon that an audit of so many guesses would have refuted with
            probability 90%, by the best attacker there is; infinite where none was within its reach;
            None where nothing is sampled.
        rounded_verdict: where what refutes is how numbers are given, such as the last bits of floats: the verdict on
            the same mechanism when its numbers are rounded to the grid that this verdict's method names. Else None.
    """

    guarantee: Guarantee
    status: Status
    method: str
    epsilon: float = math.inf
    lower_bound: float = 0.0
    confidence: float = 1.0
    samples: int = 0
    witness: Witness | None = None
    seconds: float = 0.0
    detectable_epsilon: float | None = None
    rounded_verdict: "Verdict | None" = None

    @property
    def claim(self) -> float:
        """The epsilon claimed (per unit of distance for a metric guarantee)."""
        return self.guarantee.epsilon

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON can hold them: numbers that are not finite as text.

        ``rounded_verdict`` is left out where it is None.
        """
        fields = vars(self) | {"guarantee": self.guarantee.to_dict()}
        if self.witness is not None:
            fields["witness"] = dataclasses.asdict(self.witness)
        if self.rounded_verdict is None:
            del fields["rounded_verdict"]
        else:
            fields["rounded_verdict"] = self.rounded_verdict.to_dict()
        encoded: dict[str, Any] = encode_nonfinite_numbers(fields)
        return encoded

    def __str__(self) -> str:
        """The verdict as a few lines for a person."""
        delta = f" and delta {format_exact(self.guarantee.delta)}" if self.guarantee.delta else ""
        lines = [f"{self.status}: claimed epsilon {format_exact(self.claim)}{delta}, {self._describe_bounds()}"]
        if self.witness is not None:
            lines.append(f"witness: {self.witness}")
        if self.detectable_epsilon is not None and self.status != "refuted":
            lines.append(f"power: {_describe_power(self.detectable_epsilon)}")
        sampled = f"{self.samples:,} samples, " if self.samples else ""
        lines.append(f"method: {self.method}; {sampled}{self.seconds:.1f} s")
        if self.rounded_verdict is not None:
            lines.append("with rounded outputs:")
            lines += [f"  {line}" for line in str(self.rounded_verdict).splitlines()]
        return "\n".join(lines)

    def _describe_bounds(self) -> str:
        show = functools.partial(format_beside, self.claim)
        sampled = f" with {format_lower(as_percent(self.confidence), 6)}% confidence" if self.samples else ""
        lower = f"true epsilon >= {show(self.lower_bound, format_lower)}{sampled}"
        if math.isinf(self.lower_bound):
            return "true epsilon infinite"
        if self.samples or self.status == "refuted":
            return lower
        if math.isinf(self.epsilon):
            return f"{lower}, no upper bound known"
        if self.witness is None:
            return "nothing computed"
        if self.status != "proved":
            return f"true epsilon from {show(self.lower_bound, format_lower)} to {show(self.epsilon, format_upper)}"
        unused_share = max(1 - self.epsilon / self.claim, 0) if self.claim else 0
        is_shown = self.claim and unused_share >= SHOWN_SHARE
        unused = f", {format_lower(as_percent(unused_share))}% of it unused" if is_shown else ""
        return f"exact {show(self.epsilon, format_upper)}{unused}"


def _describe_power(detectable_epsilon: float) -> str:
    if math.isinf(detectable_epsilon):
        return "none: with so few guesses no violation, however large, could have been seen"
    return (
        f"a true epsilon of {format_upper(detectable_epsilon, 4)} would have been refuted nine times in ten, by the "
        "best attacker"
    )


def encode_nonfinite_numbers(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """A JSON value with numbers that are not finite as text."""
    if isinstance(value, dict):
        return {name: encode_nonfinite_numbers(element) for name, element in value.items()}
    if isinstance(value, list):
        return [encode_nonfinite_numbers(element) for element in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def limit_status(guarantee: Guarantee, verdict: Verdict) -> Guarantee:
    """A guarantee with its status lowered to that of the verdict on its own mechanism.

    Every certificate and model card shows guarantees through this function.

    Args:
        guarantee: of a mechanism.
        verdict: on that mechanism. It judges the arithmetic of the draws: where they come from integer tables,
            those tables.
    """
    return dataclasses.replace(guarantee, status=find_weakest_status(guarantee.status, verdict.status))
