"""The kernel of the exponential family of laws, c(y) exp(-s min(d(w, y), gamma)), and its sums over y."""

import dataclasses
import functools
import hashlib
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray
from deniable.core.cache import load_or_compute_array
from deniable.core.classes import get_picklable_state
from deniable.core.errors import InputError, make_parameter_error
from deniable.core.parallel import compile_loop
from deniable.space.space import Space
from deniable.space.squares import SingleArray
from deniable.words.laws.exponentials import LANES, sum_row, sum_tile, write_decays

_MIN_WEIGHT = 1e-100
"""Least weight: beside it no probability that float64 loses by underflow is as large as a unit of a table."""
_MIN_SINGLE = 1e-25
"""Least weight with which sums are taken in float32, and one over the largest number."""


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
        ones = np.ones(1)
        _write_rows(distances, self.scale, self.cutoff, ones if self.weights is None else self.weights)
        return distances

    def decay(self, distances: FloatArray) -> FloatArray:
        """Replace distances, of any shape, by exp(-s min(d, gamma)) and return them."""
        write_decays(distances.reshape(-1), self.scale, self.cutoff)
        return distances

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


_TileSum = tuple[slice, slice, Sequence[tuple[npt.NDArray[np.floating], npt.NDArray[np.floating]]]]
"""Rows and columns of a tile, and for each of several kernels the sums of each row (rows, p) over p panels of columns,
and those of each column (p, columns) over p panels of rows."""


class _TileSums:
    """The sums over all points, from those over tiles.

    Args:
        count: n, number of points.
        kernel_count: number of kernels.
    """

    def __init__(self, count: int, kernel_count: int) -> None:
        self.totals = [np.zeros(count) for _ in range(kernel_count)]

    def add(self, tile: _TileSum) -> None:
        """Add those of one tile, panel by panel; a tile on the diagonal holds both orders of its pairs."""
        rows, columns, tile_sums = tile
        for total, (across, down) in zip(self.totals, tile_sums, strict=True):
            for panel_sums in across.T:
                total[rows] += panel_sums
            if rows != columns:
                for panel_sums in down:
                    total[columns] += panel_sums


def compute_normalisers(
    space: Space, kernels: Sequence[ExponentialKernel], workers: int | None = None
) -> list[FloatArray]:
    """Return Z (number of points,) of several kernels, whose distances are computed once for all of them."""
    ones = np.ones(space.point_count)
    weights = [ones if kernel.weights is None else kernel.weights for kernel in kernels]
    return compute_decay_sums(space, kernels, weights, workers)


def compute_decay_sums(
    space: Space, kernels: Sequence[ExponentialKernel], weights: Sequence[FloatArray], workers: int | None = None
) -> list[FloatArray]:
    """Return for several kernels the sums (number of points,) over y of weights[y] exp(-s min(d(w, y), gamma)).

    The weights are any numbers, in place of the kernels' own.
    """
    count = space.point_count

    def visit(rows: slice, columns: slice, distances: FloatArray) -> _TileSum:
        tile_sums = []
        for kernel, weight in zip(kernels, weights, strict=True):
            decay = kernel.decay(distances if kernel is kernels[-1] else distances.copy())
            tile_sums.append(sum_tile(decay, weight[rows], weight[columns]))
        return rows, columns, tile_sums

    # Tile by tile in their order, and panel by panel: the sums are those of whole rows to the last bit.
    sums = _TileSums(count, len(kernels))
    space.fold_tiles(visit, sums.add, workers)
    return sums.totals


def approximate_log_normalisers(
    space: Space, kernels: Sequence[ExponentialKernel], workers: int | None = None
) -> list[FloatArray]:
    """Return ln Z (number of points,) of several kernels, for a search: within about 1e-5 where float32 is enough.

    That is under Euclidean distance, with weights that float32 holds; elsewhere they are computed in float64. Nothing
    that is proved or released may rest on them.
    """
    if space.square_bounds is None or not all(_fits_single(kernel, space.square_bounds.unit) for kernel in kernels):
        return [np.log(sums) for sums in compute_normalisers(space, kernels, workers)]
    count, unit = space.point_count, space.square_bounds.unit
    # A lower bound is half the largest gap below its square, but for little.
    half_gaps = (space.square_bounds.gaps / 2).astype(np.float32)
    ones = np.ones(count)
    weights = [(ones if kernel.weights is None else kernel.weights).astype(np.float32) for kernel in kernels]

    def visit(rows: slice, columns: slice, squares: SingleArray) -> _TileSum:
        squares += half_gaps[rows, None]
        squares += half_gaps[columns]
        distances = np.sqrt(np.maximum(squares, 0.0, out=squares), out=squares)
        if rows == columns:
            np.fill_diagonal(distances, 0.0)
        decay = np.empty_like(distances)
        tile_sums = []
        for kernel, weight in zip(kernels, weights, strict=True):
            np.multiply(distances, np.float32(-kernel.scale * unit), out=decay)
            if kernel.cutoff < math.inf:
                np.maximum(decay, np.float32(-kernel.scale * kernel.cutoff), out=decay)
            np.exp(decay, out=decay)
            tile_sums.append(((decay @ weight[columns])[:, None], (weight[rows] @ decay)[None]))
        return rows, columns, tile_sums

    sums = _TileSums(count, len(kernels))
    space.fold_square_tiles(visit, sums.add, workers)
    return [np.log(total) for total in sums.totals]


def _fits_single(kernel: ExponentialKernel, unit: float) -> bool:
    """Return whether scores, and sums of the weights, all positive, are well within what float32 holds."""
    if kernel.scale * unit > 1 / _MIN_SINGLE:
        return False
    return kernel.weights is None or bool(kernel.weights.min() > _MIN_SINGLE and kernel.weights.max() < 1 / _MIN_SINGLE)


def load_or_compute_normalisers(
    space: Space, kernel: ExponentialKernel, workers: int | None = None, *, recompute: bool = False
) -> FloatArray:
    """Return Z (number of points,), kept in the cache where the metric has a name.

    Args:
        space: the domain.
        kernel: of the law.
        workers: threads.
        recompute: do not read them from the cache.
    """

    def compute() -> FloatArray:
        return kernel.normalisers(space, workers)

    if not space.metric.is_builtin:
        return compute()
    name = f"normalisers-{space.fingerprint}-{kernel.fingerprint}"
    return load_or_compute_array(
        name,
        (space.point_count,),
        compute,
        lambda stored: not recompute and bool((np.isfinite(stored) & (stored > 0)).all()),
    )


def compute_log_normalisers(
    space: Space, kernel: ExponentialKernel, workers: int | None = None, *, recompute: bool = False
) -> FloatArray:
    """Return ln Z (number of points,); see `load_or_compute_normalisers`."""
    return np.log(load_or_compute_normalisers(space, kernel, workers, recompute=recompute))


@compile_loop
def _write_rows(distances: FloatArray, scale: float, cutoff: float, weights: FloatArray) -> None:  # pragma: no cover
    """Replace distances (k, n) by probabilities, row by row: a row stays in the processor's cache through all passes.

    Args:
        distances: (k, n).
        scale: s.
        cutoff: gamma.
        weights: c (n,), or (1,) for weights of 1.
    """
    lanes = np.empty(LANES)
    for i in range(distances.shape[0]):
        row = distances[i]
        write_decays(row, scale, cutoff)
        if weights.size == row.size:
            for y in range(row.size):
                row[y] *= weights[y]
        inverse = 1.0 / sum_row(row, lanes)
        for y in range(row.size):
            row[y] *= inverse
