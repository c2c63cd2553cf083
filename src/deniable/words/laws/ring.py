"""The law of an exponential kernel on a graph: every point of a ring about the input is as likely as any other.

With r_k = exp(-s min(k, gamma)) and N_k(x) the number of points at k steps from x, whole numbers::

    P(y|x) = r_d(x,y) / Z(x),        Z(x) = sum over k of N_k(x) r_k

*What is drawn.* The table of x gives each point at k steps T_k(x) = F + floor((2^62 - n F) r_k / Z(x)), and itself
besides what is left of 2^62. One number below 2^62 names a ring, then the place of a point in it: nearer than reach, in
the order in which a search finds the points, which goes no further than it must. Of the m points of words, b are nearer
than reach, and the place p < m - b of one at reach is its number where that point is none of the b; where it is the
j-th of them, p becomes m - b + j, until it is none. (No two places meet: each number from m - b on follows one.) One of
the b has a neighbour at reach - 2 steps at most, so that a search no further than these says whether p is one.

*What it spends*, exactly, by the very entries of these tables. An output y is at steps j from x and k from x' that
differ by d(x, x') at most, and entries fall as steps grow, so that the loss of a pair joined by an edge is at most::

    e(x, x') = max over k of  ln T_k(x) - ln T_(k+1)(x')        (the last ring is followed by itself)

- *Two words d < reach steps apart*, or at reach by a path that short: along the path losses add, so that they are at
  most d times the largest e of an edge.
- *Two words at reach steps*: at most max ln T_0 - min ln T_reach, per step a share 1 / reach of it.
- *A hidden class and another point*: at most the same with the rings of classes, per step a share 1 / A of it.

The largest of the three is the epsilon of the law. At the output y = x the ends of the worst edge lose as much.
"""

import dataclasses
import decimal
import math

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.errors import NotTractable
from deniable.core.parallel import compile_loop, parallel_map
from deniable.core.randomness import Streams
from deniable.space.space import PointNumbers, Space
from deniable.space.steps import PointArray, StepGraph, expand_point
from deniable.words.laws.kernel import ExponentialKernel
from deniable.words.laws.law import (
    ExactEpsilon,
    IntegerTable,
    Law,
    PointIndices,
    WordShares,
    get_part_fingerprint,
)
from deniable.words.laws.tables import (
    LOGARITHM_ERROR,
    TABLE_FLOOR,
    TABLE_TOTAL,
    find_guessed_words,
    group_tokens_by_point,
    share_among_words,
)
from deniable.words.laws.tabulated import find_witness

_POINTS_PER_TASK = 128
_MAX_SERIAL_TOKENS = 4_096
"""Tokens that one thread draws sooner than others are started."""
_RESIDUE_ROUNDING = 2.0**-49
"""Times n: by which share the entry of the point itself may be less than it is in real numbers; others less so. (13
roundings of 2^-53: ten in Z, and those of the free mass, of r / Z and of their product.)"""
_SUM_ROUNDING = 1e-12
"""Relative error allowed for in sums and powers of at most a dozen floats."""
_EXPONENTIALS = decimal.Context(prec=30, rounding=decimal.ROUND_HALF_EVEN)
"""All arithmetic of decimal numbers here is this context's: the caller's thread may have set its own to anything."""


