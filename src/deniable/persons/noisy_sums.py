"""Noisy sums: the one way in which anything private is measured.

Each unit contributes an integer vector of bounded l2 norm; the sum of all gets discrete Gaussian noise. Contributions
are rounded toward zero and their norm is bounded from above, with the rounding of that bound in it, before they are
added; a bound that is passed scales the contribution down. So no rounding of floats enters the sensitivity. Sums are
taken in 64-bit integers; where they overflowed they would wrap around, which is a function of the exact noisy sum, and
so costs accuracy only.
"""

import numpy as np
from randomgen import AESCounter

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.parallel import compile_loop, count_cores, parallel_map
from deniable.persons.budget import NOISE_STEPS, Budget
from deniable.persons.collection import UnitRows
from deniable.vectors.discrete_noise import sample_discrete_gaussian

_SHRINKAGE = 1 - 2.0**-20
"""Factor by which a contribution is scaled down again while the bound of its norm is not met."""


def add_noise(sums: IntArray, generator: AESCounter) -> IntArray:
    """Return integer sums, each coordinate with discrete Gaussian noise of parameter `NOISE_STEPS`."""
    noisy_sums: IntArray = sums + sample_discrete_gaussian(generator, NOISE_STEPS, sums.shape)
    return noisy_sums


def measure_histogram(
    budget: Budget,
    name: str,
    bins: IntArray,
    units: UnitRows,
    bin_count: int,
    generator: AESCounter,
    norm: float = 1.0,
) -> FloatArray:
    """Return a noisy histogram of rows (bin_count,), with noise of deviation s norm / B in rows.

    A row adds 1 to its bin; the counts of a unit whose l2 norm c is above ``norm`` are multiplied by norm / c, so that
    a person with many rows counts at most as one row does where the norm is 1.

    Args:
        budget: it holds the measurement.
        name: of the measurement.
        bins: (n,) the bin of each row; -1, or any other number outside, for a row that is in none.
        units: of the rows.
        bin_count: number of bins.
        generator: of the noise.
        norm: of the counts of a unit, at most; at least 1.
    """
    bound = budget.compute_norm_bound(name)
    sums, counts = np.zeros(bin_count, dtype=np.int64), np.zeros(bin_count)
    bins = np.asarray(bins, dtype=np.int64)
    _sum_histograms(bins, units.rows, units.offsets, (float(bound), norm * norm), sums, counts)
    return add_noise(sums, generator) / (bound / norm)


@compile_loop
def _sum_histograms(
    bins: IntArray,
    rows: IntArray,
    offsets: IntArray,
    bounds: tuple[float, float],
    sums: IntArray,
    counts: FloatArray,
) -> None:
    """Add the counts of every unit to ``sums``, scaled to at most B; ``counts`` is scratch, zero before and after.

    ``bounds`` are B and the square of the norm that becomes B.
    """
    bound, squared_limit = bounds
    for unit in range(len(offsets) - 1):
        for place in range(offsets[unit], offsets[unit + 1]):
            if 0 <= bins[rows[place]] < len(counts):
                counts[bins[rows[place]]] += 1
        squared_norm = 0.0
        for place in range(offsets[unit], offsets[unit + 1]):
            if 0 <= bins[rows[place]] < len(counts):
                squared_norm += counts[bins[rows[place]]]  # a bin with c rows is met c times: c * c in all
        # Exact below 2^53 rows; (1 - 2^-40) is more than the roundings of root, quotient and product.
        factor = bound / np.sqrt(max(squared_norm, squared_limit)) * (1 - 2.0**-40)
        for place in range(offsets[unit], offsets[unit + 1]):
            place_bin = bins[rows[place]]
            if 0 <= place_bin < len(counts) and counts[place_bin] > 0:
                sums[place_bin] += np.int64(counts[place_bin] * factor)
                counts[place_bin] = 0.0


