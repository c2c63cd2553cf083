"""The kernel of the exponential family of laws, c(y) exp(-s min(d(w, y), gamma)), and its sums over y.

numpy's exponential is another one on a processor with wider registers, and so are sums that are taken in registers.
Here every operation is one of IEEE 754, in an order that is written down, which vector instructions keep.

*The exponential.* With n the integer next to x / ln 2 and r = x - n ln 2, |r| < 0.3466, exp(x) = 2^n exp(r), and exp(r)
is its Taylor polynomial of degree 13:

- *what is left out* is below 2 r^14 / 14! < 2^-56 of it;
- *r*: ln 2 is C_1 + C_2, where n C_1 is exact, and so is x - n C_1 (Sterbenz); the two roundings left are below
  0.36 u, u = 2^-53, together;
- *the polynomial* 1 + (r + r^2 q(r)), q by Horner's rule: the last sum errs by u of itself, and what is before it by
  u (|r| + 3 r^2) at most, less than 0.7 u beside exp(r) >= 0.707;
- *2^n* is exact.

Together below 3 u of exp(x). Below -708 nats, where a float has fewer bits, x counts as -708.
"""

import dataclasses
import functools
import hashlib
import math

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError, make_parameter_error
from deniable.core.parallel import compile_loop
from deniable.space.space import Space
from deniable.space.vector_distances import PANEL_SIZE
from deniable.words.laws.law import PointIndices

EXPONENTIAL_ERROR = 3 * 2.0**-53
"""Relative error of an exponential."""
_MIN_EXPONENT = -708.0
_PER_LN2 = 1.4426950408889634
_LN2_HIGH = float.fromhex("0x1.62e42feep-1")
_LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
_TO_INTEGER = 1.5 * 2.0**52
"""Added to a number below 2^51 it rounds it to an integer, which the last bits of the sum then hold."""
LANES = 16
"""Sums that are taken beside each other."""
_EXPONENT_BIAS, _EXPONENT_SHIFT = 1023, 52
_MIN_WEIGHT = 1e-100
"""Least weight: beside it no probability that float64 loses by underflow is as large as a unit of a table."""


