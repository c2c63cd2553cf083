r"""What independent runs with and without a record show of a claim: the rates of one event.

Some event E of what training shows is fixed in advance. It happens in a of n runs on D' and in b of n' runs on D. A
claim is a trade-off curve F, see `deniable.auditing.training.bounds`: p <= F(q) for p = P[E | D'], q = P[E | D].

**Theorem** (Nasr et al. 2021; for curves Nasr et al. 2023). Runs are independent, so a is Binomial(n, p) and b
Binomial(n', q). Let p_low and q_high be their one-sided limits of Clopper and Pearson at level alpha / 2 each. A claim
with F(q_high) < p_low is refuted, and a true one with probability alpha at most. The largest epsilon that is refuted::

    any noise:  ln max{(p_low - delta) / q_high, (1 - q_high - delta) / (1 - p_low)}
    Gaussian:   that of mu = Phi^-1(p_low) - Phi^-1(q_high)
"""

import dataclasses
import math

import numpy as np

from deniable.auditing.sensitivity import compute_gaussian_epsilon
from deniable.auditing.training.bounds import NoiseKind, find_least_detected, invert_curve
from deniable.core.arrays import FloatArray

_POWER = 0.9
_EVENT_CHANCES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.5)
"""Chances without the record of the events among which the best attacker against Gaussian noise chooses."""


@dataclasses.dataclass(frozen=True)
class EventCounts:
    """How often an event happened.

    Attributes:
        with_record: a, among the runs with the record.
        without_record: b, among those without it.
        runs_with: n >= 1.
        runs_without: n' >= 1.
    """

    with_record: float
    without_record: float
    runs_with: int
    runs_without: int

    def bound_chances(self, alpha: float) -> tuple[float, float]:
        """Return p_low and q_high."""
        from scipy import special  # noqa: PLC0415 - only audits need it

        a, b = self.with_record, self.without_record
        p_low = special.betaincinv(a, self.runs_with - a + 1, alpha / 2) if a > 0 else 0.0
        q_high = special.betaincinv(b + 1, self.runs_without - b, 1 - alpha / 2) if b < self.runs_without else 1.0
        return float(p_low), float(q_high)


def bound_epsilon_of_rates(noise: NoiseKind, counts: EventCounts, delta: float, alpha: float) -> float:
    """Return a lower bound on epsilon at this delta, with confidence 1 - alpha."""
    p_low, q_high = counts.bound_chances(alpha)
    if noise == "any":
        ratios = (p_low - delta) / q_high, (1 - q_high - delta) / (1 - p_low)
        return max(math.log(max(*ratios, 1.0)), 0.0)
    mu = _bound_mu(p_low, q_high)
    return compute_gaussian_epsilon(mu, delta) if mu > 0 else 0.0


def estimate_strength(noise: NoiseKind, counts: EventCounts, alpha: float) -> float:
    """Return what these counts would bound, to compare events by: epsilon at no delta, or mu; negative for nothing."""
    p_low, q_high = counts.bound_chances(alpha)
    if noise == "gaussian":
        return _bound_mu(p_low, q_high)
    ratio = max(p_low / q_high, (1 - q_high) / (1 - p_low))
    return math.log(ratio) if ratio > 0 else -math.inf


def find_detectable_epsilon_of_rates(
    noise: NoiseKind, runs: tuple[int, int], epsilon: float, delta: float, alpha: float
) -> float:
    """Return the least true epsilon at which so many runs would have refuted a claim with probability 90 %.

    By the best attacker: of randomized response, or of Gaussian noise at the best of some thresholds. Infinite where
    none would be.

    Args:
        noise: what is claimed, see `deniable.auditing.training.bounds`.
        runs: n and n'.
        epsilon: of the claim.
        delta: of the claim.
        alpha: chance of a false refutation.
    """
    critical = _find_critical_counts(noise, runs, epsilon, delta, alpha)

    def is_detected(truth: float) -> bool:
        return max(_compute_power(critical, runs, *chances) for chances in _list_events(noise, truth, delta)) >= _POWER

    return find_least_detected(is_detected, epsilon)


def _bound_mu(p_low: float, q_high: float) -> float:
    from scipy.special import ndtri  # noqa: PLC0415 - only audits need it

    return float(ndtri(p_low) - ndtri(q_high)) if p_low > 0 and q_high < 1 else 0.0


def _find_critical_counts(
    noise: NoiseKind, runs: tuple[int, int], epsilon: float, delta: float, alpha: float
) -> FloatArray:
    """Return (n' + 1,): for each b the least a that refutes; n + 1 where none does."""
    from scipy import special, stats  # noqa: PLC0415 - only audits need it

    n, n_prime = runs
    counts = np.arange(n_prime)
    q_high = np.append(special.betaincinv(counts + 1, n_prime - counts, 1 - alpha / 2), 1.0)
    inverse = invert_curve(noise, epsilon, delta)
    # F(x) = 1 - F^-1(1 - x) for a curve that is its own mirror image.
    most = np.clip([1 - inverse(1 - chance) for chance in q_high], 0.0, 1.0)
    critical: FloatArray = stats.binom.isf(alpha / 2, n, most) + 1
    return np.where(most >= 1, n + 1, critical)


def _list_events(noise: NoiseKind, truth: float, delta: float) -> list[tuple[float, float]]:
    """Return the chances of events with and without the record, by the mechanism that leaks most at this epsilon."""
    from scipy import special  # noqa: PLC0415 - only audits need it

    if noise == "any":
        return [(float(special.expit(truth)), float(special.expit(-truth)))]
    inverse = invert_curve(noise, truth, delta)
    return [(1 - inverse(1 - chance), chance) for chance in _EVENT_CHANCES]


def _compute_power(critical: FloatArray, runs: tuple[int, int], p: float, q: float) -> float:
    from scipy import stats  # noqa: PLC0415 - only audits need it

    weights = stats.binom.pmf(np.arange(runs[1] + 1), runs[1], q)
    return float(weights @ stats.binom.sf(critical - 1, runs[0], p))