class RingLaw(Law):
    """The law of a kernel without weights on a graph; see `deniable.words.laws.law.Law` for its methods.

    Args:
        space: the domain, of n points, whose metric counts steps.
        kernel: scale and cutoff, in steps.

    Attributes:
        log_normalisers: ln Z (n,).
        entries: T_k(x) (n, reach + 2), of the rings in `StepGraph.steps`; that of the point itself, at k = 0, holds the
            residue.

    Raises:
        NotTractable: the distances of the space are no steps, or the kernel has weights.
    """

    is_tabulated = True
    has_rows = True

    def __init__(self, space: Space, kernel: ExponentialKernel) -> None:
        if space.graph is None or kernel.weights is not None:
            raise NotTractable("A RingLaw needs a metric that counts steps, and a kernel without weights.")
        super().__init__(space)
        self.kernel, self._graph = kernel, space.graph
        self._decays = compute_decays(kernel, self._graph)
        normalisers = compute_normalisers(self._graph, self._decays)
        self.log_normalisers = np.log(normalisers)
        self.entries = _compute_entries(self._graph, self._decays, normalisers)
        for array in (self._decays, self.log_normalisers, self.entries):
            array.setflags(write=False)

    @property
    def fingerprint(self) -> str | None:
        """Those of space and kernel."""
        kernel_fingerprint = get_part_fingerprint(self.space, self.kernel)
        return None if kernel_fingerprint is None else f"{self.space.fingerprint}-{kernel_fingerprint}"

    @property
    def _rounding(self) -> float:
        """Nats by which rounding may make the loss at another output larger than that at y = x."""
        return LOGARITHM_ERROR + _RESIDUE_ROUNDING * self._graph.count

    def rows(self, points: PointIndices) -> FloatArray:
        """Return the probabilities (k, n) of k input points."""
        levels = self._graph.find_levels(np.asarray(points, dtype=np.int64))
        return self._decays[levels] * np.exp(-self.log_normalisers[points])[:, None]

    def tables(self, points: PointIndices) -> IntegerTable:
        """Return the entries (k, n) of the integer tables, which sum to 2^62."""
        levels = self._graph.find_levels(np.asarray(points, dtype=np.int64)).astype(np.int64)
        table: IntegerTable = np.take_along_axis(self.entries[points], levels, axis=1)
        return table

    def sample(self, points: PointNumbers, streams: Streams, workers: int | None = None) -> PointNumbers:
        """Return one output point for each input point (N,)."""
        bits = streams.bits()
        is_short = len(points) <= _MAX_SERIAL_TOKENS  # counting points costs more than sorting few of them
        order = np.argsort(points, kind="stable") if is_short else group_tokens_by_point(points, self._graph.count)[0]
        grouped = points[order]
        starts = np.flatnonzero(np.concatenate([[True], grouped[1:] != grouped[:-1], [True]]))[: len(points) + 1]
        out = np.empty(len(points), dtype=np.int32)

        def visit(first: int) -> None:
            groups = starts[first : first + _POINTS_PER_TASK + 1]
            _draw_points(self._graph.searched, self._graph.counts, self.entries, grouped, groups, order, bits, out)

        tasks = range(0, len(starts) - 1, _POINTS_PER_TASK)
        if is_short:
            for first in tasks:
                visit(first)
        else:
            parallel_map(visit, tasks, workers)
        return out

    def exact_epsilon(self, workers: int | None = None) -> ExactEpsilon:
        """The exact epsilon over all pairs and all outputs, by the entries of the tables."""
        count, edges = self._graph.count, self._graph.neighbours.size // 2
        method = f"exact over all {count * (count - 1):,} pairs and all outputs, by {edges:,} edges of the graph"
        graph, logs = self._graph, np.log(self.entries.astype(np.float64))
        losses = np.full(graph.neighbours.shape, -np.inf)
        for k in range(graph.reach + 1):
            edge_losses = logs[: graph.word_count, k, None] - logs[graph.neighbours, min(k + 1, graph.reach)]
            np.maximum(losses, edge_losses, out=losses)
        bounds, pairs = [], []
        if losses.size:
            bounds.append(float(losses.max()))
            point, place = np.unravel_index(int(losses.argmax()), losses.shape)
            pairs.append((int(point), int(graph.neighbours[point, place])))
        for ring, steps in ((graph.reach, graph.reach), (graph.reach + 1, int(graph.steps[-1]))):
            has_any = graph.counts[:, ring] > 0
            if has_any.any():
                own, far = np.where(has_any, logs[:, 0], -np.inf), np.where(has_any, logs[:, ring], np.inf)
                bounds.append(float(own.max() - far.min()) / steps)
                pairs.append(self._find_far_pair(ring, own, far))
        return dataclasses.replace(find_witness(self, pairs), epsilon=max(bounds) + self._rounding, method=method)

    def _find_far_pair(self, ring: int, own: FloatArray, far: FloatArray) -> tuple[int, int]:
        """Return the pair in one ring of each other that loses most of those that the likeliest point to stay has."""
        point = int(own.argmax())
        is_there = self._graph.find_levels(np.array([point]))[0] == ring
        return point, int(np.where(is_there, far, np.inf).argmin())

    def outcomes(self, prior: FloatArray, workers: int | None = None) -> WordShares:
        """Return for each word how often it is released unchanged, and how often the best guess is right.

        With a(x) = prior(x) / Z(x), the inputs of the largest a within k steps of each y are found by k rounds of
        maxima over neighbours; the best guess is that of the largest r_k a. (An input nearer than k counts as one at k
        steps no more than it does as itself, since r falls.) Logarithms are compared, which do not underflow.
        """
        graph = self._graph
        guessed_words = find_guessed_words(self.space, prior)
        with np.errstate(divide="ignore"):
            weights = np.log(prior[guessed_words]) - self.log_normalisers
        order = np.argsort(-weights, kind="stable")
        guesses = order[self._find_best_inputs(np.argsort(order))]  # (reach + 2, n)
        with np.errstate(over="ignore"):  # infinite: such a ring has no output
            exponents = self.kernel.scale * np.minimum(graph.steps, self.kernel.cutoff)
        heights = weights[guesses] - exponents[:, None]
        candidates = np.where(heights == heights.max(axis=0), guesses, graph.count)
        best = candidates.min(axis=0)
        nearest_rings = (candidates == best).argmax(axis=0)
        likelihoods = self._decays[nearest_rings] * np.exp(-self.log_normalisers[best])
        return share_among_words(self.space, np.exp(-self.log_normalisers), guessed_words, best, likelihoods)

    def _find_best_inputs(self, ranks: IntArray) -> IntArray:
        """Return the least rank (reach + 2, n) of the inputs within each ring about each output."""
        graph = self._graph
        words, classes = ranks[: graph.word_count], ranks[graph.word_count :]
        last = graph.count - 1
        least = np.full((graph.reach + 2, graph.count), last)
        least[:-1, graph.word_count :] = classes
        least[0, : graph.word_count] = words
        for ring in range(1, graph.reach):
            ball = least[ring - 1, : graph.word_count]
            around = ball[graph.neighbours].min(axis=1, initial=last)
            least[ring, : graph.word_count] = np.minimum(ball, around)
        least[graph.reach, : graph.word_count] = words.min(initial=last)
        least[-1, : graph.word_count] = classes.min(initial=last)
        least[-1, graph.word_count :] = 0
        return least

    def bound_far_losses(self) -> tuple[float, float]:
        """Return bounds in nats on the loss of any two words, and of a hidden class and any other point."""
        logs, reach = np.log(self.entries.astype(np.float64)), self._graph.reach
        own, words = logs[:, 0], logs[: self._graph.word_count]
        between_words = float(words[:, 0].max(initial=0.0) - words[:, reach].min(initial=np.inf))
        return between_words + self._rounding, float(own.max() - logs[:, -1].min()) + self._rounding

    def input_losses(self, points: PointIndices, workers: int | None = None) -> FloatArray:
        """Return a bound (k,) on the largest loss in nats of each of k input points against any other."""
        logs = np.log(self.entries.astype(np.float64))
        points = np.asarray(points)
        losses = np.zeros(len(points))
        for ring in range(1, self._graph.reach + 2):
            has_any = self._graph.counts[:, ring] > 0
            own, far = logs[:, 0].max(where=has_any, initial=-np.inf), logs[:, ring].min(where=has_any, initial=np.inf)
            worst = np.maximum(logs[points, 0] - far, own - logs[points, ring])
            losses = np.maximum(losses, np.where(has_any[points], worst, 0.0))
        return losses + self._rounding

    def renyi(self, order: float, workers: int | None = None) -> float:
        """Return a bound on D_order of any two inputs: no output of x' is less likely than its farthest ring says.

        sum over y of P(y|x)^a P(y|x')^(1-a) <= (min over y of P(y|x'))^(1-a)  sum over k of N_k(x) P_k(x)^a
        """
        logs = np.log(self.entries.astype(np.float64)) - math.log(TABLE_TOTAL)
        counts = self._graph.counts
        with np.errstate(divide="ignore"):
            moments = np.logaddexp.reduce(order * logs + np.log(counts), axis=1)
        least = np.where(counts > 0, logs, np.inf).min(axis=1)
        divergence = (float(moments.max()) - (order - 1) * float(least.min())) / (order - 1)
        return max(divergence, 0.0) + _SUM_ROUNDING * order * 50 / (order - 1)


