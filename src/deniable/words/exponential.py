"""The exponential family of laws, and the exact epsilon of each of them.

With d the metric, s the scale, gamma the cutoff (infinite: none) and c(y) > 0 the weights::

    P(y|w) = c(y) exp(-s min(d(w, y), gamma)) / Z(w)

min(d, gamma) obeys the triangle inequality, so that the ratio P(y|w) / P(y|w') is largest at y = w,
and the law is epsilon-metric-DP for exactly the epsilons from this one on::

    max over w, w' of  [s min(d(w, w'), gamma) + ln Z(w') - ln Z(w)] / d(w, w')

Two passes over the n^2 distances: one for Z, one for the maximum. Nothing is sampled.
"""

import dataclasses
import functools
import hashlib
import math
import time
from collections.abc import Sequence

import numpy as np

from deniable.cache import remember_array
from deniable.errors import InputError, bad_parameter
from deniable.frozen import own_state
from deniable.parallel import compiled
from deniable.space.metrics import Array
from deniable.space.space import Space
from deniable.words.law import FLOOR, TOTAL, Finding, Loss, worst_output

_LIGHT = 1e-100
"""Least weight: beside it no probability that float64 loses by underflow is as large as a unit of a table."""
_DEEP = 450.0
"""Nats up to which a score beside no weight of its own is far from underflow."""
_CHUNK = 256
"""Pairs whose largest quotient is taken at once, by vector instructions."""


@dataclasses.dataclass(frozen=True, eq=False)
class Exponential:
    """One law of the family.

    Attributes:
        scale: s > 0, per unit of distance.
        cutoff: gamma > 0; distances beyond it count as it.
        weights: c (number of points,), from 1e-100 to 1e100 or 0; None for c = 1. (For a point of weight 0 the maximum
            above is still a bound, but no longer reached.)

    Raises:
        InputError: a number out of its domain.
    """

    scale: float
    cutoff: float = math.inf
    weights: Array | None = None

    def __post_init__(self) -> None:
        """Check the numbers, in whose domains `rounding` bounds what float64 adds, and keep a copy of the weights."""
        if not 0 < self.scale < math.inf:
            raise bad_parameter("Exponential", "scale", "a float in (0, inf)", self.scale)
        if not self.cutoff > 0:
            raise bad_parameter("Exponential", "cutoff", "a float above 0", self.cutoff)
        if self.weights is None:
            return
        weights = np.array(self.weights, dtype=np.float64)
        positive = weights[weights != 0]
        if weights.ndim != 1 or not len(positive) or not ((positive >= _LIGHT) & (positive <= 1 / _LIGHT)).all():
            raise InputError(
                f"The 'weights' parameter of Exponential must be numbers (n,) from {_LIGHT:g} to {1 / _LIGHT:g}, or 0 "
                f"but not all of them. Got shape {weights.shape}, from {weights.min(initial=math.inf):g} to "
                f"{weights.max(initial=-math.inf):g}."
            )
        weights.setflags(write=False)
        object.__setattr__(self, "weights", weights)

    def rows(self, distances: Array) -> Array:
        """Return the law (k, n) of k inputs from their distances (k, n), which are overwritten."""
        # Row by row: a row stays in the processor's cache through all passes.
        for row in distances:
            self.decay(row)
            if self.weights is not None:
                np.multiply(row, self.weights, out=row)
            np.multiply(row, 1.0 / row.sum(), out=row)
        return distances

    def decay(self, distances: Array) -> Array:
        """Replace distances, of any shape, by exp(-s min(d, gamma)) and return them."""
        _score(distances.reshape(-1), self.scale, self.cutoff)
        return np.exp(distances, out=distances)

    def normalisers(self, space: Space, workers: int | None = None) -> Array:
        """Return Z (number of points,), by one pass over all pairs."""
        (sums,) = normalisers(space, [self], workers)
        return sums

    def __getstate__(self) -> dict[str, object]:
        """Return what pickles: nothing that was computed from the rest."""
        return own_state(self)

    @functools.cached_property
    def fingerprint(self) -> str:
        """Hexadecimal BLAKE2b of scale, cutoff and weights; tells laws apart."""
        state = hashlib.blake2b(repr((self.scale, self.cutoff)).encode(), digest_size=16)
        if self.weights is not None:
            state.update(self.weights.tobytes())
        return state.hexdigest()


