"""Sensitivities of functions into R^m: searched for, and held against a claim.

What is proved of the clips stands with them (`deniable.vectors.domains`; the l1 sensitivity 2 C sqrt(n)
of the l2 clip is Theorem 5.1 of Habernal 2021). This file is for everything else: an encoder, or
somebody's clip. A pair that is found is a proof that the sensitivity is at least its distance; that
no farther pair is found proves nothing.
"""

import dataclasses
import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from deniable.errors import InputError, bad_parameter
from deniable.parallel import compiled, cores, each

Array = npt.NDArray[np.float64]
Map = Callable[[Array], Array]
_STEP = 1e-6
_PAIR_NORMS = (1, 2)


@dataclasses.dataclass(frozen=True)
class Pair:
    """Two inputs and how far apart a function takes them.

    Attributes:
        x: (n,) an input.
        x_prime: (n,) another.
        distance: l1 or l2 norm of f(x) - f(x').
    """

    x: Array
    x_prime: Array
    distance: float


@dataclasses.dataclass(frozen=True)
class Violations:
    """How many pairs of given points lie farther apart than a claimed sensitivity.

    Attributes:
        pairs: unordered pairs compared.
        beyond: those farther apart than claimed.
        claimed: the sensitivity.
    """

    pairs: int
    beyond: int
    claimed: float

    @property
    def share(self) -> float:
        """The share of pairs that the claim does not cover."""
        return self.beyond / self.pairs


def worst_pair(function: Map, dimension: int, *, order: int = 1, starts: int = 8, seed: int = 0) -> Pair:
    """Return the farthest pair that a search finds: gradient ascent from random pairs.

    Args:
        function: from (k, n) to (k, m).
        dimension: n.
        order: 1 or 2, the norm in which outputs are compared.
        starts: random pairs to start from, normal with growing scales, so that clips clip.
        seed: of the starts.

    Raises:
        InputError: the function returns anything but finite rows, one for each input.
    """
    from scipy.optimize import minimize  # noqa: PLC0415 - only searches need it

    _check(order, dimension)
    random = np.random.default_rng(seed)
    steps = np.concatenate([np.zeros((1, 2 * dimension)), _STEP * np.eye(2 * dimension)])

    def descend(flat: Array) -> tuple[float, Array]:
        """Return minus the distance of one pair and its gradient by forward differences."""
        size = max(1.0, float(np.abs(flat).max()))
        around = (flat + size * steps).reshape(-1, dimension)
        values = _apart(_rows(function, around), order)
        return -float(values[0]), -(values[1:] - values[0]) / (size * _STEP)

    best = Pair(np.zeros(dimension), np.zeros(dimension), -math.inf)
    for start in range(starts):
        found = minimize(
            descend, random.normal(scale=2.0 ** (start % 4), size=2 * dimension), jac=True, method="L-BFGS-B"
        )
        x, x_prime = found.x.reshape(2, dimension)
        distance = float(_apart(_rows(function, np.stack([x, x_prime])), order)[0])
        if distance > best.distance:
            best = Pair(x, x_prime, distance)
    return best


def violations(points: Array, claimed: float, *, order: int = 1, workers: int | None = None) -> Violations:
    """Return how many pairs of points (N, m) are farther apart than ``claimed``, over all N (N - 1) / 2 pairs.

    For the outputs of an encoder after its clip, every pair beyond the claimed sensitivity is a pair of
    neighbouring inputs that noise of that scale does not protect (Habernal 2021, Section 6).

    Raises:
        InputError: fewer than two points, numbers that are not finite, or a claim that is not positive.
    """
    points = np.ascontiguousarray(points, dtype=np.float64)
    if points.ndim != 2 or len(points) < 2 or not np.isfinite(points).all():  # noqa: PLR2004 - a pair
        raise bad_parameter("violations", "points", "at least two rows (N, m) of finite numbers", points.shape)
    if not (math.isfinite(claimed) and claimed > 0):
        raise bad_parameter("violations", "claimed", "a float in (0, inf)", claimed)
    _check(order, points.shape[1])
    limit, count = claimed**order, len(points)
    share = workers or cores()
    # Rows i, i + share, ...: their numbers of pairs are about equal.
    found = each(lambda first: _beyond(points, limit, order, first, 8 * share), range(8 * share), workers)
    return Violations(count * (count - 1) // 2, int(sum(found)), claimed)


@compiled
def _beyond(points: Array, limit: float, order: int, first: int, step: int) -> int:  # pragma: no cover - compiled
    """Return the pairs i < j, for i = first, first + step, ..., beyond the limit; sums stop where they pass it."""
    found = 0
    for i in range(first, points.shape[0], step):
        for j in range(i + 1, points.shape[0]):
            total = 0.0
            for k in range(points.shape[1]):
                gap = abs(points[i, k] - points[j, k])
                total += gap if order == 1 else gap * gap
                if total > limit:
                    found += 1
                    break
    return found


def _rows(function: Map, x: Array) -> Array:
    out = np.asarray(function(x), dtype=np.float64)
    if out.ndim != 2 or len(out) != len(x) or not np.isfinite(out).all():  # noqa: PLR2004 - rows
        raise InputError(f"The function must return finite rows (k, m) for inputs (k, n). Got shape {out.shape}.")
    return out


def _apart(rows: Array, order: int) -> Array:
    """Return the distances (k,) between rows 0 and 1, 2 and 3, ..."""
    norms: Array = np.linalg.norm(rows[0::2] - rows[1::2], ord=order, axis=1)
    return norms


def _check(order: int, dimension: int) -> None:
    if order not in _PAIR_NORMS:
        raise bad_parameter("sensitivity", "order", "1 or 2", order)
    if dimension < 1:
        raise bad_parameter("sensitivity", "dimension", "an int of at least 1", dimension)