def estimate_ring_epsilon(graph: StepGraph, kernel: ExponentialKernel) -> float:
    """Return the epsilon of a law whose tables hold real numbers: what calibration finds the root of."""
    decays = compute_decays(kernel, graph)
    shares = decays / compute_normalisers(graph, decays)[:, None]
    logs = np.log(TABLE_FLOOR + (TABLE_TOTAL - TABLE_FLOOR * graph.count) * shares)
    losses = [0.0]
    if graph.neighbours.size:
        losses.append(float((logs[: graph.word_count, 0] - logs[:, 1][graph.neighbours].min(axis=1)).max()))
    for ring in (graph.reach, graph.reach + 1):
        has_any = graph.counts[:, ring] > 0
        if has_any.any():
            losses.append(float(logs[has_any, 0].max() - logs[has_any, ring].min()) / int(graph.steps[ring]))
    return max(losses)


def compute_decays(kernel: ExponentialKernel, graph: StepGraph) -> FloatArray:
    """Return r_k (reach + 2,) of the rings of a graph, rounded as decimal numbers are: the same on every processor."""
    distances = [decimal.Decimal(min(float(k), kernel.cutoff)) for k in graph.steps]
    exponents = [_EXPONENTIALS.multiply(decimal.Decimal(-kernel.scale), distance) for distance in distances]
    return np.array([float(_EXPONENTIALS.exp(exponent)) for exponent in exponents])


