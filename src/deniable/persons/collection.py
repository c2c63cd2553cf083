"""The private records of a release, and the units that the guarantee hides."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from deniable.core.arrays import IntArray
from deniable.core.errors import InputError, check_count
from deniable.core.guarantees import Unit
from deniable.text.columns import require_identities

RECORD: Unit = "record"
PERSON: Unit = "person"


@dataclasses.dataclass(frozen=True)
class UnitRows:
    """Which rows belong to which unit: unit u has the rows ``rows[offsets[u] : offsets[u + 1]]``.

    Attributes:
        unit: ``record`` or ``person``.
        rows: (n,) row numbers.
        offsets: (m + 1,) where the rows of each unit begin.
    """

    unit: Unit
    rows: IntArray
    offsets: IntArray

    def __len__(self) -> int:
        """Return m, the number of units; it is private."""
        return len(self.offsets) - 1


def group_rows(count: int, persons: Sequence[Any] | None = None, maximum: int | None = None) -> UnitRows:
    """Return the units of some rows.

    Args:
        count: n, number of rows.
        persons: (n,) to whom each row belongs, by their identities, see `deniable.core.identity`; None where each row
            is a unit by itself.
        maximum: number of rows that count of each person, the first ones; None for all.

    Raises:
        InputError: there is not one person for each row, one is missing or is neither a text nor a whole number, or the
            maximum is below 1.
    """
    if persons is None:
        return UnitRows(RECORD, np.arange(count), np.arange(count + 1))
    if len(persons) != count:
        raise InputError(f"{count:,} rows need as many persons. Got {len(persons):,}: give one for each row.")
    identities = require_identities("Persons", persons)
    numbers: dict[str, int] = {}
    person_numbers = np.array([numbers.setdefault(person, len(numbers)) for person in identities], dtype=np.int64)
    rows = np.argsort(person_numbers, kind="stable")
    row_counts = np.bincount(person_numbers, minlength=len(numbers))
    if maximum is not None:
        check_count("the persons", "maximum", maximum)
        first_places = np.repeat(np.cumsum(row_counts) - row_counts, row_counts)
        rows = rows[np.arange(count) - first_places < maximum]
        row_counts = np.minimum(row_counts, maximum)
    return UnitRows(PERSON, rows, np.concatenate([[0], np.cumsum(row_counts)]))
