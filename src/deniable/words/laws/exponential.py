"""The exponential family of laws: P(y|w) = c(y) exp(-s min(d(w, y), gamma)) / Z(w), whose proof is a closed form.

The law is epsilon-metric-DP for exactly the epsilons from this one on::

    max over w, w' of  [s min(d(w, w'), gamma) + ln Z(w') - ln Z(w)] / d(w, w')

Two passes over the n^2 distances: one for Z, one for the maximum (`take_census`). Nothing is sampled.

What each input of a law of the exponential family loses at most, all rounding in it: one pass over all pairs.

With d the metric, s the scale, gamma the cutoff (infinite: none) and c(y) > 0 the weights::

    P(y|w) = c(y) exp(-s min(d(w, y), gamma)) / Z(w)

min(d, gamma) obeys the triangle inequality, so that the ratio P(y|w) / P(y|w') is largest at y = w, and two inputs lose
exactly s min(d(w, w'), gamma) + ln Z(w') - ln Z(w).
"""

import dataclasses
import functools
import math

import numpy as np

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.cache import load_or_compute_array
from deniable.core.parallel import compile_loop
from deniable.space.space import Space
from deniable.words.laws.kernel import ExponentialKernel, sum_decays
from deniable.words.laws.law import ExactEpsilon, PointIndices
from deniable.words.laws.ring import RingLaw
from deniable.words.laws.tables import TABLE_FLOOR, TABLE_TOTAL
from deniable.words.laws.tabulated import TabulatedLaw, find_witness

_UNDERFLOW_SAFE_NATS = 450.0
"""Nats up to which a score beside no weight of its own is far from underflow."""
_MIN_DISTANCE = 1e-300
ROUNDING_FACTOR = 1 + 2.0**-49
"""Covers the few roundings of the bound itself."""
_MIN_LOSS = math.log(TABLE_FLOOR / (TABLE_FLOOR - 1))
"""What rounding down to whole units can do to the ratio of two entries at the floor."""


@dataclasses.dataclass(frozen=True, eq=False)
class Census:
    """What each of n inputs loses at most, by the integer tables that are sampled.

    Attributes:
        epsilons: (n,) the largest loss per unit of distance of w against any other input.
        others: (n,) the input w' against which it is.
        losses: (n,) the largest loss in nats of w against any other input.
    """

    epsilons: FloatArray
    others: IntArray
    losses: FloatArray

    @property
    def epsilon(self) -> float:
        """The exact epsilon of the law, as an upper bound."""
        return float(self.epsilons.max())

    def list_worst_pairs(self, count: int) -> list[tuple[int, int]]:
        """The pairs of the inputs that lose most per unit of distance, the worst first."""
        inputs = np.argsort(-self.epsilons, kind="stable")[: 2 * count]  # each pair is the worst of both, mostly
        pairs = [(min(w, int(self.others[w])), max(w, int(self.others[w]))) for w in inputs.tolist()]
        return list(dict.fromkeys(pairs))[:count]


def take_census(space: Space, kernel: ExponentialKernel, logs: FloatArray, workers: int | None = None) -> Census:
    """The census of a law.

    Args:
        space: the domain, of n points.
        kernel: of the law.
        logs: ln Z (n,).
        workers: threads.

    Raises:
        NotTractable: the rounding of the space's metric is unknown.
    """
    slack, distance_error = bound_rounding(space, kernel), space.distance_error

    def visit(first: int, distances: FloatArray) -> FloatArray:
        return _survey_rows(distances, logs, first, kernel.scale, kernel.cutoff, slack, distance_error)

    blocks = space.map_row_blocks(visit, range(space.point_count), workers)
    epsilons, others, losses = np.concatenate(blocks, axis=1)
    floor = 1 / TABLE_FLOOR
    return Census(epsilons, others.astype(np.int64), np.maximum(losses, floor) + slack)


def bound_pair_epsilons(
    space: Space, kernel: ExponentialKernel, distances: FloatArray, log_ratios: FloatArray
) -> FloatArray:
    """Bounds (k,) on loss / distance of k pairs, from d(w, w') and |ln Z(w') - ln Z(w)|.

    (At entries near the floor of a table a ratio of entries is a mediant of FLOOR / (FLOOR - 1) and
    the ratio of the law, and so no larger than both.)
    """
    with np.errstate(over="ignore"):  # a loss beyond all floats is infinite, as in the compiled loop
        losses = kernel.scale * np.minimum(distances, kernel.cutoff) + log_ratios + bound_rounding(space, kernel)
        spans = np.maximum(distances - space.distance_error, _MIN_DISTANCE)
        bounds: FloatArray = ROUNDING_FACTOR * np.maximum(losses, _MIN_LOSS) / spans
    return bounds