def compute_normalisers(graph: StepGraph, decays: FloatArray) -> FloatArray:
    """Return Z (n,), added up from the nearest ring outward."""
    total = np.zeros(graph.count)
    for ring, decay in enumerate(decays):
        total += graph.counts[:, ring] * decay
    return total


def _compute_entries(graph: StepGraph, decays: FloatArray, normalisers: FloatArray) -> IntegerTable:
    """Return T_k (n, reach + 2)."""
    free_mass = float(TABLE_TOTAL - TABLE_FLOOR * graph.count)
    entries: IntegerTable = TABLE_FLOOR + (free_mass * (decays / normalisers[:, None])).astype(np.int64)
    entries[:, 0] += TABLE_TOTAL - (graph.counts * entries).sum(axis=1)
    return entries


@compile_loop
def _draw_points(  # noqa: C901, PLR0912 - one loop over tokens  # pragma: no cover - compiled
    neighbours: PointArray,
    counts: IntArray,
    entries: IntegerTable,
    grouped: PointNumbers,
    starts: IntArray,
    order: IntArray,
    bits: npt.NDArray[np.uint64],
    out: PointNumbers,
) -> None:
    """Write an output point for each token of some input points.

    Args:
        neighbours: (m, c) of the graph.
        counts: N_k (n, reach + 2).
        entries: T_k (n, reach + 2).
        grouped: (N,) input points of the tokens, equal ones together.
        starts: (k + 1,) where each of k points begins there, and where the last one ends.
        order: (N,) their tokens.
        bits: (N,) of each token, of which the upper 62 are used.
        out: (N,).
    """
    words, reach = len(neighbours), counts.shape[1] - 2
    is_new, queue = np.empty(words, dtype=np.uint8), np.empty(words + 1, dtype=neighbours.dtype)
    is_near = np.zeros(words, dtype=np.bool_)  # whether a point is at reach - 2 steps at most, once that is needed
    for i in range(len(starts) - 1):
        x = grouped[starts[i]]
        near, ball = counts[x, : reach - 1].sum(), counts[x, :reach].sum()
        head, found, has_near = 0, 0, False
        for token in order[starts[i] : starts[i + 1]]:
            value = np.int64(bits[token] >> np.uint64(2))
            ring, inner = 0, 0
            while value >= counts[x, ring] * entries[x, ring]:
                value -= counts[x, ring] * entries[x, ring]
                inner += counts[x, ring]
                ring += 1
            place = value // entries[x, ring]
            if ring == 0:
                out[token] = x
            elif x >= words:  # a class, to which all others are as far
                out[token] = place if place < x else place + 1
            elif ring > reach:
                out[token] = words + place
            elif ring == 1 < reach:
                out[token] = neighbours[x, place]
            else:
                if found == 0:
                    is_new[:] = 1
                    is_new[x] = 0
                    queue[0], found = x, 1
                needed = near if ring == reach else inner + place + 1
                while found < needed:
                    found = expand_point(neighbours, queue[head], is_new, queue, found)
                    head += 1
                if ring < reach:
                    out[token] = queue[inner + place]
                    continue
                if not has_near:
                    for k in range(near):
                        is_near[queue[k]] = True
                    has_near = True
                while is_new[place] == 0 or (found < ball and _is_next_to(neighbours, place, is_near)):
                    while is_new[place] == 1:
                        found = expand_point(neighbours, queue[head], is_new, queue, found)
                        head += 1
                    k = 0
                    while queue[k] != place:
                        k += 1
                    place = words - ball + k
                out[token] = place
        if has_near:
            for k in range(near):
                is_near[queue[k]] = False


@compile_loop
def _is_next_to(
    neighbours: PointArray, point: int, is_marked: npt.NDArray[np.bool_]
) -> bool:  # pragma: no cover - compiled
    """Return whether a neighbour of a point is marked."""
    is_next = False
    for k in range(neighbours.shape[1]):
        is_next |= is_marked[neighbours[point, k]]
    return is_next
