"""The published empirical check of Habernal 2022, Section 4, what it tends to, and the mechanisms under it.

Zeros and ones go through a mechanism many times each. Every coordinate of an output is read as 0 or 1, whichever input
is nearer, and the majority is the guess: "it was x" or "it was x'". The precision of a guess estimates the odds of the
inputs given the guess, and the larger logarithm of the two is compared with epsilon. The paper does not say what a
tie is; here it is "it was x", as in the code that it refers to.
"""

import dataclasses
import math
from collections.abc import Callable

import numpy as np
from scipy import stats

from deniable.core.arrays import FloatArray
from deniable.published.adept.mechanism import ADePT, UnclippedADePT
from deniable.published.controls import CopyMechanism, RandomMechanism
from deniable.published.dptext.mechanism import DPText
from deniable.vectors import Box, Laplace, VectorMechanism

BOX = Box(0.0, 1.0)
Pair = tuple[float, float]
_COORDINATES = 1 << 19
"""Coordinates drawn at a time."""


def count_votes(mechanism: VectorMechanism, x: FloatArray, threshold: float, repeats: int) -> int:
    """Return how often the majority of coordinates reads as "it was x'".

    Args:
        mechanism: runs on every row by itself.
        x: (n,) the input.
        threshold: half-way between the coordinates of the two inputs; at or above it is x'.
        repeats: runs.
    """
    rows, count = max(_COORDINATES // len(x), 1), 0
    for first in range(0, repeats, rows):
        shape = (min(rows, repeats - first), len(x))
        ones = np.count_nonzero(mechanism.sample(np.broadcast_to(x, shape)) >= threshold, axis=1)
        count += int(np.count_nonzero(2 * ones > len(x)))
    return count


def estimate_loss(from_x: int, from_x_prime: int, repeats: int) -> float:
    """Return the published estimate of the loss.

    A guess that was always right counts as an infinite loss, as published. A guess that was never made has no
    precision (0/0) and is left out.

    Args:
        from_x: how often the guess was "it was x'" though it was x.
        from_x_prime: how often it was "it was x'", and rightly.
        repeats: runs of each input.
    """
    tallies = ((from_x, from_x_prime), (repeats - from_x, repeats - from_x_prime))
    return max(_log_ratio(*tally) for tally in tallies if any(tally))


def estimate_losses(from_x: FloatArray, from_x_prime: FloatArray, repeats: int) -> FloatArray:
    """Return the published estimates of many checks at once."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ones = np.abs(np.log(from_x_prime) - np.log(from_x))
        zeros = np.abs(np.log(repeats - from_x) - np.log(repeats - from_x_prime))
    losses: FloatArray = np.fmax(
        np.nan_to_num(ones, nan=0.0, posinf=np.inf), np.nan_to_num(zeros, nan=0.0, posinf=np.inf)
    )
    return losses


def _log_ratio(one: float, other: float) -> float:
    return abs(math.log(one / other)) if one and other else math.inf


def compute_chances(coordinate: Pair, n: int, *, coin: bool = False) -> Pair:
    """Return with which probability x and x' give "it was x'": tails of binomials.

    Args:
        coordinate: probability that one coordinate from x, and from x', reads as x'; they are independent.
        n: coordinates.
        coin: a fair coin decides ties.
    """
    one, other = (float(stats.binom.sf(n // 2, n, q)) + _tie(q, n, coin=coin) for q in coordinate)
    return one, other


def _tie(q: float, n: int, *, coin: bool) -> float:
    return float(stats.binom.pmf(n // 2, n, q)) / 2 if coin and n % 2 == 0 else 0.0


def compute_limit(coordinate: Pair, n: int, *, coin: bool = False) -> float:
    """Return what the published estimate tends to as the repeats grow; see `compute_chances`.

    Both tails are taken as they are and not as complements, so that small ones keep their digits.
    """
    ones = compute_chances(coordinate, n, coin=coin)
    zeros = [float(stats.binom.cdf(n // 2, n, q)) - _tie(q, n, coin=coin) for q in coordinate]
    return max(_log_ratio(a, b) for a, b in (ones, zeros) if a or b)


def compute_deviation(from_x: float, from_x_prime: float, repeats: int) -> float:
    """Return the standard deviation of the larger log ratio, by the delta method, from the two chances."""
    ones = math.sqrt(((1 - from_x) / from_x + (1 - from_x_prime) / from_x_prime) / repeats)
    zeros = math.sqrt((from_x / (1 - from_x) + from_x_prime / (1 - from_x_prime)) / repeats)
    return ones if from_x_prime / from_x > (1 - from_x) / (1 - from_x_prime) else zeros


@dataclasses.dataclass(frozen=True)
class Subject:
    """A mechanism, and its law where a coordinate is read as x or x'.

    Attributes:
        title: over its panel.
        build: from epsilon and seed to the mechanism.
        coordinate: from epsilon and n to the probabilities that a coordinate from x, and from x', reads as x'.
        has_corners: whether the inputs are opposite corners of the ball and not zeros and ones.
    """

    title: str
    build: Callable[[float, int | None], VectorMechanism]
    coordinate: Callable[[float, int], Pair]
    has_corners: bool = False

    def inputs(self, n: int) -> tuple[FloatArray, FloatArray]:
        """Return x and x' (n,)."""
        if not self.has_corners:
            return np.zeros(n), np.ones(n)
        x_prime, x = self.build(1.0, None).worst_pair(n)
        return x, x_prime

    @property
    def threshold(self) -> float:
        """Half-way between a coordinate of x and of x'."""
        return 0.0 if self.has_corners else 0.5


def read_laplace(gap: float, scale: float) -> Pair:
    """Return the probabilities for Laplace noise and inputs that lie ``gap`` apart, read at half-way."""
    wrong = 0.5 * math.exp(-gap / (2 * scale))
    return wrong, 1 - wrong


CONTROLS = ("copy", "random")
SUBJECTS = {
    "copy": Subject(
        "Controls: copy and random",
        lambda epsilon, seed: CopyMechanism(epsilon=epsilon, seed=seed),
        lambda _e, _n: (0.0, 1.0),
    ),
    "random": Subject(
        "Controls: copy and random", lambda _e, seed: RandomMechanism(seed=seed), lambda _e, _n: (0.5, 0.5)
    ),
    "laplace": Subject(
        "Laplace, correct",
        lambda epsilon, seed: Laplace(epsilon=epsilon, domain=BOX, seed=seed),
        lambda epsilon, n: read_laplace(1.0, n / epsilon),
    ),
    "adept-unclipped": Subject(
        "ADePT in Habernal 2022: x + Lap(1/eps), no clip",
        lambda epsilon, seed: UnclippedADePT(epsilon=epsilon, domain=BOX, seed=seed),
        lambda epsilon, _n: read_laplace(1.0, 1 / epsilon),
    ),
    "adept": Subject(
        "ADePT in Krishna et al. 2021: l2 clip, Lap(2C/eps)",
        lambda epsilon, seed: ADePT(epsilon=epsilon, seed=seed),
        lambda epsilon, n: read_laplace(2 / math.sqrt(n), 2 / epsilon),
        has_corners=True,
    ),
    "dptext-zero": Subject(
        "DPText, missing noise taken as 0",
        lambda epsilon, seed: DPText(epsilon=epsilon, invalid="zero", seed=seed),
        lambda epsilon, n: (0.5 * math.exp(-epsilon / (2 * n)), 1.0),
    ),
    "dptext-redraw": Subject(
        "DPText, missing noise drawn again",
        lambda epsilon, seed: DPText(epsilon=epsilon, invalid="redraw", seed=seed),
        lambda epsilon, n: (math.exp(-epsilon / (2 * n)), 1.0),
    ),
}


RUNS = 100
"""As in footnote 7."""


def simulate_runs(
    subject: Subject, epsilon: float, n: int, repeats: int, random: np.random.Generator
) -> dict[str, float]:
    """Return mean and deviation of a hundred estimates, beside what they are by the law, and the true loss.

    A run of the check is two binomial counts, of the two inputs, so that one of 10 million repeats is two draws.
    """
    chances = compute_chances(subject.coordinate(epsilon, n), n)
    from_x, from_x_prime = (random.binomial(repeats, chance, RUNS).astype(float) for chance in chances)
    losses = estimate_losses(from_x, from_x_prime, repeats)
    mean, deviation = float(losses.mean()), compute_deviation(*chances, repeats)
    truth = subject.build(epsilon, None).exact_loss(n).lower
    return {
        "mean_estimate": mean,
        "deviation": float(losses.std(ddof=1)),
        "deviation_by_the_law": deviation,
        "relative_deviation": deviation / mean,
        "true_loss": truth,
        "deviations_short": (truth - mean) / deviation,
    }


_THEIRS: dict[str, dict[int, float]] = {
    "laplace": {1: 0.8325, 2: 0.8999, 8: 0.3653, 32: 0.1570, 64: 0.1075, 128: 0.0744},
    "adept-unclipped": {1: 0.8320, 2: 1.6617, 8: 2.5792, 32: 5.1198, 64: 8.0558},
}
"""Finite estimates at epsilon = 1 in the results file of the code that the paper refers to."""
_LONG = 16
"""Above this dimension that code keeps the last of ten runs of a million repeats."""


def compute_their_deviations() -> dict[str, dict[int, float]]:
    """Return how far their estimates lie from the limits, in standard deviations of their own repeats."""
    found: dict[str, dict[int, float]] = {}
    for name, estimates in _THEIRS.items():
        for n, theirs in estimates.items():
            one, other = compute_chances(SUBJECTS[name].coordinate(1.0, n), n)
            deviation = compute_deviation(one, other, 10**6 if n > _LONG else 10**7)
            found.setdefault(name, {})[n] = (theirs - math.log(other / one)) / deviation
    return found
