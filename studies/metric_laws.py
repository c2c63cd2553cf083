"""Exponential laws over any metric at an attacker's success that is given: distances stored whole, and a search."""

import functools
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.errors import NotTractable
from deniable.core.guarantees import MetricDP
from deniable.core.parallel import compile_loop, parallel_map
from deniable.space import Space
from deniable.space.blocks import Distances, TileFiller, map_row_blocks
from deniable.space.geodesic import UNIT
from deniable.space.metrics import Metric
from deniable.words import WordMechanism
from deniable.words.laws import ExponentialKernel, ExponentialLaw
from deniable.words.laws.exponential_proof import prove_exact_epsilon

Steps = npt.NDArray[np.uint16]
"""Distances (n, n) in whole units."""
LANES = 4
"""Scales that one pass over all pairs evaluates."""
TOLERANCE = 5e-4
"""Difference of a success from its target up to which a scale is found."""
_MAX_STEPS = 30_000
"""Units of the largest distance of a metric that has none of its own."""
_MAX_PASSES = 20
_STRIP_ROWS = 256
_STRIDE = 2.0
"""Factor to a scale beyond all that were tried."""
_EDGE = 1e-6
"""Distance of a success from 0 and 1 below which its logit grows no more."""


class StoredDistances:
    """The distances of another metric, held in memory in whole units.

    Those of a graph are whole multiples of their unit, and stay as they are. Others are rounded to
    2^ceil(log2(D / 30,000)), where D is at least the diameter: to less than a part in 10,000 of it.

    Args:
        distances: of the other metric.
        count: n, number of points.
    """

    identity = b""
    panels = None

    def __init__(self, distances: Distances, count: int) -> None:
        self.edges = distances.edges
        self.steps: Steps = np.empty((count, count), dtype=np.uint16)
        farthest = map_row_blocks(distances, count, lambda _, rows: float(rows.max()), [0])[0]
        self.unit = UNIT if self.edges else 2.0 ** math.ceil(math.log2(2 * farthest / _MAX_STEPS))

        def visit(first: int, rows: FloatArray) -> None:
            np.multiply(rows, 1 / self.unit, out=rows)
            np.rint(rows, out=rows)
            self.steps[first : first + len(rows)] = rows

        map_row_blocks(distances, count, visit, np.arange(count))

    def fill_rows(self, points: IntArray, out: FloatArray) -> None:
        """Write the distances of some points (k,) to all points into ``out`` (k, n)."""
        np.multiply(self.steps[points], self.unit, out=out)

    def prepare_strip(self, rows: slice) -> TileFiller:
        """Return a function that writes the tiles of a strip of points."""

        def fill_tile(columns: slice, out: FloatArray) -> None:
            np.multiply(self.steps[rows, columns], self.unit, out=out)

        return fill_tile


def store_metric(metric: Metric) -> Metric:
    """Return a metric whose distances are computed once, at first use, and held in memory."""

    def measure(points: FloatArray) -> StoredDistances:
        return StoredDistances(metric.measure(points), len(points))

    return Metric(f"{metric.name}, stored", measure, metric.canonicalize, metric.bound_rounding_error)


class Exponential(WordMechanism):
    """The law P(y|w) proportional to exp(-s d(w, y)) at a scale s.

    Args:
        space: any metric.
        epsilon: s; what is proved of it is `prove_epsilon`'s.
    """

    name = "exponential at a scale"

    @property
    def guarantee(self) -> MetricDP:
        """No more than twice the scale."""
        return MetricDP(2 * self.epsilon, self.space.metric_name, "McSherry and Talwar 2007, Theorem 6")

    def build_law(self) -> ExponentialLaw:
        """Return the law."""
        return ExponentialLaw(self.space, ExponentialKernel(self.epsilon))


def prove_epsilon(space: Space, stored: Space, scale: float) -> float:
    """Return the exact epsilon of the law at a scale, all rounding in it.

    Args:
        space: of the metric itself.
        stored: the same with stored distances, which take its place where they are exact.
        scale: s.
    """
    proved = space if stored.edges is None else stored
    return prove_exact_epsilon(proved, ExponentialKernel(scale)).epsilon


