"""A measured number with its interval: what every measure returns."""

import dataclasses

import numpy as np
import numpy.typing as npt

from deniable.core.errors import InputError
from deniable.core.numbers import as_percent, find_root, format_lower, format_upper, format_upper_percent

DEFAULT_CONFIDENCE = 0.95
_QUANTILE = (1 + DEFAULT_CONFIDENCE) / 2
_CLUSTERED_METHOD = "ratio of sums over clusters"
_BOOTSTRAP_SAMPLES, _BOOTSTRAP_CELLS = 2_000, 1 << 22
_ROOT_TOLERANCE = 1e-12
"""What the ends of an interval may err by where they are found by search."""


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
        return f"{self.value:.4g} ({format_lower(self.low, 4)} to {format_upper(self.high, 4)})"

    def format_decimals(self, decimals: int) -> str:
        """Return value and interval with so many digits after the point."""
        value = f"{self.value:,.{decimals}f}"
        if not self.count:
            return f"{value} (exact)"
        return f"{value} ({format_lower(self.low, decimals=decimals)} to {format_upper(self.high, decimals=decimals)})"

    def format_point(self) -> str:
        """Return a share in percent without its interval."""
        return f"{100 * self.value:.1f}%"

    def format_success(self) -> str:
        """Return the success of a guesser in percent: with its interval, or rounded up where no guesser has more."""
        return self.format_percent() if self.count else format_upper_percent(self.value)

    def format_percent(self) -> str:
        """Return a share in percent with its interval."""
        if not self.count:
            return self.format_point()
        low, high = as_percent(self.low), as_percent(self.high)
        return f"{self.format_point()} ({format_lower(low, decimals=1)} to {format_upper(high, decimals=1)})"


def as_exact_estimate(value: float) -> Estimate:
    """Return a number that was computed, not sampled."""
    return Estimate(value, value, value, 1.0, 0, "exact")


def estimate_share(successes: int, count: int, confidence: float = DEFAULT_CONFIDENCE) -> Estimate:
    """Return the share of successes among independent trials, with Clopper and Pearson's interval.

    Raises:
        InputError: no trials.
    """
    from scipy import special

    if count < 1:
        raise InputError("A share needs at least 1 trial. Got 0: give more rows.")
    hits, tail = int(successes), (1 - confidence) / 2
    low = float(special.betaincinv(hits, count - hits + 1, tail)) if hits > 0 else 0.0
    high = float(special.betaincinv(hits + 1, count - hits, 1 - tail)) if hits < count else 1.0
    return Estimate(hits / count, low, high, confidence, int(count), "Clopper-Pearson")


def estimate_mean(values: npt.ArrayLike, bounds: tuple[float, float] = (-np.inf, np.inf)) -> Estimate:
    """Return the mean of independent numbers (n,), with Student's interval; infinite for one number alone.

    Args:
        values: (n,) numbers.
        bounds: what a mean can be at all; the interval is cut off there.

    Raises:
        InputError: no numbers.
    """
    from scipy import special

    numbers = np.asarray(values, dtype=np.float64).ravel()
    if not len(numbers):
        raise InputError("A mean needs at least 1 number. Got 0: give more rows.")
    centre = float(numbers.mean())
    if len(numbers) == 1:
        return Estimate(centre, *bounds, DEFAULT_CONFIDENCE, 1, "Student's t")
    half_width = float(special.stdtrit(len(numbers) - 1, _QUANTILE) * numbers.std(ddof=1) / np.sqrt(len(numbers)))
    low, high = max(centre - half_width, bounds[0]), min(centre + half_width, bounds[1])
    return Estimate(centre, low, high, DEFAULT_CONFIDENCE, len(numbers), "Student's t")


def estimate_clustered_mean(sums: npt.ArrayLike, counts: npt.ArrayLike) -> Estimate:
    """Return the mean of numbers that come in independent clusters, such as the words of texts.

    The ratio of two sums, with Student's interval from the clusters' residuals (linearised); infinite for one
    cluster alone.

    Args:
        sums: (n,) sum of the numbers of each cluster.
        counts: (n,) how many numbers each cluster has; clusters without any are left out.

    Raises:
        InputError: no numbers.
    """
    from scipy import special

    totals, sizes = np.asarray(sums, dtype=np.float64), np.asarray(counts, dtype=np.float64)
    totals, sizes = totals[sizes > 0], sizes[sizes > 0]
    clusters = len(sizes)
    if not clusters:
        raise InputError("A mean needs at least 1 number. Got 0: give texts with words that the vocabulary knows.")
    ratio = float(totals.sum() / sizes.sum())
    if clusters == 1:
        return Estimate(ratio, -np.inf, np.inf, DEFAULT_CONFIDENCE, 1, _CLUSTERED_METHOD)
    residuals = totals - ratio * sizes
    standard_error = float(np.sqrt(clusters / (clusters - 1) * (residuals**2).sum()) / sizes.sum())
    half_width = float(special.stdtrit(clusters - 1, _QUANTILE)) * standard_error
    return Estimate(ratio, ratio - half_width, ratio + half_width, DEFAULT_CONFIDENCE, clusters, _CLUSTERED_METHOD)