@dataclasses.dataclass(frozen=True, eq=False)
class ExponentialKernel:
    """The kernel of one law of the family, which over a space is P(y|w) = c(y) exp(-s min(d(w, y), gamma)) / Z(w).

    Attributes:
        scale: s > 0, per unit of distance.
        cutoff: gamma > 0; distances beyond it count as it.
        weights: c (number of points,), from 1e-100 to 1e100 or 0; None for c = 1. (For a point of weight 0 the epsilon
            of `deniable.words.laws.exponential` is still a bound, but no longer reached.)

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

    def __call__(self, points: PointIndices, distances: FloatArray) -> FloatArray:
        """The probabilities (k, n) of k inputs, from their distances (k, n), which are overwritten."""
        del points
        weights = np.ones(distances.shape[1]) if self.weights is None else self.weights
        _sum_rows(distances, self.scale, self.cutoff, weights, is_divided=True)
        return distances

    def decay(self, distances: FloatArray) -> FloatArray:
        """Replace distances, of any shape, by exp(-s min(d, gamma)) and return them."""
        write_decays(distances.reshape(-1), self.scale, self.cutoff)
        return distances

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        """Pickle what the kernel was made of, so that a copy is checked, and its weights read-only, as well."""
        return type(self), (self.scale, self.cutoff, self.weights)

    @functools.cached_property
    def fingerprint(self) -> str:
        """Hexadecimal BLAKE2b of scale, cutoff and weights; tells kernels apart."""
        state = hashlib.blake2b(repr((self.scale, self.cutoff)).encode(), digest_size=16)
        if self.weights is not None:
            state.update(self.weights.tobytes())
        return state.hexdigest()


def sum_decays(
    space: Space, kernel: ExponentialKernel, weights: FloatArray | None = None, workers: int | None = None
) -> FloatArray:
    """The sums (number of points,) over y of weights[y] exp(-s min(d(w, y), gamma)), by one pass over all pairs.

    Args:
        space: the domain.
        kernel: scale and cutoff.
        weights: any numbers (number of points,) in place of the kernel's own, with which the sums are normalisers Z.
        workers: threads.
    """
    factors = kernel.weights if weights is None else weights
    factors = np.ones(space.point_count) if factors is None else factors

    def visit(_: int, distances: FloatArray) -> FloatArray:
        return _sum_rows(distances, kernel.scale, kernel.cutoff, factors, is_divided=False)

    sums: FloatArray = np.concatenate(space.map_row_blocks(visit, range(space.point_count), workers))
    return sums


@compile_loop
def _sum_rows(  # pragma: no cover - compiled
    distances: FloatArray,
    scale: float,
    cutoff: float,
    weights: FloatArray,
    is_divided: bool,  # noqa: FBT001 - numba has no arguments by name only
) -> FloatArray:
    """Return the sums (k,) of weights times decays, by which the same are replaced in place of distances (k, n).

    Row by row: one stays in the processor's cache through all passes over it.

    Args:
        distances: (k, n).
        scale: s.
        cutoff: gamma.
        weights: c (n,).
        is_divided: whether rows are divided by their sums.
    """
    lanes, sums = np.empty(LANES), np.empty(distances.shape[0])
    for i in range(distances.shape[0]):
        row = distances[i]
        write_decays(row, scale, cutoff)
        for y in range(row.size):
            row[y] *= weights[y]
        sums[i] = sum_row(row, lanes)
        if is_divided:
            inverse = 1.0 / sums[i]
            for y in range(row.size):
                row[y] *= inverse
    return sums


@compile_loop
def write_decays(distances: FloatArray, scale: float, cutoff: float) -> None:  # pragma: no cover - compiled
    """Replace distances (n,) by exp(-scale min(d, cutoff))."""
    powers = np.empty(PANEL_SIZE)
    bits = powers.view(np.int64)
    for start in range(0, distances.size, PANEL_SIZE):
        values = distances[start : start + PANEL_SIZE]
        for j in range(values.size):
            x = max(-scale * min(values[j], cutoff), _MIN_EXPONENT)
            powers[j] = x * _PER_LN2 + _TO_INTEGER
            n = powers[j] - _TO_INTEGER
            r = (x - n * _LN2_HIGH) - n * _LN2_LOW
            q = 1.6059043836821613e-10
            q = q * r + 2.08767569878681e-09
            q = q * r + 2.505210838544172e-08
            q = q * r + 2.755731922398589e-07
            q = q * r + 2.7557319223985893e-06
            q = q * r + 2.48015873015873e-05
            q = q * r + 0.0001984126984126984
            q = q * r + 0.001388888888888889
            q = q * r + 0.008333333333333333
            q = q * r + 0.041666666666666664
            q = q * r + 0.16666666666666666
            q = q * r + 0.5
            values[j] = 1.0 + (r + (r * r) * q)
        for j in range(values.size):
            bits[j] = (bits[j] + _EXPONENT_BIAS) << _EXPONENT_SHIFT
        for j in range(values.size):
            values[j] *= powers[j]


@compile_loop
def sum_row(values: FloatArray, lanes: FloatArray) -> float:  # pragma: no cover - compiled
    """Return the sum of values (n,) >= 0: that of each panel of `PANEL_SIZE`, one after the other.

    Each of `LANES` lanes adds every sixteenth value of a panel, in order; then the lanes are added by halves.

    Args:
        values: (n,).
        lanes: (LANES,), overwritten.
    """
    total = 0.0
    for first in range(0, values.size, PANEL_SIZE):
        panel = values[first : first + PANEL_SIZE]
        for lane in range(LANES):
            lanes[lane] = 0.0
        whole = panel.size - panel.size % LANES
        for start in range(0, whole, LANES):
            for lane in range(LANES):
                lanes[lane] += panel[start + lane]
        for lane in range(panel.size - whole):
            lanes[lane] += panel[whole + lane]
        size = LANES // 2
        while size > 0:
            for lane in range(size):
                lanes[lane] += lanes[size + lane]
            size //= 2
        total += lanes[0]
    return total
