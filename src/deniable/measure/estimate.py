"""A measured number with its interval: what every measure returns."""

import dataclasses

import numpy as np
import numpy.typing as npt
from scipy import stats

from deniable.errors import InputError

CONFIDENCE = 0.95


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A number, and the interval that holds the true one with the stated confidence.

    Attributes:
        value: the number.
        low: lower end of the interval; the value itself where it is exact.
        high: upper end.
        confidence: of the interval.
        count: independent observations behind it; 0 where it is exact.
        method: how the interval was found.
    """

    value: float
    low: float
    high: float
    confidence: float
    count: int
    method: str

    def __str__(self) -> str:
        """Return value and interval in plain figures."""
        if not self.count:
            return f"{self.value:.4g} (exact)"
        return f"{self.value:.4g} ({self.low:.4g} to {self.high:.4g})"

    def percent(self) -> str:
        """Return a share in percent with its interval."""
        if not self.count:
            return f"{100 * self.value:.1f} %"
        return f"{100 * self.value:.1f} % ({100 * self.low:.1f} to {100 * self.high:.1f})"


def exact(value: float) -> Estimate:
    """Return a number that was computed, not sampled."""
    return Estimate(value, value, value, 1.0, 0, "exact")


def share(successes: int, count: int, confidence: float = CONFIDENCE) -> Estimate:
    """Return the share of successes among independent trials, with Clopper and Pearson's interval.

    Raises:
        InputError: no trials.
    """
    if count < 1:
        raise InputError("A share needs at least 1 trial. Got 0: give more rows.")
    found = stats.binomtest(int(successes), int(count)).proportion_ci(confidence, method="exact")
    return Estimate(successes / count, float(found.low), float(found.high), confidence, int(count), "Clopper-Pearson")


def mean(values: npt.ArrayLike, confidence: float = CONFIDENCE) -> Estimate:
    """Return the mean of independent numbers (n,), with Student's interval; infinite for one number alone.

    Raises:
        InputError: no numbers.
    """
    given = np.asarray(values, dtype=np.float64).ravel()
    if not len(given):
        raise InputError("A mean needs at least 1 number. Got 0: give more rows.")
    centre = float(given.mean())
    if len(given) == 1:
        return Estimate(centre, -np.inf, np.inf, confidence, 1, "Student's t")
    half = float(stats.t.ppf((1 + confidence) / 2, len(given) - 1) * given.std(ddof=1) / np.sqrt(len(given)))
    return Estimate(centre, centre - half, centre + half, confidence, len(given), "Student's t")


def clustered_share(successes: npt.ArrayLike, counts: npt.ArrayLike, confidence: float = CONFIDENCE) -> Estimate:
    """Return the share of successes among trials that come in independent clusters, such as the words of texts.

    The ratio of two sums, with Student's interval from the clusters' residuals (linearised). Where no cluster
    differs from the others, which leaves no residual, Clopper and Pearson's interval with one trial a cluster.

    Args:
        successes: (n,) of each cluster.
        counts: (n,) trials of each cluster; clusters without any are left out.
        confidence: of the interval.

    Raises:
        InputError: no trials.
    """
    hits, trials = np.asarray(successes, dtype=np.float64), np.asarray(counts, dtype=np.float64)
    hits, trials = hits[trials > 0], trials[trials > 0]
    if not len(trials):
        raise InputError("A share needs at least 1 trial. Got 0: give texts with words that the vocabulary knows.")
    ratio = float(hits.sum() / trials.sum())
    clusters = len(trials)
    residuals = hits - ratio * trials
    if clusters == 1 or not residuals.any():
        ends = share(round(ratio * clusters), clusters, confidence)
        return dataclasses.replace(ends, value=ratio, low=min(ends.low, ratio), high=max(ends.high, ratio))
    error = float(np.sqrt(clusters / (clusters - 1) * (residuals**2).sum()) / trials.sum())
    half = float(stats.t.ppf((1 + confidence) / 2, clusters - 1)) * error
    return Estimate(
        ratio, max(ratio - half, 0.0), min(ratio + half, 1.0), confidence, clusters, "ratio of sums over clusters"
    )