def estimate_clustered_share(successes: npt.ArrayLike, counts: npt.ArrayLike) -> Estimate:
    """Return the share of successes among trials that come in independent clusters, such as the words of texts.

    As `estimate_clustered_mean`, cut off at 0 and 1. Where no cluster differs from the others, which leaves no
    residual, Clopper and Pearson's interval with one trial a cluster.

    Args:
        successes: (n,) of each cluster.
        counts: (n,) trials of each cluster; clusters without any are left out.

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
        interval = estimate_share(round(ratio * len(trials)), len(trials))
        return dataclasses.replace(interval, value=ratio, low=min(interval.low, ratio), high=max(interval.high, ratio))
    estimate = estimate_clustered_mean(hits, trials)
    return dataclasses.replace(estimate, low=max(estimate.low, 0.0), high=min(estimate.high, 1.0))


def estimate_by_bootstrap(
    sums: npt.ArrayLike, counts: npt.ArrayLike, bounds: tuple[float, float], seed: int = 0
) -> Estimate:
    """Return the mean of numbers that come in independent clusters, with the interval of a bootstrap over clusters.

    Clusters are drawn with replacement, as many as there are. Where none differs from the others, so that all draws
    have one mean, the interval is as wide as that of a share of which as many trials show nothing.

    Args:
        sums: (n,) sum of the numbers of each cluster.
        counts: (n,) how many numbers each cluster has; clusters without any are left out.
        bounds: what a mean can be at all.
        seed: public; the draws follow from it.

    Raises:
        InputError: no numbers.
    """
    totals, sizes = np.asarray(sums, dtype=np.float64), np.asarray(counts, dtype=np.float64)
    totals, sizes = totals[sizes > 0], sizes[sizes > 0]
    clusters, method = len(sizes), "bootstrap over clusters"
    if not clusters:
        raise InputError("A mean needs at least 1 number. Got 0: give texts with words that the vocabulary knows.")
    ratio = float(totals.sum() / sizes.sum())
    if clusters == 1:
        return Estimate(ratio, *bounds, DEFAULT_CONFIDENCE, 1, method)
    if (totals * sizes.sum() == totals.sum() * sizes).all():
        half_width = 1 - (1 - _QUANTILE) ** (1 / clusters)
        low, high = max(ratio - half_width, bounds[0]), min(ratio + half_width, bounds[1])
        return Estimate(ratio, low, high, DEFAULT_CONFIDENCE, clusters, method)
    generator = np.random.default_rng(seed)
    means = []
    step = max(_BOOTSTRAP_CELLS // clusters, 1)
    for first in range(0, _BOOTSTRAP_SAMPLES, step):
        shape = min(step, _BOOTSTRAP_SAMPLES - first)
        drawn = generator.multinomial(clusters, np.full(clusters, 1 / clusters), shape)
        means.append((drawn @ totals) / (drawn @ sizes))
    low, high = np.quantile(np.concatenate(means), [1 - _QUANTILE, _QUANTILE]).tolist()
    return Estimate(ratio, min(low, ratio), max(high, ratio), DEFAULT_CONFIDENCE, clusters, method)


def estimate_paired_difference(first: npt.ArrayLike, second: npt.ArrayLike) -> Estimate:
    """Return the share of successes of the first less that of the second, both of the same independent trials.

    With Tango's score interval (Tango 1998, Statistics in Medicine 17, 891-908), which keeps a width where the two
    agree in every trial.

    Args:
        first: (n,) whether the first succeeded.
        second: (n,) whether the second did.

    Raises:
        InputError: no trials.
    """
    from scipy import special

    first_hits, second_hits = np.asarray(first, dtype=np.bool_), np.asarray(second, dtype=np.bool_)
    count = len(first_hits)
    if not count:
        raise InputError("A difference needs at least 1 trial. Got 0: give more rows.")
    first_only, second_only = int((first_hits & ~second_hits).sum()), int((second_hits & ~first_hits).sum())
    value = (first_only - second_only) / count
    critical_value = float(special.ndtri(_QUANTILE))

    def score_excess(difference: float) -> float:
        """Say by how much the squared score of a true difference exceeds its limit."""
        linear_term = (2 * count - first_only + second_only) * difference - first_only - second_only
        constant_term = 8 * count * second_only * difference * (1 - difference)
        # Rounding can leave a little less than nothing at a difference of -1.
        second_only_share = (np.sqrt(max(linear_term**2 + constant_term, 0.0)) - linear_term) / (
            4 * count
        )  # the likeliest share won by the second alone
        variance = 2 * second_only_share + difference * (1 - difference)
        return float((first_only - second_only - count * difference) ** 2 - critical_value**2 * count * variance)

    # At the value itself the score is zero, and so may be its spread: the search begins beside it.
    below, above = value - 1e-9, value + 1e-9
    low = -1.0 if below <= -1 else -find_root(lambda negative: score_excess(-negative), -below, 1.0, _ROOT_TOLERANCE)
    high = 1.0 if above >= 1 else find_root(score_excess, above, 1.0, _ROOT_TOLERANCE)
    return Estimate(value, low, high, DEFAULT_CONFIDENCE, count, "Tango's score")
