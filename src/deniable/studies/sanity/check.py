"""The published empirical check (Habernal 2022, Section 4), and what it tends to.

Zeros and ones go through the mechanism many times each. Every coordinate of an output is read as 0 or
1, whichever input is nearer, and the majority is the guess: "it was x" or "it was x'". The precision of
a guess estimates the odds of the inputs given the guess, and the larger logarithm of the two is compared
with epsilon. The paper does not say what a tie is; here it is "it was x", as in the code it refers to.
"""

import math

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.vectors import VectorMechanism

_COORDINATES = 1 << 19
"""Coordinates drawn at a time."""


def votes(mechanism: VectorMechanism, x: FloatArray, threshold: float, repeats: int) -> int:
    """Return how often the majority of coordinates reads as "it was x'".

    Args:
        mechanism: runs on every row by itself.
        x: (n,) the input.
        threshold: half-way between the coordinates of the two inputs; at or above it is x'.
        repeats: runs.
    """
    rows, found = max(_COORDINATES // len(x), 1), 0
    for first in range(0, repeats, rows):
        shape = (min(rows, repeats - first), len(x))
        ones = np.count_nonzero(mechanism.sample(np.broadcast_to(x, shape)) >= threshold, axis=1)
        found += int(np.count_nonzero(2 * ones > len(x)))
    return found


def estimate(from_x: int, from_x_prime: int, repeats: int) -> float:
    """Return the published estimate of the loss.

    A guess that was always right counts as an infinite loss, as published. A guess that was never made
    has no precision (0/0) and is left out.

    Args:
        from_x: how often the guess was "it was x'" though it was x.
        from_x_prime: how often it was "it was x'", and rightly.
        repeats: runs of each input.
    """
    tallies = ((from_x, from_x_prime), (repeats - from_x, repeats - from_x_prime))
    return max(_log_ratio(*tally) for tally in tallies if any(tally))


def _log_ratio(one: int, other: int) -> float:
    return abs(math.log(one / other)) if one and other else math.inf


def deviation(from_x: float, from_x_prime: float, repeats: int) -> float:
    """Return the standard deviation of the larger log ratio, by the delta method, from the two chances.

    Args:
        from_x: chance that x gives "it was x'".
        from_x_prime: chance that x' does.
        repeats: runs of each input.
    """
    ones = math.sqrt(((1 - from_x) / from_x + (1 - from_x_prime) / from_x_prime) / repeats)
    zeros = math.sqrt((from_x / (1 - from_x) + from_x_prime / (1 - from_x_prime)) / repeats)
    return ones if from_x_prime / from_x > (1 - from_x) / (1 - from_x_prime) else zeros


def chances(coordinate: tuple[float, float], n: int, *, coin: bool = False) -> tuple[float, float]:
    """Return with which probability x and x' give "it was x'": tails of binomials.

    Args:
        coordinate: probability that one coordinate from x, and from x', reads as x'; they are independent.
        n: coordinates.
        coin: a fair coin decides ties.
    """
    from scipy import stats  # noqa: PLC0415 - slow to import

    ties = [float(stats.binom.pmf(n // 2, n, q)) / 2 if coin and n % 2 == 0 else 0.0 for q in coordinate]
    one, other = (float(stats.binom.sf(n // 2, n, q)) + tie for q, tie in zip(coordinate, ties, strict=True))
    return one, other


def limit(coordinate: tuple[float, float], n: int, *, coin: bool = False) -> float:
    """Return what the published estimate tends to as the repeats grow; see `chances`.

    The two probabilities of each guess are tails of binomials, taken as they are and not as
    complements, so that small ones keep their digits.
    """
    from scipy import stats  # noqa: PLC0415 - slow to import

    ones = chances(coordinate, n, coin=coin)
    ties = [float(stats.binom.pmf(n // 2, n, q)) / 2 if coin and n % 2 == 0 else 0.0 for q in coordinate]
    zeros = tuple(float(stats.binom.cdf(n // 2, n, q)) - tie for q, tie in zip(coordinate, ties, strict=True))
    found = [abs(math.log(a / b)) if a and b else math.inf for a, b in (ones, zeros) if a or b]
    return max(found)
