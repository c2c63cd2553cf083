"""The kernel of the exponential family of laws, c(y) exp(-s min(d(w, y), gamma)), and its sums over y."""

import dataclasses
import functools
import hashlib
import math
from collections.abc import Sequence

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.cache import load_or_compute_array
from deniable.core.classes import get_picklable_state
from deniable.core.errors import InputError, make_parameter_error
from deniable.core.parallel import compile_loop
from deniable.space.space import Space

_MIN_WEIGHT = 1e-100
"""Least weight: beside it no probability that float64 loses by underflow is as large as a unit of a table."""


@dataclasses.dataclass(frozen=True, eq=False)
class ExponentialKernel:
    """The kernel of one law of the family, which over a space is P(y|w) = c(y) exp(-s min(d(w, y), gamma)) / Z(w).

    Attributes:
        scale: s > 0, per unit of distance.
        cutoff: gamma > 0; distances beyond it count as it.
        weights: c (number of points,), from 1e-100 to 1e100 or 0; None for c = 1. (For a point of weight 0 the epsilon
            of `deniable.words.laws.exponential_proof` is still a bound, but no longer reached.)

    Raises:
        InputError: a number out of its domain.
    """

    scale: float
    cutoff: float = math.inf
    weights: FloatArray | None = None

    def __post_init__(self) -> None:
        """Check the numbers, in whose domains the rounding is bounded, and keep a copy of the weights."""
        if not 0 < self.scale < math.inf:
            raise make_parameter_error("ExponentialKernel", "scale", "a float in (0, inf)", self.scale)
        if not self.cutoff > 0:
            raise make_parameter_error("ExponentialKernel", "cutoff", "a float above 0", self.cutoff)
        # Plain floats: an array could change after a proof, and the fingerprint is made of how numbers print.
        object.__setattr__(self, "scale", float(self.scale))
        object.__setattr__(self, "cutoff", float(self.cutoff))
        if self.weights is None:
            return
        weights = np.array(self.weights, dtype=np.float64)
        nonzero = weights[weights != 0]
        if weights.ndim != 1 or not len(nonzero) or not ((nonzero >= _MIN_WEIGHT) & (nonzero <= 1 / _MIN_WEIGHT)).all():
            raise InputError(
                f"The 'weights' parameter of ExponentialKernel must be numbers (n,) from {_MIN_WEIGHT:g} to "
                f"{1 / _MIN_WEIGHT:g}, or 0 but not all of them. Got shape {weights.shape}, from "
                f"{weights.min(initial=math.inf):g} to {weights.max(initial=-math.inf):g}."
            )
        weights.setflags(write=False)
        object.__setattr__(self, "weights", weights)

    def rows(self, distances: FloatArray) -> FloatArray:
        """Return the probabilities (k, n) of k inputs from their distances (k, n), which are overwritten."""
        # Row by row: a row stays in the processor's cache through all passes.
        for row in distances:
            self.decay(row)
            if self.weights is not None:
                np.multiply(row, self.weights, out=row)
            np.multiply(row, 1.0 / row.sum(), out=row)
        return distances

    def decay(self, distances: FloatArray) -> FloatArray:
        """Replace distances, of any shape, by exp(-s min(d, gamma)) and return them."""
        _compute_scores(distances.reshape(-1), self.scale, self.cutoff)
        return np.exp(distances, out=distances)

    def normalisers(self, space: Space, workers: int | None = None) -> FloatArray:
        """Return Z (number of points,), by one pass over all pairs."""
        (sums,) = compute_normalisers(space, [self], workers)
        return sums

    def __getstate__(self) -> dict[str, object]:
        """Return what pickles: nothing that was computed from the rest."""
        return get_picklable_state(self)

    def __setstate__(self, state: dict[str, object]) -> None:
        """Restore a pickled or copied kernel; its weights are read-only again."""
        vars(self).update(state)
        if self.weights is not None:
            self.weights.setflags(write=False)

    @functools.cached_property
    def fingerprint(self) -> str:
        """Hexadecimal BLAKE2b of scale, cutoff and weights; tells kernels apart."""
        state = hashlib.blake2b(repr((self.scale, self.cutoff)).encode(), digest_size=16)
        if self.weights is not None:
            state.update(self.weights.tobytes())
        return state.hexdigest()


def compute_normalisers(
    space: Space, kernels: Sequence[ExponentialKernel], workers: int | None = None
) -> list[FloatArray]:
    """Return Z (number of points,) of several kernels, whose distances are computed once for all of them."""
    ones = np.ones(len(space.points))
    weights = [ones if kernel.weights is None else kernel.weights for kernel in kernels]
    return compute_decay_sums(space, kernels, weights, workers)


def compute_decay_sums(
    space: Space, kernels: Sequence[ExponentialKernel], weights: Sequence[FloatArray], workers: int | None = None
) -> list[FloatArray]:
    """Return for several kernels the sums (number of points,) over y of weights[y] exp(-s min(d(w, y), gamma)).

    The weights are any numbers, in place of the kernels' own.
    """
    count = len(space.points)

    def visit(
        rows: slice, columns: slice, distances: FloatArray
    ) -> tuple[slice, list[FloatArray], slice, list[FloatArray]]:
        across, down = [], []
        for kernel, weight in zip(kernels, weights, strict=True):
            decay = kernel.decay(distances if kernel is kernels[-1] else distances.copy())
            across.append(decay @ weight[columns])
            down.append(weight[rows] @ decay if rows != columns else np.zeros(len(weight[columns])))
        return rows, across, columns, down

    out = [np.zeros(count) for _ in kernels]
    for rows, across, columns, down in space.map_tiles(visit, workers):
        for sums, right, left in zip(out, across, down, strict=True):
            sums[rows] += right
            sums[columns] += left
    return out


def compute_log_normalisers(
    space: Space, kernel: ExponentialKernel, workers: int | None = None, *, recompute: bool = False
) -> FloatArray:
    """Return ln Z (number of points,), kept in the cache where the metric has a name.

    Args:
        space: the domain.
        kernel: of the law.
        workers: threads.
        recompute: do not read them from the cache.
    """

    def compute() -> FloatArray:
        return np.log(kernel.normalisers(space, workers))

    if not space.metric.is_builtin:
        return compute()
    name = f"logs-{space.fingerprint}-{kernel.fingerprint}"
    return load_or_compute_array(
        name, (len(space.points),), compute, lambda stored: not recompute and bool(np.isfinite(stored).all())
    )


@compile_loop
def _compute_scores(distances: FloatArray, scale: float, cutoff: float) -> None:  # pragma: no cover - compiled
    """Replace d by -scale * min(d, cutoff)."""
    for y in range(distances.size):
        distances[y] = -scale * min(distances[y], cutoff)
