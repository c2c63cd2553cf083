r"""How often the words of a public vocabulary occur in each class: one noisy sum.

A record of class y with m different words of the vocabulary adds 1 / sqrt(m) at each of them, in column y, so that its
contribution has l2 norm 1; that of a person is the sum of its records', scaled down to norm 1 where it is longer. Scaled
by the bound B of the budget and rounded toward zero it is an integer vector of norm at most B, which is checked before it
is added. The sum with discrete Gaussian noise of parameter s is therefore a measurement as `Budget` composes them.
"""

import numpy as np
from randomgen import AESCounter

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.parallel import compile_loop
from deniable.persons.budget import NOISE_STEPS, Budget
from deniable.persons.collection import UnitRows
from deniable.persons.features import FeatureRows
from deniable.persons.noisy_sums import add_noise

_SHRINKAGE = 1 - 2.0**-20
"""Factor by which a contribution is scaled down again while the bound of its norm is not met."""
_LARGEST_DECREASE = 0.95
"""A class is never taken to lower the frequency of a word by more than this share."""


def measure_class_words(
    budget: Budget,
    name: str,
    features: FeatureRows,
    word_count: int,
    labels: IntArray,
    class_count: int,
    units: UnitRows,
    generator: AESCounter,
) -> FloatArray:
    """Return noisy sums (V, K) of the scaled words of all records, with noise of deviation s / B on each.

    Args:
        budget: it holds the measurement, of V K coordinates.
        name: of the measurement.
        features: of the n records; feature 1 + w says whether word w occurs, see `FeatureMap`.
        word_count: V.
        labels: (n,) classes; -1 for a record that has none, which adds nothing.
        class_count: K.
        units: of the records.
        generator: of the noise.
    """
    bound = budget.compute_norm_bound(name)
    sums = np.zeros((word_count, class_count), dtype=np.int64)
    _add_class_words(
        features.offsets, features.columns, labels.astype(np.int64), units.rows, units.offsets, float(bound), sums
    )
    return add_noise(sums, generator) / bound


def compute_log_weights(sums: FloatArray, deviation: float, class_shares: FloatArray) -> FloatArray:
    r"""Return (V, K) by how much each class raises the logarithm of a word's frequency; rows sum to 0.

    With q_k = sums_k / share_k, their mean q over the classes, and d_k = (q_k - q) / q, of which noise alone makes the
    variance s_k^2, the relative differences are shrunk as in empirical Bayes estimation (Efron and Morris 1973)::

        v_k = ln(1 + d_k c) - mean over the classes,   c = sum d_k^2 / (sum d_k^2 + sum s_k^2)

    So a word whose sums are lost in the noise hardly tilts anything.

    Args:
        sums: (V, K) noisy.
        deviation: of the noise on each.
        class_shares: (K,) estimated shares of the classes.
    """
    classes = len(class_shares)
    shares = np.maximum(class_shares, 1e-3)
    variances = (deviation / shares) ** 2
    rates = sums / shares
    means = rates.mean(axis=1, keepdims=True)
    # Where the mean itself is noise it is taken as two deviations of a sum, so that no quotient is large by chance.
    scales = np.maximum(means, np.sqrt(2 * variances.sum()) / classes)
    differences = np.clip((rates - means) / scales, -_LARGEST_DECREASE, classes - 2 + _LARGEST_DECREASE)
    signal = (differences**2).sum(axis=1, keepdims=True)
    noise = variances.sum() * (1 - 1 / classes) / scales**2
    logs = np.log1p(differences * signal / (signal + noise))
    centred: FloatArray = logs - logs.mean(axis=1, keepdims=True)
    return centred


def compute_class_word_noise(budget: Budget, name: str) -> float:
    """Return s / B, the deviation of the noise on each sum of `measure_class_words`."""
    return NOISE_STEPS / budget.compute_norm_bound(name)


@compile_loop
def _add_class_words(
    row_offsets: IntArray,
    columns: IntArray,
    labels: IntArray,
    rows: IntArray,
    unit_offsets: IntArray,
    bound: float,
    sums: IntArray,
) -> None:
    """Add the integer contribution of every unit to ``sums`` (V, K); it depends on the unit's own rows alone."""
    word_count, class_count = sums.shape
    values = np.zeros(word_count * class_count)
    touched = np.empty(word_count * class_count, dtype=np.int64)
    flat_sums = sums.reshape(-1)
    squared_bound = bound * bound * (1 - 2.0**-50)
    for unit in range(len(unit_offsets) - 1):
        touched_count = 0
        for place in range(unit_offsets[unit], unit_offsets[unit + 1]):
            row = rows[place]
            words = 0
            for entry in range(row_offsets[row], row_offsets[row + 1]):
                words += 1 <= columns[entry] <= word_count
            if labels[row] < 0:
                continue
            for entry in range(row_offsets[row], row_offsets[row + 1]):
                if 1 <= columns[entry] <= word_count:
                    coordinate = (columns[entry] - 1) * class_count + labels[row]
                    if values[coordinate] == 0.0:
                        touched[touched_count] = coordinate
                        touched_count += 1
                    values[coordinate] += 1 / np.sqrt(words)
        squared_norm = 0.0
        for number in range(touched_count):
            squared_norm += values[touched[number]] ** 2
        factor = bound / max(np.sqrt(squared_norm), 1.0)
        while True:
            # The rounded products are integers, so only squares and sums round: each by 2^-53 of a result,
            # none of which is negative.
            squared_sum = 0.0
            for number in range(touched_count):
                squared_sum += np.trunc(values[touched[number]] * factor) ** 2
            if squared_sum * (1 + (touched_count + 4) * 2.0**-52) <= squared_bound:
                break
            factor *= _SHRINKAGE
        for number in range(touched_count):
            flat_sums[touched[number]] += np.int64(np.trunc(values[touched[number]] * factor))
            values[touched[number]] = 0.0
