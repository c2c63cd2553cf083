"""Evidence for or against a guarantee: verdicts, their witnesses, and how strong a guarantee they let stand."""

import dataclasses
import math
from typing import Any, TypeVar

from deniable.core.guarantees import (
    Guarantee,
    Status,
    encode_guarantee,
    find_weakest_status,
)
from deniable.core.numbers import as_percent, format_beside, format_exact, format_lower, format_odds, format_upper


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
        """Return the witness in one line."""
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
        epsilon: upper bound on the true epsilon, all rounding in it; where the status is ``proved for ideal
            arithmetic``, on that of the ideal law. Infinite where none is known.
        lower_bound: lower bound on the true epsilon, in itself a proof up to ``confidence``.
        confidence: of the lower bound; 1 where nothing is sampled.
        samples: number of draws behind it; 0 where it is computed from the law.
        witness: the pair and output behind the lower bound.
        method: how the verdict was reached, and what it covers.
        seconds: how long that took.
        detectable_epsilon: the least true epsilon that an audit of so many guesses would have refuted with
            probability 90 %, by the best attacker there is; infinite where none was within its reach;
            None where nothing is sampled.
        rounded_verdict: where what refutes is how numbers are given, such as the last bits of floats: the verdict on
            the same mechanism when its numbers are rounded to the grid that this verdict's method names. Else None.
    """

    guarantee: Guarantee
    status: Status
    epsilon: float
    lower_bound: float
    confidence: float
    samples: int
    witness: Witness | None
    method: str
    seconds: float
    detectable_epsilon: float | None = None
    rounded_verdict: "Verdict | None" = None

    @property
    def claim(self) -> float:
        """The epsilon claimed (per unit of distance for a metric guarantee)."""
        return self.guarantee.epsilon

    @property
    def delta(self) -> float:
        """The delta claimed; 0 for a guarantee without one."""
        return getattr(self.guarantee, "delta", 0.0)

    @property
    def unused_share(self) -> float:
        """Share of the claimed epsilon that is not spent; negative where more is."""
        return 1 - self.epsilon / self.claim if self.claim else -math.inf

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON can hold them: numbers that are not finite as text.

        ``rounded_verdict`` is left out where it is None.
        """
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        fields["guarantee"] = encode_guarantee(self.guarantee)
        fields["witness"] = None if self.witness is None else dataclasses.asdict(self.witness)
        fields["rounded_verdict"] = None if self.rounded_verdict is None else self.rounded_verdict.to_dict()
        if self.rounded_verdict is None:
            del fields["rounded_verdict"]
        encoded: dict[str, Any] = encode_nonfinite_numbers(fields)
        return encoded

    def __str__(self) -> str:
        """Return the verdict as a few lines for a person."""
        delta = f" and delta {format_exact(self.delta)}" if self.delta else ""
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
        sampled = f" with {format_lower(as_percent(self.confidence), 6)} % confidence" if self.samples else ""
        lower = f"true epsilon >= {format_beside(self.claim, self.lower_bound, format_lower)}{sampled}"
        if math.isinf(self.lower_bound):
            return "true epsilon infinite"
        if self.samples or self.status == "refuted":
            return lower
        if math.isinf(self.epsilon):
            return f"{lower}, no upper bound known"
        if self.witness is None:
            return "nothing computed"
        if self.status != "proved":
            limits = (
                format_beside(self.claim, self.lower_bound, format_lower),
                format_beside(self.claim, self.epsilon, format_upper),
            )
            return f"true epsilon from {limits[0]} to {limits[1]}"
        unused = f", {format_lower(as_percent(max(self.unused_share, 0)))} % of it unused" if self.claim else ""
        return f"exact {format_beside(self.claim, self.epsilon, format_upper)}{unused}"


def _describe_power(detectable_epsilon: float) -> str:
    if math.isinf(detectable_epsilon):
        return "none: with so few guesses no violation, however large, could have been seen"
    return (
        f"a true epsilon of {format_upper(detectable_epsilon, 4)} would have been refuted nine times in ten, by the "
        "best attacker"
    )


def encode_nonfinite_numbers(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return a JSON value with numbers that are not finite as text."""
    if isinstance(value, dict):
        return {name: encode_nonfinite_numbers(element) for name, element in value.items()}
    if isinstance(value, list):
        return [encode_nonfinite_numbers(element) for element in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


GuaranteeT = TypeVar("GuaranteeT", bound=Guarantee)


def limit_status(guarantee: GuaranteeT, verdict: Verdict) -> GuaranteeT:
    """Return a guarantee as it may be shown: known no better than the verdict on its own mechanism says.

    Every certificate and model card shows guarantees through this function.

    Args:
        guarantee: of a mechanism.
        verdict: on that mechanism. It judges the arithmetic of the draws: where they come from integer tables,
            those tables.
    """
    return dataclasses.replace(guarantee, status=find_weakest_status(guarantee.status, verdict.status))
