"""What independent runs with and without a record show of a claim: the rates of one event (Nasr et al. 2021)."""

import dataclasses
import math

from scipy import special


@dataclasses.dataclass(frozen=True)
class EventCounts:
    """How often an event that was fixed in advance happened: in a of n runs with the record, in b of n' without it.

    Runs are independent, so both are binomial, and their chances have one-sided limits of Clopper and Pearson, at level
    alpha / 2 each. An (epsilon, delta) that does not allow both limits is refuted, a true one with probability alpha at
    most.
    """

    with_record: int
    without_record: int
    runs_with: int
    runs_without: int

    def bound_chances(self, alpha: float) -> tuple[float, float]:
        """Limits of the chance with the record, from below, and without it, from above."""
        a, b = self.with_record, self.without_record
        p_low = special.betaincinv(a, self.runs_with - a + 1, alpha / 2) if a > 0 else 0.0
        q_high = special.betaincinv(b + 1, self.runs_without - b, 1 - alpha / 2) if b < self.runs_without else 1.0
        return float(p_low), float(q_high)

    def bound_epsilon(self, delta: float, alpha: float) -> float:
        """A lower bound on epsilon at this delta, with confidence 1 - alpha."""
        p_low, q_high = self.bound_chances(alpha)
        return max(math.log(max((p_low - delta) / q_high, (1 - q_high - delta) / (1 - p_low), 1.0)), 0.0)

    def estimate_strength(self, alpha: float) -> float:
        """What these counts would bound at no delta, to compare events by; negative for nothing."""
        p_low, q_high = self.bound_chances(alpha)
        ratio = max(p_low / q_high, (1 - q_high) / (1 - p_low))
        return math.log(ratio) if ratio > 0 else -math.inf
