"""Noisy histograms of one release: the number of units, classes, lengths of texts, and other columns by class."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from randomgen import AESCounter

from deniable.core.arrays import FloatArray, IntArray
from deniable.persons.budget import Budget, Measurement
from deniable.persons.collection import Collection, UnitRows, group_rows
from deniable.persons.noisy_sums import measure_histogram
from deniable.persons.options import SynthesisOptions
from deniable.text.tokens import split_tokens

COUNT_MEASUREMENT, CLASS_MEASUREMENT, LENGTH_MEASUREMENT = "number of units", "classes", "lengths"
LENGTH_EDGES: IntArray = np.unique(np.rint(2 ** (np.arange(0, 53) / 4)).astype(np.int64))
"""Public edges of the bins of lengths, in tokens: four bins for each doubling, up to 8,192 tokens."""
_HISTOGRAM_WEIGHT = 0.02
"""Weight of a histogram beside 1 for the classifier."""
_COUNT_WEIGHT = 0.01
"""Weight of the measured number of units beside 1 for everything else."""


def name_column(name: str) -> str:
    """Return the name of the measurement of a further column."""
    return f"column {name!r}"


def plan_histograms(class_count: int, domains: Mapping[str, Sequence[Any]]) -> tuple[Measurement, ...]:
    """Return the measurements of classes, lengths, and each further column by class."""
    return (
        Measurement(CLASS_MEASUREMENT, _HISTOGRAM_WEIGHT, class_count),
        Measurement(LENGTH_MEASUREMENT, _HISTOGRAM_WEIGHT, len(LENGTH_EDGES) - 1),
        *(
            Measurement(name_column(name), _HISTOGRAM_WEIGHT, class_count * len(values))
            for name, values in domains.items()
        ),
    )


def find_length_bins(texts: Sequence[str]) -> IntArray:
    """Return (n,) the bin of `LENGTH_EDGES` that each text is in; shorter and longer ones are in the first and last."""
    lengths = np.array([len(split_tokens(text)) for text in texts], dtype=np.int64)
    return np.clip(np.searchsorted(LENGTH_EDGES, lengths, side="right") - 1, 0, len(LENGTH_EDGES) - 2)


def measure_shares(
    budget: Budget, collection: Collection, units: UnitRows, options: SynthesisOptions, generator: AESCounter
) -> tuple[FloatArray, FloatArray, dict[str, FloatArray]]:
    """Return the noisy shares of the classes (K,), of texts in the bins of `LENGTH_EDGES` (L,), and of columns (K, V).

    Those of a column are of its values among the records of each class; a record whose value is not of the domain
    counts nowhere.
    """
    classes = len(options.classes)

    def measure(name: str, bins: IntArray, count: int) -> FloatArray:
        return measure_histogram(budget, name, bins, units, count, generator)

    class_shares = normalize_shares(measure(CLASS_MEASUREMENT, collection.labels, classes))
    length_bins = find_length_bins(collection.texts)
    length_shares = normalize_shares(measure(LENGTH_MEASUREMENT, length_bins, len(LENGTH_EDGES) - 1))
    column_shares = {}
    for name, values in options.domains.items():
        numbers, size = {str(value): number for number, value in enumerate(values)}, len(values)
        cells = [-1 if cell is None else numbers.get(cell.strip(), -1) for cell in collection.columns[name]]
        codes = np.array(cells, dtype=np.int64)
        bins = np.where(codes >= 0, collection.labels * size + codes, -1)
        counts = measure(name_column(name), bins, classes * size).reshape(classes, size)
        column_shares[name] = np.stack([normalize_shares(row) for row in counts])
    return class_shares, length_shares, column_shares


def normalize_shares(counts: FloatArray) -> FloatArray:
    """Return noisy counts c (n,) as shares; where their sum S is not positive, all are equal.

    The counts become the nearest ones that are not negative and have the same sum::

        max(c_i - t, 0) / S,   with t such that these are shares

    Cutting negative counts off at 0 instead would leave the positive noise in every empty bin, and so far too many long
    texts where there are few records.
    """
    total = counts.sum()
    if total <= 0:
        return np.full(len(counts), 1 / len(counts))
    descending = np.sort(counts)[::-1]
    excesses = (np.cumsum(descending) - total) / np.arange(1, len(counts) + 1)
    threshold = excesses[np.flatnonzero(descending > excesses)[-1]]
    positive = np.maximum(counts - threshold, 0.0)
    shares: FloatArray = positive / positive.sum()
    return shares


def plan_count_measurement(declared: int | None) -> tuple[Measurement, ...]:
    """Return the measurement of the number of units; none where it is declared."""
    return () if declared is not None else (Measurement(COUNT_MEASUREMENT, _COUNT_WEIGHT, 1),)


def find_nominal_count(declared: int | None, budget: Budget, units: UnitRows, generator: AESCounter) -> int:
    """Return a public number of units: the declared one, or the true one with noise, at least 1.

    The true number is private, since one record more or less changes it; everything that would depend on it depends on
    the nominal number instead.

    Args:
        declared: None to measure it, for which the budget holds the measurement.
        budget: of the release.
        units: private.
        generator: of the noise.
    """
    if declared is not None:
        return declared
    bins = np.zeros(len(units), dtype=np.int64)
    noisy_count = measure_histogram(budget, COUNT_MEASUREMENT, bins, group_rows(len(units)), 1, generator)[0]
    return max(1, round(float(noisy_count)))