def normalisers(space: Space, laws: Sequence[Exponential], workers: int | None = None) -> list[Array]:
    """Return Z (number of points,) of several laws, whose distances are computed once for all of them."""
    ones = np.ones(len(space.points))
    return decay_sums(space, laws, [ones if law.weights is None else law.weights for law in laws], workers)


def decay_sums(
    space: Space, laws: Sequence[Exponential], weights: Sequence[Array], workers: int | None = None
) -> list[Array]:
    """Return for several laws the sums (number of points,) over y of weights[y] exp(-s min(d(w, y), gamma)).

    The weights are any numbers, in place of the laws' own.
    """
    count = len(space.points)

    def visit(rows: slice, columns: slice, distances: Array) -> tuple[slice, list[Array], slice, list[Array]]:
        across, down = [], []
        for law, weight in zip(laws, weights, strict=True):
            decay = law.decay(distances if law is laws[-1] else distances.copy())
            across.append(decay @ weight[columns])
            down.append(weight[rows] @ decay if rows != columns else np.zeros(len(weight[columns])))
        return rows, across, columns, down

    out = [np.zeros(count) for _ in laws]
    for rows, across, columns, down in space.tiles(visit, workers):
        for sums, right, left in zip(out, across, down, strict=True):
            sums[rows] += right
            sums[columns] += left
    return out


def log_normalisers(space: Space, law: Exponential, workers: int | None = None, *, anew: bool = False) -> Array:
    """Return ln Z (number of points,), kept in the cache where the metric has a name.

    Args:
        space: the domain.
        law: of the family.
        workers: threads.
        anew: do not read them from the cache.
    """

    def compute() -> Array:
        return np.log(law.normalisers(space, workers))

    if not space.metric.builtin:
        return compute()
    name = f"logs-{space.fingerprint}-{law.fingerprint}"
    return remember_array(
        name, (len(space.points),), compute, lambda found: not anew and bool(np.isfinite(found).all())
    )


@dataclasses.dataclass(frozen=True)
class Extreme:
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


def extremes(space: Space, law: Exponential, workers: int | None = None) -> list[Extreme]:
    """Return the worst pair of every tile of pairs, the worst of all first.

    The first one's epsilon is the exact epsilon of the law, as an upper bound.

    Raises:
        NotTractable: the rounding of the space's metric is unknown.
    """
    slack, blur = rounding(space, law), space.distance_error
    # Computed anew for a proof, and kept for what needs them after it.
    logs = log_normalisers(space, law, workers, anew=True)

    def visit(rows: slice, columns: slice, distances: Array) -> Extreme:
        at = (rows.start, columns.start)
        bound, i, j = _worst(distances, logs, *at, law.scale, law.cutoff, slack, _LEAST_LOSS, blur)
        # ln Z(w') - ln Z(w) is positive one way round.
        w, other = sorted((rows.start + i, columns.start + j), key=lambda point: logs[point])
        return Extreme(bound, w, other, float(distances[i, j]))

    return sorted(space.tiles(visit, workers), key=lambda one: -one.epsilon)


def prove(space: Space, law: Exponential, workers: int | None = None) -> Finding:
    """Return the exact epsilon of a law, over all pairs of inputs and all outputs.

    Raises:
        NotTractable: the rounding of the space's metric is unknown.
    """
    start = time.perf_counter()
    return finding(space, law, extremes(space, law, workers), start)


def finding(space: Space, law: Exponential, worst: Sequence[Extreme], start: float) -> Finding:
    """Return what the worst pairs spend in the integer tables.

    All outputs are looked at: where two inputs are so near to each other that rounding is most of their loss, it is
    not at y = w that they lose most.

    Args:
        space: the domain.
        law: of the family.
        worst: as `extremes` returns them.
        start: when the search began, by `time.perf_counter`.
    """

    def spent(pair: Extreme) -> tuple[float, Loss, float]:
        loss = worst_output(space, law.rows, pair.input, pair.other)
        least = max(loss.nats - _LOGARITHMS, 0.0) / (pair.distance + space.distance_error) / _UP
        return least, loss, pair.distance

    least, loss, distance = max(map(spent, worst[:_WITNESSES]), key=lambda found: found[0])
    return Finding(
        epsilon=worst[0].epsilon,
        lower_bound=least,
        input=loss.input,
        other=loss.other,
        output=loss.output,
        distance=distance,
        loss=loss.nats,
        seconds=time.perf_counter() - start,
    )


