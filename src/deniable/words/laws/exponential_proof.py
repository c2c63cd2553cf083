"""The exact epsilon of laws of the exponential family, all rounding in it.

With d the metric, s the scale, gamma the cutoff (infinite: none) and c(y) > 0 the weights::

    P(y|w) = c(y) exp(-s min(d(w, y), gamma)) / Z(w)

min(d, gamma) obeys the triangle inequality, so that the ratio P(y|w) / P(y|w') is largest at y = w,
and the law is epsilon-metric-DP for exactly the epsilons from this one on::

    max over w, w' of  [s min(d(w, w'), gamma) + ln Z(w') - ln Z(w)] / d(w, w')

Two passes over the n^2 distances: one for Z, one for the maximum. Nothing is sampled.

Where d is the length of shortest paths in a graph, the maximum over all pairs is that over its edges (i, j), of length
l, and the second pass is one look at each of them::

    max over edges of  [s min(l, gamma) + |ln Z(j) - ln Z(i)|] / l

- *No pair has more.* Let w = v_0, v_1, ..., v_m = w' be a shortest path, whose lengths l_1 + ... + l_m are d(w, w').
  Then min(d, gamma) <= sum of min(l_k, gamma), and ln Z(w') - ln Z(w) is the sum of the ln Z(v_k) - ln Z(v_{k-1}): the
  loss of the pair is at most the sum of what the edges have, and so at most the maximum times their length. What is
  added to a loss for rounding is added at every edge, m >= 1 times on a path, and so bounds that of the pair.
- *A pair has as much.* The ends of an edge are a pair, of distance d <= l, and neither min(x, gamma) / x nor 1 / x
  increases with x.
"""

import dataclasses
import functools
import math
import time
from collections.abc import Sequence

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.parallel import compile_loop
from deniable.core.progress import expect_passes
from deniable.space.blocks import Edges
from deniable.space.space import Space
from deniable.words.laws.kernel import ExponentialKernel, compute_log_normalisers
from deniable.words.laws.law import Finding
from deniable.words.laws.tables import TABLE_FLOOR, TABLE_TOTAL, OutputLoss, find_worst_output

_UNDERFLOW_SAFE_NATS = 450.0
"""Nats up to which a score beside no weight of its own is far from underflow."""
_CHUNK_SIZE = 256
"""Pairs whose largest quotient is taken at once, by vector instructions."""


@dataclasses.dataclass(frozen=True)
class WorstPair:
    """A pair of inputs with a large loss per unit of distance.

    Attributes:
        epsilon: bound on the loss per unit of distance, over all outputs of the integer tables that
            are sampled, with every rounding in it.
        input: the point w; the loss is largest at the output y = w.
        other: the point w'.
        distance: d(w, w').
    """

    epsilon: float
    input: int
    other: int
    distance: float


def find_worst_pairs(space: Space, kernel: ExponentialKernel, workers: int | None = None) -> list[WorstPair]:
    """Return the worst pair of every tile of pairs, or the worst edges of a graph, the worst of all first.

    The first one's epsilon is the exact epsilon of the kernel's law, as an upper bound.

    Raises:
        NotTractable: the rounding of the space's metric is unknown.
    """
    slack, distance_error = bound_rounding(space, kernel), space.distance_error
    # Computed anew for a proof, and kept for what needs them after it.
    with expect_passes(1):
        logs = compute_log_normalisers(space, kernel, workers, recompute=True)

    if space.edges is not None:
        return _find_worst_edges(space, space.edges, kernel, logs)

    def visit(rows: slice, columns: slice, distances: FloatArray) -> WorstPair:
        tile_start = (rows.start, columns.start)
        bound, i, j = _find_worst_pair(
            distances, logs, *tile_start, kernel.scale, kernel.cutoff, slack, _MIN_LOSS, distance_error
        )
        # ln Z(w') - ln Z(w) is positive one way round.
        w, other = sorted((rows.start + i, columns.start + j), key=lambda point: logs[point])
        return WorstPair(bound, w, other, float(distances[i, j]))

    return sorted(space.map_tiles(visit, workers), key=lambda pair: -pair.epsilon)


def _find_worst_edges(space: Space, edges: Edges, kernel: ExponentialKernel, logs: FloatArray) -> list[WorstPair]:
    """Return the worst edge of each of the points that have the worst, the worst of all first.

    Args:
        space: whose distances are the lengths of shortest paths.
        edges: of its graph.
        kernel: of the law.
        logs: ln Z (number of points,).
    """
    bounds = bound_pair_epsilons(space, kernel, edges.lengths, np.abs(logs[edges.ends[:, 0]] - logs[edges.ends[:, 1]]))
    order = np.argsort(-bounds, kind="stable")
    _, firsts = np.unique(edges.ends[order, 0], return_index=True)
    worst = order[np.sort(firsts)[:_MAX_WORST_EDGES]]
    # ln Z(w') - ln Z(w) is positive one way round.
    pairs = [sorted(ends, key=lambda point: logs[point]) for ends in edges.ends[worst].tolist()]
    rows = space.distances([w for w, _ in pairs])
    return [
        WorstPair(float(bound), w, other, float(row[other]))
        for bound, (w, other), row in zip(bounds[worst], pairs, rows, strict=True)
    ]


def prove_exact_epsilon(space: Space, kernel: ExponentialKernel, workers: int | None = None) -> Finding:
    """Return the exact epsilon of a law, over all pairs of inputs and all outputs.

    Raises:
        NotTractable: the rounding of the space's metric is unknown.
    """
    start = time.perf_counter()
    return summarize_worst_pairs(space, kernel, find_worst_pairs(space, kernel, workers), start)


