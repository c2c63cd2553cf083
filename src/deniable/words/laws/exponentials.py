"""exp(-s min(d, gamma)) and its sums, the same to the last bit on every processor.

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

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.parallel import compile_loop
from deniable.space.vector_distances import PANEL_SIZE

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
def sum_panel(values: FloatArray, lanes: FloatArray) -> float:  # pragma: no cover - compiled
    """Return the sum of at most `PANEL_SIZE` values >= 0.

    Each of `LANES` lanes adds every sixteenth value, one after the other; then the lanes are added by halves.

    Args:
        values: (m,).
        lanes: (LANES,), overwritten.
    """
    for lane in range(LANES):
        lanes[lane] = 0.0
    whole = values.size - values.size % LANES
    for start in range(0, whole, LANES):
        for lane in range(LANES):
            lanes[lane] += values[start + lane]
    for lane in range(values.size - whole):
        lanes[lane] += values[whole + lane]
    size = LANES // 2
    while size > 0:
        for lane in range(size):
            lanes[lane] += lanes[size + lane]
        size //= 2
    return float(lanes[0])


@compile_loop
def sum_row(values: FloatArray, lanes: FloatArray) -> float:  # pragma: no cover - compiled
    """Return the sum of values (n,) >= 0: that of each panel, one after the other."""
    total = 0.0
    for start in range(0, values.size, PANEL_SIZE):
        total += sum_panel(values[start : start + PANEL_SIZE], lanes)
    return total


@compile_loop
def sum_tile(  # pragma: no cover - compiled
    tile: FloatArray, row_weights: FloatArray, column_weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the sums of a tile (r, c) of decays along rows and columns, panel by panel as `sum_row` takes them.

    Returns:
        across (r, panels): sums over the columns of a panel of weights[column] * tile; and down (panels, c): sums over
        the rows of a panel of weights[row] * tile.
    """
    return _sum_across(tile, column_weights), _sum_down(tile, row_weights)


@compile_loop
def _sum_across(tile: FloatArray, weights: FloatArray) -> FloatArray:  # pragma: no cover - compiled
    row_count, column_count = tile.shape
    sums = np.empty((row_count, -(-column_count // PANEL_SIZE)))
    lanes, products = np.empty(LANES), np.empty(PANEL_SIZE)
    for panel in range(sums.shape[1]):
        panel_weights = weights[panel * PANEL_SIZE : (panel + 1) * PANEL_SIZE]
        for i in range(row_count):
            values = tile[i, panel * PANEL_SIZE : panel * PANEL_SIZE + panel_weights.size]
            for j in range(panel_weights.size):
                products[j] = values[j] * panel_weights[j]
            sums[i, panel] = sum_panel(products[: panel_weights.size], lanes)
    return sums


@compile_loop
def _sum_down(tile: FloatArray, weights: FloatArray) -> FloatArray:  # pragma: no cover - compiled
    row_count, column_count = tile.shape
    sums = np.empty((-(-row_count // PANEL_SIZE), column_count))
    for panel in range(sums.shape[0]):
        lanes = np.zeros((LANES, column_count))
        for i in range(panel * PANEL_SIZE, min((panel + 1) * PANEL_SIZE, row_count)):
            lane, values, weight = lanes[i % LANES], tile[i], weights[i]
            for j in range(column_count):
                lane[j] += values[j] * weight
        size = LANES // 2
        while size > 0:
            for k in range(size):
                for j in range(column_count):
                    lanes[k, j] += lanes[size + k, j]
            size //= 2
        for j in range(column_count):
            sums[panel, j] = lanes[0, j]
    return sums