class SuccessCurve:
    """The Bayes success of an attacker who sees one word, as a function of the scale.

    With pi the prior, x the points and pi(x) the largest prior of a word at x::

        V(s) = sum over y of  max over x of  pi(x) exp(-s d(x, y)) / Z(x)

    Exponentials are looked up by the whole units of a distance, `LANES` scales in one pass.

    Args:
        space: of stored distances.
        prior: (number of words,) public frequencies.
    """

    def __init__(self, space: Space, prior: FloatArray) -> None:
        distances = space._distances  # noqa: SLF001 - no copy of rows
        assert isinstance(distances, StoredDistances)  # noqa: S101 - for the type
        self._steps, self._unit = distances.steps, distances.unit
        count = len(space.points)
        self._prior = np.zeros(count)
        np.maximum.at(self._prior, space.point_by_word, prior)
        self._tried: dict[float, float] = {}
        self._last_step = int(max(parallel_map(np.max, self._strips())))

    def _strips(self) -> list[Steps]:
        return [self._steps[start : start + _STRIP_ROWS] for start in range(0, len(self._steps), _STRIP_ROWS)]

    def evaluate(self, scales: Sequence[float]) -> FloatArray:
        """Return the success at each of `LANES` scales, by two passes over all pairs."""
        table = np.exp(-self._unit * np.arange(self._last_step + 1)[:, None] * np.asarray(scales))
        sums = np.concatenate(parallel_map(functools.partial(_sum_rows, table), self._strips()))
        chances = self._prior[:, None] / sums
        maxima = np.concatenate(parallel_map(functools.partial(_maximize_rows, table, chances), self._strips()))
        successes: FloatArray = maxima.sum(axis=0)
        self._tried.update(zip(map(float, scales), successes.tolist(), strict=True))
        return successes

    def find_scales(self, targets: Sequence[float]) -> list[tuple[float, float]]:
        """Return the scale at which the success is each of two targets, and the success there.

        Raises:
            NotTractable: no scale was found, as where a target is below the share of the most frequent word.
        """
        start = 1.0 / float(np.median(_find_nearest_steps(self._steps[:_STRIP_ROWS])) * self._unit)
        self.evaluate([start * factor for factor in (1.5, 3.0, 6.0, 12.0)])
        for _ in range(_MAX_PASSES):
            pairs = [self._find_closest(target) for target in targets]
            if all(abs(success - target) <= TOLERANCE for (_, success), target in zip(pairs, targets, strict=True)):
                break
            self.evaluate([scale for target in targets for scale in self._guess(target)])
        else:
            raise NotTractable(f"No scale was found at which the attacker names {targets} of the words: set others.")
        return pairs

    def _find_closest(self, target: float) -> tuple[float, float]:
        return min(self._tried.items(), key=lambda pair: abs(pair[1] - target))

    def _guess(self, target: float) -> tuple[float, float]:
        """Return two scales to try: by the straight line of ln s over logit V inside the bracket, and its middle."""
        below = [scale for scale, success in self._tried.items() if success <= target]
        above = [scale for scale, success in self._tried.items() if success > target]
        if not above:
            return max(below) * _STRIDE, max(below) * _STRIDE**2
        if not below:
            return min(above) / _STRIDE, min(above) / _STRIDE**2
        low, high = max(below), min(above)
        least, greatest = _logit(self._tried[low]), _logit(self._tried[high])
        share = (_logit(target) - least) / (greatest - least)
        return low * (high / low) ** share, math.sqrt(low * high)


def _logit(share: float) -> float:
    inner = min(max(share, _EDGE), 1 - _EDGE)
    return math.log(inner / (1 - inner))


def _find_nearest_steps(steps: Steps) -> Steps:
    """Return the distances (k,) of the first k points to their nearest others, from their rows (k, n)."""
    rows = steps.copy()
    np.fill_diagonal(rows, np.iinfo(np.uint16).max)
    nearest: Steps = rows.min(axis=1)
    return nearest


@functools.partial(compile_loop, relaxed=True)
def _sum_rows(table: FloatArray, steps: Steps) -> FloatArray:  # pragma: no cover - compiled
    """Return the sums (r, 4) of table[steps] over the columns of (r, n) steps."""
    sums = np.empty((steps.shape[0], 4))
    for i in range(steps.shape[0]):
        a = b = c = d = 0.0
        for j in range(steps.shape[1]):
            row = steps[i, j]
            a += table[row, 0]
            b += table[row, 1]
            c += table[row, 2]
            d += table[row, 3]
        sums[i, 0], sums[i, 1], sums[i, 2], sums[i, 3] = a, b, c, d
    return sums


@functools.partial(compile_loop, relaxed=True)
def _maximize_rows(table: FloatArray, chances: FloatArray, steps: Steps) -> FloatArray:  # pragma: no cover - compiled
    """Return the maxima (r, 4) of chances[j] table[steps] over the columns j of (r, n) steps."""
    maxima = np.empty((steps.shape[0], 4))
    for i in range(steps.shape[0]):
        a = b = c = d = 0.0
        for j in range(steps.shape[1]):
            row = steps[i, j]
            a = max(a, chances[j, 0] * table[row, 0])
            b = max(b, chances[j, 1] * table[row, 1])
            c = max(c, chances[j, 2] * table[row, 2])
            d = max(d, chances[j, 3] * table[row, 3])
        maxima[i, 0], maxima[i, 1], maxima[i, 2], maxima[i, 3] = a, b, c, d
    return maxima
