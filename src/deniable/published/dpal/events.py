"""Events that tell two neighbouring data sets apart: counts over runs, and the bound on epsilon that they give."""

import dataclasses
import math

from scipy import stats

from deniable.core.numbers import bisect

_DETECTION_POWER = 0.9
_MAX_EPSILON = 1e3
_BISECTION_STEPS = 40


@dataclasses.dataclass(frozen=True)
class EventCounts:
    """How often an event occurred, over independent runs of a mechanism on D and on its neighbour D'.

    Attributes:
        hits: runs on D in which it occurred.
        trials: runs on D.
        false_hits: runs on D' in which it occurred.
        false_trials: runs on D'.
    """

    hits: int
    trials: int
    false_hits: int
    false_trials: int

    @property
    def correct_runs(self) -> int:
        """Runs in which guessing D if and only if the event occurs is right."""
        return self.hits + self.false_trials - self.false_hits

    @property
    def total_runs(self) -> int:
        """All runs."""
        return self.trials + self.false_trials

    def compute_lower_bound(self, confidence: float = 0.95, delta: float = 0.0) -> float:
        """Return a lower confidence bound on epsilon: ln (P[event | D] - delta) / P[event | D'].

        Both probabilities by Clopper and Pearson, each at half of 1 - confidence, so that it holds for an
        (epsilon, delta) mechanism with at least this confidence; 0 if the event shows nothing.
        """
        return _bound_epsilon(self.hits, self.trials, self.false_hits, self.false_trials, 1 - confidence, delta)

    def compute_detectable_epsilon(self, claim: float, confidence: float = 0.95) -> float:
        """Return the least true epsilon that this many runs would have refuted with probability 90 %.

        The attacker is the best possible one, who is right with odds e^epsilon; infinite if no epsilon would be
        refuted.
        """
        alpha = 1 - confidence

        def is_refuted(epsilon: float) -> bool:
            success_probability = 1 / (1 + math.exp(-epsilon))
            tail = math.sqrt(_DETECTION_POWER)
            hits = int(stats.binom.isf(tail, self.trials, success_probability))
            false_hits = int(stats.binom.ppf(tail, self.false_trials, 1 - success_probability))
            return _bound_epsilon(hits, self.trials, false_hits, self.false_trials, alpha, 0.0) > claim

        return bisect(is_refuted, claim, _MAX_EPSILON, limit=_MAX_EPSILON, steps=_BISECTION_STEPS)[1]


def _bound_epsilon(hits: int, trials: int, false_hits: int, false_trials: int, alpha: float, delta: float) -> float:
    if not hits:
        return 0.0
    probability_low = float(stats.beta.ppf(alpha / 2, hits, trials - hits + 1)) - delta
    probability_high = (
        float(stats.beta.isf(alpha / 2, false_hits + 1, false_trials - false_hits))
        if false_hits < false_trials
        else 1.0
    )
    return max(math.log(probability_low / probability_high), 0.0) if probability_low > 0 else 0.0
