"""How high a guarantee stands once its mechanism is verified."""

import dataclasses
import math
from typing import Any, TypeVar

from deniable.core.guarantees import ApproxDP, MetricDP, PureDP, Status, find_weakest_status

_MAX_PLAIN_LOSS = math.log(1000)


@dataclasses.dataclass(frozen=True)
class Witness:
    """The inputs and the output at which the most is lost.

    Attributes:
        input: w.
        other: w'.
        output: y.
        distance: d(w, w').
        loss: ln P(y|w) - ln P(y|w'), in nats; infinite where w' never gives y. For sampled evidence,
            where the output is an attacker's guess, the lower confidence bound.
        right: right guesses behind a sampled event.
        guesses: all guesses behind it; 0 for an event whose probability is computed.
    """

    input: str
    other: str
    output: str
    distance: float
    loss: float
    right: int = 0
    guesses: int = 0

    def __str__(self) -> str:
        """Return the witness in one line."""
        distance_text = f"{self.distance:.4g} apart"
        if self.guesses:
            guess_counts = f"{self.right:,} of {self.guesses:,} guesses are right"
            return f"{self.output}, {guess_counts}; nearest inputs {self.input} and {self.other}, {distance_text}"
        if math.isinf(self.loss):
            return f"output {self.output!r} comes from {self.input!r} but never from {self.other!r}, {distance_text}"
        odds_ratio = (
            f"{math.exp(self.loss):.4g}" if self.loss < _MAX_PLAIN_LOSS else f"10^{self.loss / math.log(10):.1f}"
        )
        return f"output {self.output!r} is {odds_ratio} times as likely from {self.input!r} as from {self.other!r}, {distance_text}"


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What evidence says of a claim of epsilon (per unit of distance for words).

    Attributes:
        status: how far the claim is known to be true, as computed or by a theorem.
        claim: the epsilon claimed.
        epsilon: upper bound on the true epsilon, all rounding in it; where the status is ``proved for ideal
            arithmetic``, on that of the ideal law. Infinite where none is known.
        lower_bound: lower bound on the true epsilon, in itself a proof up to ``confidence``.
        confidence: of the lower bound; 1 where nothing is sampled.
        samples: number of draws behind it; 0 where it is computed from the law.
        witness: the pair and output behind the lower bound.
        method: how it was found, and what it covers.
        seconds: how long that took.
        detectable: the least true epsilon that an audit of so many guesses would have refuted with
            probability 90 %, by the best attacker there is; infinite where none was within its reach;
            None where nothing is sampled.
        delta: of an (epsilon, delta) claim, else 0.
        rounded: where it is the last bits of floats that refute: the verdict on the same mechanism when its outputs
            are rounded to the grid that the verdict's method names. Else None.
    """

    status: Status
    claim: float
    epsilon: float
    lower_bound: float
    confidence: float
    samples: int
    witness: Witness | None
    method: str
    seconds: float
    detectable: float | None = None
    delta: float = 0.0
    rounded: "Verdict | None" = None

    @property
    def unused_share(self) -> float:
        """Share of the claimed epsilon that is not spent; negative where more is."""
        return 1 - self.epsilon / self.claim if self.claim else -math.inf

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON can hold them; it has no infinity. ``rounded`` is left out where it is None."""
        fields = {name: encode_nonfinite_numbers(value) for name, value in dataclasses.asdict(self).items()}
        del fields["rounded"]
        return fields if self.rounded is None else {**fields, "rounded": self.rounded.to_dict()}

    def __str__(self) -> str:
        """Return the verdict as a few lines for a person."""
        delta = f" and delta {self.delta:g}" if self.delta else ""
        lines = [f"{self.status}: claimed epsilon {self.claim:g}{delta}, {self._describe_bounds()}"]
        if self.witness is not None:
            lines.append(f"witness: {self.witness}")
        if self.detectable is not None and self.status != "refuted":
            lines.append(f"power: {self._describe_power(self.detectable)}")
        sampled = f"{self.samples:,} samples, " if self.samples else ""
        lines.append(f"method: {self.method}; {sampled}{self.seconds:.1f} s")
        if self.rounded is not None:
            lines.append("with rounded outputs:")
            lines += [f"  {line}" for line in str(self.rounded).splitlines()]
        return "\n".join(lines)

    def _describe_power(self, detectable: float) -> str:
        if math.isinf(detectable):
            return "none: with so few guesses no violation, however large, could have been seen"
        return f"a true epsilon of {detectable:.4g} would have been refuted nine times in ten, by the best attacker"

    def _describe_bounds(self) -> str:
        sampled = f" with {100 * self.confidence:g} % confidence" if self.samples else ""
        lower = f"true epsilon >= {self.lower_bound:.6g}{sampled}"
        if math.isinf(self.lower_bound):
            return "true epsilon infinite"
        if self.samples or self.status == "refuted":
            return lower
        if math.isinf(self.epsilon):
            return f"{lower}, no upper bound known"
        if self.witness is None:
            return "nothing computed"
        if self.status != "proved":
            return f"true epsilon from {self.lower_bound:.6g} to {self.epsilon:.6g}"
        unused = f", {max(100 * self.unused_share, 0):.3g} % of it unused" if self.claim else ""
        return f"exact {self.epsilon:.6g}{unused}"


def encode_nonfinite_numbers(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return a JSON value with numbers that are not finite as text."""
    if isinstance(value, dict):
        return {name: encode_nonfinite_numbers(element) for name, element in value.items()}
    if isinstance(value, list):
        return [encode_nonfinite_numbers(element) for element in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


GuaranteeT = TypeVar("GuaranteeT", PureDP, ApproxDP, MetricDP, PureDP | ApproxDP)


def limit_status(guarantee: GuaranteeT, verdict: Verdict) -> GuaranteeT:
    """Return a guarantee as it may be shown: its status is never higher than what `verify` says of its mechanism.

    Args:
        guarantee: of a mechanism.
        verdict: of `deniable.verify` on the same mechanism. It judges the arithmetic of the draws: where they come
            from integer tables, those tables.
    """
    return dataclasses.replace(guarantee, status=find_weakest_status(guarantee.status, verdict.status))
