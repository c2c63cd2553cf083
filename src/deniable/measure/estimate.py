"""A measured number with its interval: what every measure returns."""

import dataclasses

import numpy as np
import numpy.typing as npt
from scipy import optimize, stats

from deniable.errors import InputError

CONFIDENCE = 0.95
_CLUSTERED = "ratio of sums over clusters"


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


def mean(
    values: npt.ArrayLike, confidence: float = CONFIDENCE, within: tuple[float, float] = (-np.inf, np.inf)
) -> Estimate:
    """Return the mean of independent numbers (n,), with Student's interval; infinite for one number alone.

    Args:
        values: (n,) numbers.
        confidence: of the interval.
        within: what a mean can be at all; the interval is cut off there.

    Raises:
        InputError: no numbers.
    """
    given = np.asarray(values, dtype=np.float64).ravel()
    if not len(given):
        raise InputError("A mean needs at least 1 number. Got 0: give more rows.")
    centre = float(given.mean())
    if len(given) == 1:
        return Estimate(centre, *within, confidence, 1, "Student's t")
    half = float(stats.t.ppf((1 + confidence) / 2, len(given) - 1) * given.std(ddof=1) / np.sqrt(len(given)))
    low, high = max(centre - half, within[0]), min(centre + half, within[1])
    return Estimate(centre, low, high, confidence, len(given), "Student's t")


def clustered_mean(sums: npt.ArrayLike, counts: npt.ArrayLike, confidence: float = CONFIDENCE) -> Estimate:
    """Return the mean of numbers that come in independent clusters, such as the words of texts.

    The ratio of two sums, with Student's interval from the clusters' residuals (linearised); infinite for one
    cluster alone.

    Args:
        sums: (n,) sum of the numbers of each cluster.
        counts: (n,) how many numbers each cluster has; clusters without any are left out.
        confidence: of the interval.

    Raises:
        InputError: no numbers.
    """
    totals, sizes = np.asarray(sums, dtype=np.float64), np.asarray(counts, dtype=np.float64)
    totals, sizes = totals[sizes > 0], sizes[sizes > 0]
    clusters = len(sizes)
    if not clusters:
        raise InputError("A mean needs at least 1 number. Got 0: give texts with words that the vocabulary knows.")
    ratio = float(totals.sum() / sizes.sum())
    if clusters == 1:
        return Estimate(ratio, -np.inf, np.inf, confidence, 1, _CLUSTERED)
    residuals = totals - ratio * sizes
    error = float(np.sqrt(clusters / (clusters - 1) * (residuals**2).sum()) / sizes.sum())
    half = float(stats.t.ppf((1 + confidence) / 2, clusters - 1)) * error
    return Estimate(ratio, ratio - half, ratio + half, confidence, clusters, _CLUSTERED)


def clustered_share(successes: npt.ArrayLike, counts: npt.ArrayLike, confidence: float = CONFIDENCE) -> Estimate:
    """Return the share of successes among trials that come in independent clusters, such as the words of texts.

    As `clustered_mean`, cut off at 0 and 1. Where no cluster differs from the others, which leaves no residual,
    Clopper and Pearson's interval with one trial a cluster.

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
    # Multiplied out: counts are whole numbers, and equal shares then leave no rounding.
    if (hits * trials.sum() == hits.sum() * trials).all():
        ratio = float(hits.sum() / trials.sum())
        ends = share(round(ratio * len(trials)), len(trials), confidence)
        return dataclasses.replace(ends, value=ratio, low=min(ends.low, ratio), high=max(ends.high, ratio))
    found = clustered_mean(hits, trials, confidence)
    return dataclasses.replace(found, low=max(found.low, 0.0), high=min(found.high, 1.0))


def paired_difference(first: npt.ArrayLike, second: npt.ArrayLike, confidence: float = CONFIDENCE) -> Estimate:
    """Return the share of successes of the first less that of the second, both of the same independent trials.

    With Tango's score interval (Tango 1998, Statistics in Medicine 17, 891-908), which keeps a width where the two
    agree in every trial.

    Args:
        first: (n,) whether the first succeeded.
        second: (n,) whether the second did.
        confidence: of the interval.

    Raises:
        InputError: no trials.
    """
    ours, theirs = np.asarray(first, dtype=np.bool_), np.asarray(second, dtype=np.bool_)
    count = len(ours)
    if not count:
        raise InputError("A difference needs at least 1 trial. Got 0: give more rows.")
    gained, lost = int((ours & ~theirs).sum()), int((theirs & ~ours).sum())
    value = (gained - lost) / count
    limit = float(stats.norm.ppf((1 + confidence) / 2))

    def beyond(difference: float) -> float:
        """Say by how much the squared score of a true difference exceeds its limit."""
        half = (2 * count - gained + lost) * difference - gained - lost
        product = 8 * count * lost * difference * (1 - difference)
        # Rounding can leave a little less than nothing at a difference of -1.
        rest = (np.sqrt(max(half**2 + product, 0.0)) - half) / (
            4 * count
        )  # the likeliest share won by the second alone
        spread = 2 * rest + difference * (1 - difference)
        return float((gained - lost - count * difference) ** 2 - limit**2 * count * spread)

    # At the value itself the score is zero, and so may be its spread: the search begins beside it.
    below, above = value - 1e-9, value + 1e-9
    low = -1.0 if below <= -1 else float(optimize.brentq(beyond, -1.0, below))
    high = 1.0 if above >= 1 else float(optimize.brentq(beyond, above, 1.0))
    return Estimate(value, low, high, confidence, count, "Tango's score")