def bound_rounding(space: Space, kernel: ExponentialKernel) -> float:
    """A bound, in nats, on what float64 can add to the exact loss of two inputs.

    With e the error of a distance and u = 2^-53, a score errs by at most s e + 4 u 745 (beyond
    745 nats an exponential is 0, less than a unit of the table, and `ROUNDING_FACTOR` covers the loss of a pair),
    a sum of n positive terms by (n + 8) u more. A sampled probability holds a score and a sum; a
    loss compares two of them; the formula adds one score and two sums: 7 scores and sums in all.
    The residue of a table, n units for the rounding and n u of relative error, goes to its largest
    entry, which is at least 1 / n. An input of weight 0 may have nothing but scores that underflow: no bound then.
    """
    if (
        kernel.weights is not None
        and not kernel.weights.all()
        and kernel.scale * min(space.diameter, kernel.cutoff) > _UNDERFLOW_SAFE_NATS
    ):
        return math.inf
    count, unit = space.point_count, 2.0**-53
    sums = (count + 16) * unit
    residue = count * (count / TABLE_TOTAL + 2 * (math.log2(count) + 16) * unit)
    return 7 * (kernel.scale * space.distance_error + 4 * 745 * unit + sums) + residue


@compile_loop
def _survey_rows(  # pragma: no cover - compiled
    distances: FloatArray,
    logs: FloatArray,
    first: int,
    scale: float,
    cutoff: float,
    slack: float,
    distance_error: float,
) -> FloatArray:
    """Return `bound_pair_epsilons`, the other input and loss of the worst of each row, as an array (3, k)."""
    found = np.zeros((3, distances.shape[0]))
    for i in range(distances.shape[0]):
        w, row = first + i, distances[i]
        best, other, largest = -1.0, 0, 0.0
        for j in range(row.size):
            loss = scale * min(row[j], cutoff) + abs(logs[j] - logs[w])
            largest = max(largest, loss)
            bound = ROUNDING_FACTOR * max(loss + slack, _MIN_LOSS) / max(row[j] - distance_error, _MIN_DISTANCE)
            if bound > best and j != w:
                best, other = bound, j
        found[0, i], found[1, i], found[2, i] = best, other, largest
    return found


_MAX_WITNESSES = 8
"""Worst pairs whose tables are compared at all outputs, for a lower bound."""


class ExponentialLaw(TabulatedLaw):
    """A law of the exponential family; see `deniable.words.laws.law.Law` for its methods.

    Draws come from its integer tables. Its epsilon is proved in O(n^2), at any size, where the rounding of the metric
    is known; else it is verified as any other table.

    Args:
        space: the domain, of n points.
        kernel: scale, cutoff and weights.

    Raises:
        TypeError: the kernel is a subclass, whose rows could be anything.
    """

    def __init__(self, space: Space, kernel: ExponentialKernel) -> None:
        if type(kernel) is not ExponentialKernel:
            raise TypeError(
                f"ExponentialLaw takes an ExponentialKernel, and no subclass. Got {type(kernel).__name__}: make a "
                "TabulatedLaw of its rows."
            )
        super().__init__(space, kernel)
        self.kernel = kernel

    @property
    def fingerprint(self) -> str | None:
        """Those of space and kernel."""
        part = super().fingerprint
        return None if part is None else f"{self.space.fingerprint}-{part}"

    @functools.cached_property
    def log_normalisers(self) -> FloatArray:
        """Ln Z (n,)."""
        name, shape = f"log-normalisers-{self.fingerprint}", (self.space.point_count,)

        def compute() -> FloatArray:
            return np.log(sum_decays(self.space, self.kernel))

        return compute() if self.fingerprint is None else load_or_compute_array(name, shape, compute)

    @functools.cached_property
    def census(self) -> Census:
        """What each input loses at most, where the rounding of the metric is known."""

        def compute() -> FloatArray:
            census = take_census(self.space, self.kernel, self.log_normalisers)
            return np.stack([*vars(census).values()])

        name, shape = f"census-{self.fingerprint}", (3, self.space.point_count)
        epsilons, others, losses = load_or_compute_array(name, shape, compute)
        return Census(epsilons, others.astype(np.int64), losses)

    def exact_epsilon(self, workers: int | None = None) -> ExactEpsilon:
        """The exact epsilon over all pairs and all outputs, in closed form.

        For the lower bound all outputs of the worst pairs are looked at: where two inputs are so near to each other
        that rounding is most of their loss, it is not at y = w that they lose most.
        """
        if not self.space.metric.is_builtin:
            return super().exact_epsilon(workers)
        count = self.space.point_count
        method = f"exact over all {count * (count - 1):,} pairs and all outputs, closed form of the exponential family"

        found = find_witness(self, self.census.list_worst_pairs(_MAX_WITNESSES))
        return dataclasses.replace(found, epsilon=self.census.epsilon, method=method)

    def input_losses(self, points: PointIndices, workers: int | None = None) -> FloatArray | None:
        """The largest loss (k,) in nats of each of k input points against any other, all rounding in it."""
        return self.census.losses[points] if self.space.metric.is_builtin else None


def make_exponential_law(space: Space, kernel: ExponentialKernel) -> ExponentialLaw | RingLaw:
    """The law of a kernel: ring by ring where the metric counts steps and no point has a weight of its own."""
    is_ringed = space.graph is not None and kernel.weights is None
    return RingLaw(space, kernel) if is_ringed else ExponentialLaw(space, kernel)
