"""Noisy histograms of one release: classes, lengths of texts, and other columns by class."""

import dataclasses
import re
from collections.abc import Sequence

import numpy as np
from randomgen import AESCounter

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.errors import InputError
from deniable.persons.budget import Budget, Measurement
from deniable.persons.collection import UnitRows
from deniable.persons.noisy_sums import measure_histogram
from deniable.persons.value_lists import parse_distinct_names
from deniable.text.tokens import split_tokens

CLASS_MEASUREMENT, LENGTH_MEASUREMENT = "classes", "lengths"
LENGTH_EDGES: IntArray = np.unique(np.rint(2 ** (np.arange(0, 53) / 4)).astype(np.int64))
"""Public edges of the bins of lengths, in tokens: four bins for each doubling, up to 8,192 tokens."""
_HISTOGRAM_WEIGHT = 0.02
"""Weight of a histogram beside 1 for the classifier."""
_MAX_VALUES = 10_000
_RANGE = re.compile(r"(-?\d{1,9})\.\.(-?\d{1,9})")


@dataclasses.dataclass(frozen=True)
class ColumnDomain:
    """A column and its public values.

    Attributes:
        name: of the column.
        values: all values that it can have, as texts.
        is_integer: whether all of them are whole numbers.

    Raises:
        InputError: there are fewer than two values, equal ones, or too many.
    """

    name: str
    values: tuple[str, ...]
    is_integer: bool = False

    def __post_init__(self) -> None:
        if not 1 < len({*self.values}) == len(self.values) <= _MAX_VALUES:
            raise InputError(
                f"The domain of {self.name!r} must be 2 to {_MAX_VALUES:,} different values. Got {len(self.values):,}, "
                f"{len({*self.values}):,} of them different: list each value once."
            )

    @property
    def measurement(self) -> str:
        """Name of its measurement."""
        return f"column {self.name!r}"

    def take_values(self, numbers: IntArray) -> list[str] | list[int]:
        """Return values by their numbers, as integers where all of the domain are."""
        values = [self.values[number] for number in numbers.tolist()]
        return list(map(int, values)) if self.is_integer else values


def parse_domain(text: str) -> ColumnDomain:
    """Return the domain that ``NAME=LOW..HIGH`` or ``NAME=A,B,...`` declares; a value with a comma stands in quotes.

    Raises:
        InputError: it is written in another way, or a value is empty or stands there twice.
    """
    name, separator, values = text.partition("=")
    if not name or not separator or not values:
        raise InputError(f"A domain is declared as NAME=LOW..HIGH or NAME=A,B,... Got {text!r}: name all its values.")
    span = _RANGE.fullmatch(values.strip())
    if span is None:
        return ColumnDomain(name, parse_distinct_names(f"The domain of {name!r}", values))
    low, high = int(span[1]), int(span[2])
    if low >= high:
        raise InputError(f"A domain goes from a lower to a higher number. Got {text!r}: write it as LOW..HIGH.")
    if high - low >= _MAX_VALUES:
        raise InputError(f"The domain of {name!r} has more than {_MAX_VALUES:,} values. Got {values}: take fewer.")
    return ColumnDomain(name, tuple(map(str, range(low, high + 1))), is_integer=True)


def plan_histograms(class_count: int, domains: Sequence[ColumnDomain]) -> tuple[Measurement, ...]:
    """Return the measurements of classes, lengths, and each further column by class."""
    return (
        Measurement(CLASS_MEASUREMENT, _HISTOGRAM_WEIGHT, class_count),
        Measurement(LENGTH_MEASUREMENT, _HISTOGRAM_WEIGHT, len(LENGTH_EDGES) - 1),
        *(Measurement(domain.measurement, _HISTOGRAM_WEIGHT, class_count * len(domain.values)) for domain in domains),
    )


def measure_class_shares(
    budget: Budget, labels: IntArray, units: UnitRows, class_count: int, generator: AESCounter
) -> FloatArray:
    """Return (K,) the noisy shares of the classes."""
    return normalize_shares(measure_histogram(budget, CLASS_MEASUREMENT, labels, units, class_count, generator))


def find_length_bins(texts: Sequence[str]) -> IntArray:
    """Return (n,) the bin of `LENGTH_EDGES` that each text is in; shorter and longer ones are in the first and last."""
    lengths = np.array([len(split_tokens(text)) for text in texts], dtype=np.int64)
    return np.clip(np.searchsorted(LENGTH_EDGES, lengths, side="right") - 1, 0, len(LENGTH_EDGES) - 2)


def measure_length_shares(budget: Budget, texts: Sequence[str], units: UnitRows, generator: AESCounter) -> FloatArray:
    """Return (L,) the noisy shares of texts in the bins of `LENGTH_EDGES`."""
    bins, bin_count = find_length_bins(texts), len(LENGTH_EDGES) - 1
    return normalize_shares(measure_histogram(budget, LENGTH_MEASUREMENT, bins, units, bin_count, generator))


def measure_column_shares(
    budget: Budget,
    domain: ColumnDomain,
    cells: Sequence[str | None],
    labels: IntArray,
    units: UnitRows,
    class_count: int,
    generator: AESCounter,
) -> FloatArray:
    """Return (K, V) the noisy shares of a column's values among the records of each class.

    A record whose value is not of the domain counts nowhere.
    """
    numbers = {value: number for number, value in enumerate(domain.values)}
    codes = np.array([-1 if cell is None else numbers.get(cell.strip(), -1) for cell in cells], dtype=np.int64)
    value_count = len(domain.values)
    bins = np.where(codes >= 0, labels * value_count + codes, -1)
    counts = measure_histogram(budget, domain.measurement, bins, units, class_count * value_count, generator)
    return np.stack([normalize_shares(row) for row in counts.reshape(class_count, value_count)])


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