class ResidualSums:
    """Sums over units of the clipped gradient of a linear classifier, integers of bounded norm.

    The descent direction of the cross-entropy of a row with features x (D,) and class y, at weights w (D, C), is the
    outer product of x with the residual A^T (e_y - softmax(A w^T x)), in the C = K - 1 contrasts A (K, C) of the
    classes; that of a unit is the sum over its rows, scaled down to the norm ``clip``.

    Args:
        offsets: (n + 1,) where the features of each row begin.
        columns: (nnz,) their numbers below D.
        values: (nnz,) their values.
        labels: (n,) classes; a row whose class is none of the K, such as -1, adds nothing.
        units: of the rows.
        contrasts: A (K, C), orthonormal columns.
    """

    def __init__(
        self,
        offsets: IntArray,
        columns: IntArray,
        values: FloatArray,
        labels: IntArray,
        units: UnitRows,
        contrasts: FloatArray,
    ) -> None:
        self._arrays = (offsets, columns, values, labels)
        self._units, self._contrasts = units, contrasts

    def sum_gradients(self, weights: FloatArray, clip: float, bound: int) -> IntArray:
        """Return (D, C) the sum of all units' contributions; the norm of each is at most ``bound``.

        Args:
            weights: w (D, C).
            clip: norm to which a unit's gradient is clipped; it becomes ``bound``.
            bound: B.
        """
        count = len(self._units)
        workers = count_cores()
        edges = [count * part // workers for part in range(workers + 1)]

        def sum_part(part: int) -> IntArray:
            sums = np.zeros(weights.shape, dtype=np.int64)
            offsets = self._units.offsets[edges[part] : edges[part + 1] + 1]
            _add_gradients(*self._arrays, self._units.rows, offsets, weights, self._contrasts, clip, float(bound), sums)
            return sums

        # Integers: neither the number of workers nor their order changes the sum.
        totals: IntArray = np.sum(parallel_map(sum_part, range(workers)), axis=0)
        return totals


@compile_loop
def _add_gradients(
    row_offsets: IntArray,
    columns: IntArray,
    values: FloatArray,
    labels: IntArray,
    rows: IntArray,
    unit_offsets: IntArray,
    weights: FloatArray,
    contrasts: FloatArray,
    clip: float,
    bound: float,
    sums: IntArray,
) -> None:
    """Add the integer contribution of every unit to ``sums`` (D, C).

    What a unit adds depends on its own rows and on ``weights`` alone, to the last bit: nothing is computed over several
    units at once.
    """
    dimensions, contrast_count = weights.shape
    gradient = np.empty((dimensions, contrast_count))
    last_unit = np.full(dimensions, -1, dtype=np.int64)  # whose gradient a row of ``gradient`` is
    touched = np.empty(dimensions, dtype=np.int64)
    scores, residual = np.empty(len(contrasts)), np.empty(contrast_count)
    for unit in range(len(unit_offsets) - 1):
        touched_count = 0
        for place in range(unit_offsets[unit], unit_offsets[unit + 1]):
            first, last = row_offsets[rows[place]], row_offsets[rows[place] + 1]
            label = labels[rows[place]]
            if not 0 <= label < len(scores):
                continue
            _compute_residual(columns[first:last], values[first:last], label, weights, contrasts, scores, residual)
            for entry in range(first, last):
                column = columns[entry]
                if last_unit[column] != unit:
                    last_unit[column] = unit
                    touched[touched_count] = column
                    touched_count += 1
                    gradient[column] = 0.0
                for contrast in range(contrast_count):
                    gradient[column, contrast] += values[entry] * residual[contrast]
        factor = find_factor(gradient, touched[:touched_count], clip, bound)
        if factor == 0:
            continue  # an infinite or NaN gradient times 0 is NaN, which as an integer is -2^63
        for column in touched[:touched_count]:
            for contrast in range(contrast_count):
                sums[column, contrast] += np.int64(np.trunc(gradient[column, contrast] * factor))


@compile_loop
def find_factor(gradient: FloatArray, touched: IntArray, clip: float, bound: float) -> float:
    """Return a factor for the rows ``touched`` of a gradient, which then, rounded toward zero, have norm <= ``bound``.

    0 for a gradient that is 0 or not finite, as weights that overflowed make it.
    """
    contrast_count = gradient.shape[1]
    squared_norm = 0.0
    for column in touched:
        for contrast in range(contrast_count):
            squared_norm += gradient[column, contrast] ** 2
    if not 0 < squared_norm < np.inf:
        return 0.0
    factor: float = bound / max(np.sqrt(squared_norm), clip)
    slack = 1 + (len(touched) * contrast_count + 4) * 2.0**-52
    while True:
        # Below 2^53 the rounded product is an integer after trunc, so only squares and sums round: each by 2^-53 of
        # a result, none of which is negative; the last factor is for the product of the bound.
        squared_sum = 0.0
        for column in touched:
            for contrast in range(contrast_count):
                squared_sum += np.trunc(gradient[column, contrast] * factor) ** 2
        if squared_sum * slack <= bound * bound * (1 - 2.0**-50):
            return factor
        factor *= _SHRINKAGE


@compile_loop
def _compute_residual(
    columns: IntArray,
    values: FloatArray,
    label: int,
    weights: FloatArray,
    contrasts: FloatArray,
    scores: FloatArray,
    residual: FloatArray,
) -> None:
    """Write the residual of one row in contrasts (C,) into ``residual``; ``scores`` (K,) is scratch."""
    residual[:] = 0.0
    for entry in range(len(columns)):
        for contrast in range(len(residual)):
            residual[contrast] += values[entry] * weights[columns[entry], contrast]
    highest = -np.inf
    for number in range(len(scores)):
        scores[number] = 0.0
        for contrast in range(len(residual)):
            scores[number] += contrasts[number, contrast] * residual[contrast]
        highest = max(highest, scores[number])
    total = 0.0
    for number in range(len(scores)):
        scores[number] = np.exp(scores[number] - highest)
        total += scores[number]
    for contrast in range(len(residual)):
        residual[contrast] = 0.0
        for number in range(len(scores)):
            target = 1.0 if number == label else 0.0
            residual[contrast] += contrasts[number, contrast] * (target - scores[number] / total)