def summarize_worst_pairs(
    space: Space, kernel: ExponentialKernel, worst_pairs: Sequence[WorstPair], start: float
) -> Finding:
    """Return what the worst pairs spend in the integer tables.

    All outputs are looked at: where two inputs are so near to each other that rounding is most of their loss, it is
    not at y = w that they lose most.

    Args:
        space: the domain.
        kernel: of the law.
        worst_pairs: as `find_worst_pairs` returns them.
        start: when the search began, by `time.perf_counter`.
    """

    def bound_pair(pair: WorstPair) -> tuple[float, OutputLoss, float]:
        loss = find_worst_output(space, lambda _, distances: kernel.rows(distances), pair.input, pair.other)
        lower_bound = max(loss.nats - _LOG_ROUNDING, 0.0) / (pair.distance + space.distance_error) / _ROUNDING_FACTOR
        return lower_bound, loss, pair.distance

    lower_bound, loss, distance = max(map(bound_pair, worst_pairs[:_MAX_WITNESSES]), key=lambda bounds: bounds[0])
    return Finding(
        epsilon=worst_pairs[0].epsilon,
        lower_bound=lower_bound,
        input=loss.input,
        other=loss.other,
        output=loss.output,
        distance=distance,
        loss=loss.nats,
        seconds=time.perf_counter() - start,
    )


def make_finding_name(space: Space, kernel: ExponentialKernel) -> str:
    """Return the name under which the finding about a law is cached."""
    return f"worst-{space.fingerprint}-{kernel.fingerprint}"


def bound_pair_epsilons(
    space: Space, kernel: ExponentialKernel, distances: FloatArray, log_ratios: FloatArray
) -> FloatArray:
    """Return (k,) bounds on loss / distance of k pairs, from d(w, w') and |ln Z(w') - ln Z(w)|.

    (At entries near the floor of a table a ratio of entries is a mediant of FLOOR / (FLOOR - 1) and
    the ratio of the law, and so no larger than both.)
    """
    with np.errstate(over="ignore"):  # a loss beyond all floats is infinite, as in the compiled loop
        losses = kernel.scale * np.minimum(distances, kernel.cutoff) + log_ratios + bound_rounding(space, kernel)
        bounds: FloatArray = (
            _ROUNDING_FACTOR
            * np.maximum(losses, _MIN_LOSS)
            / np.maximum(distances - space.distance_error, _MIN_DISTANCE)
        )
    return bounds


_MAX_WORST_EDGES = 64
"""Worst edges of a graph that are returned."""
_MAX_WITNESSES = 8
"""Worst pairs whose tables are compared at all outputs, for a lower bound."""
_MIN_DISTANCE = 1e-300
_ROUNDING_FACTOR = 1 + 2.0**-49
"""Covers the few roundings of the bound itself."""
_LOG_ROUNDING = 2.0**-46
"""Bound on the rounding of the difference of two logarithms of table entries."""
_MIN_LOSS = math.log(TABLE_FLOOR / (TABLE_FLOOR - 1))
"""What rounding down to whole units can do to the ratio of two entries at the floor."""


def bound_rounding(space: Space, kernel: ExponentialKernel) -> float:
    """Return a bound, in nats, on what float64 can add to the exact loss of two inputs.

    With e the error of a distance and u = 2^-53, a score errs by at most s e + 4 u 745 (beyond
    745 nats an exponential is 0, less than a unit of the table, and `_ROUNDING_FACTOR` covers the loss of a pair),
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
    count, unit = len(space.points), 2.0**-53
    sums = (count + 16) * unit
    residue = count * (count / TABLE_TOTAL + 2 * (math.log2(count) + 16) * unit)
    return 7 * (kernel.scale * space.distance_error + 4 * 745 * unit + sums) + residue


@functools.partial(compile_loop, relaxed=True)
def _find_worst_pair(  # pragma: no cover - compiled
    distances: FloatArray,
    logs: FloatArray,
    first: int,
    column: int,
    scale: float,
    cutoff: float,
    slack: float,
    min_loss: float,
    distance_error: float,
) -> tuple[float, int, int]:
    """Return the largest of `bound_pair_epsilons` in a tile, and its place."""
    best, row, col = -1.0, 0, 0
    count = distances.shape[1]
    for i in range(distances.shape[0]):
        log_normaliser = logs[first + i]
        for chunk in range(0, count, _CHUNK_SIZE):
            end = min(chunk + _CHUNK_SIZE, count)
            chunk_maximum = -1.0
            for j in range(chunk, end):
                d = distances[i, j]
                loss = scale * min(d, cutoff) + abs(logs[column + j] - log_normaliser) + slack
                bound = _ROUNDING_FACTOR * max(loss, min_loss) / max(d - distance_error, _MIN_DISTANCE)
                chunk_maximum = max(chunk_maximum, -1.0 if column + j == first + i else bound)
            if chunk_maximum > best:
                for j in range(chunk, end):
                    d = distances[i, j]
                    loss = scale * min(d, cutoff) + abs(logs[column + j] - log_normaliser) + slack
                    bound = _ROUNDING_FACTOR * max(loss, min_loss) / max(d - distance_error, _MIN_DISTANCE)
                    if column + j != first + i and bound > best:
                        best, row, col = bound, i, j
    return best, row, col
