"""The nominal number of units: what everything that depends on the size of a collection depends on instead.

The true number is private: one record more or less changes it. So it is declared, or measured with noise.
"""

import dataclasses
from typing import Literal

import numpy as np
from randomgen import AESCounter

from deniable.core.errors import check_count
from deniable.persons.budget import Budget, Measurement
from deniable.persons.collection import UnitRows, group_rows
from deniable.persons.noisy_sums import measure_histogram

COUNT_MEASUREMENT = "number of units"
_COUNT_WEIGHT = 0.01
"""Weight of the measured number beside 1 for everything else."""
CountSource = Literal["declared", "measured with noise"]


@dataclasses.dataclass(frozen=True)
class NominalCount:
    """A public number of units.

    Attributes:
        value: >= 1.
        source: where it comes from.
    """

    value: int
    source: CountSource


def plan_count_measurement(declared: int | None) -> tuple[Measurement, ...]:
    """Return the measurement of the number of units; none where it is declared."""
    return () if declared is not None else (Measurement(COUNT_MEASUREMENT, _COUNT_WEIGHT, 1),)


def find_nominal_count(declared: int | None, budget: Budget, units: UnitRows, generator: AESCounter) -> NominalCount:
    """Return the declared number of units, or the true one with noise, at least 1.

    Args:
        declared: None to measure it, for which the budget holds the measurement.
        budget: of the release.
        units: private.
        generator: of the noise.

    Raises:
        InputError: the declared number is no integer of at least 1.
    """
    if declared is not None:
        return NominalCount(check_count("the release", "records", declared), "declared")
    each_unit = group_rows(len(units))
    noisy_count = measure_histogram(
        budget, COUNT_MEASUREMENT, np.zeros(len(units), dtype=np.int64), each_unit, 1, generator
    )[0]
    return NominalCount(max(1, round(float(noisy_count))), "measured with noise")