def finding_name(space: Space, law: Exponential) -> str:
    """Return the name under which the finding about a law is cached."""
    return f"worst-{space.fingerprint}-{law.fingerprint}"


def pair_bounds(space: Space, law: Exponential, distances: Array, lifts: Array) -> Array:
    """Return (k,) bounds on loss / distance of k pairs, from d(w, w') and |ln Z(w') - ln Z(w)|.

    (At entries near the floor of a table a ratio of entries is a mediant of FLOOR / (FLOOR - 1) and
    the ratio of the law, and so no larger than both.)
    """
    with np.errstate(over="ignore"):  # a loss beyond all floats is infinite, as in the compiled loop
        losses = law.scale * np.minimum(distances, law.cutoff) + lifts + rounding(space, law)
        bounds: Array = _UP * np.maximum(losses, _LEAST_LOSS) / np.maximum(distances - space.distance_error, _TINY)
    return bounds


_WITNESSES = 8
"""Worst pairs whose tables are compared at all outputs, for a lower bound."""
_TINY = 1e-300
_UP = 1 + 2.0**-49
"""Covers the few roundings of the bound itself."""
_LOGARITHMS = 2.0**-46
"""Bound on the rounding of the difference of two logarithms of table entries."""
_LEAST_LOSS = math.log(FLOOR / (FLOOR - 1))
"""What rounding down to whole units can do to the ratio of two entries at the floor."""


def rounding(space: Space, law: Exponential) -> float:
    """Return a bound, in nats, on what float64 can add to the exact loss of two inputs.

    With e the error of a distance and u = 2^-53, a score errs by at most s e + 4 u 745 (beyond
    745 nats an exponential is 0, less than a unit of the table, and `_UP` covers the loss of a pair),
    a sum of n positive terms by (n + 8) u more. A sampled probability holds a score and a sum; a
    loss compares two of them; the formula adds one score and two sums: 7 scores and sums in all.
    The residue of a table, n units for the rounding and n u of relative error, goes to its largest
    entry, which is at least 1 / n. An input of weight 0 may have nothing but scores that underflow: no bound then.
    """
    if law.weights is not None and not law.weights.all() and law.scale * min(space.diameter, law.cutoff) > _DEEP:
        return math.inf
    count, unit = len(space.points), 2.0**-53
    sums = (count + 16) * unit
    residue = count * (count / TOTAL + 2 * (math.log2(count) + 16) * unit)
    return 7 * (law.scale * space.distance_error + 4 * 745 * unit + sums) + residue


@functools.partial(compiled, relaxed=True)
def _worst(  # pragma: no cover - compiled
    distances: Array,
    logs: Array,
    first: int,
    column: int,
    scale: float,
    cutoff: float,
    slack: float,
    least: float,
    blur: float,
) -> tuple[float, int, int]:
    """Return the largest of `pair_bounds` in a tile, and its place."""
    best, row, col = -1.0, 0, 0
    count = distances.shape[1]
    for i in range(distances.shape[0]):
        here = logs[first + i]
        for chunk in range(0, count, _CHUNK):
            end = min(chunk + _CHUNK, count)
            top = -1.0
            for j in range(chunk, end):
                d = distances[i, j]
                loss = scale * min(d, cutoff) + abs(logs[column + j] - here) + slack
                bound = _UP * max(loss, least) / max(d - blur, _TINY)
                top = max(top, -1.0 if column + j == first + i else bound)
            if top > best:
                for j in range(chunk, end):
                    d = distances[i, j]
                    loss = scale * min(d, cutoff) + abs(logs[column + j] - here) + slack
                    bound = _UP * max(loss, least) / max(d - blur, _TINY)
                    if column + j != first + i and bound > best:
                        best, row, col = bound, i, j
    return best, row, col


@compiled
def _score(distances: Array, scale: float, cutoff: float) -> None:  # pragma: no cover - compiled
    """Replace d by -scale * min(d, cutoff)."""
    for y in range(distances.size):
        distances[y] = -scale * min(distances[y], cutoff)
