"""Two data sets that differ in one record."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Final

ABSENT: Final = object()
"""Stands for no record in the place of the canary."""


@dataclasses.dataclass(frozen=True)
class NeighbourPair:
    """A data set with a canary, and the same without it.

    Attributes:
        records: what both have, in order.
        canary: the last record of one of them.
        other: the record in its place in the other one; `ABSENT` where there is none.
    """

    records: Sequence[Any]
    canary: Any
    other: Any = ABSENT

    @property
    def with_canary(self) -> list[Any]:
        """D'."""
        return [*self.records, self.canary]

    @property
    def without_canary(self) -> list[Any]:
        """D."""
        return [*self.records] if self.is_removal else [*self.records, self.other]

    @property
    def is_removal(self) -> bool:
        """Whether they differ by a record that is added or removed, and not by one that is replaced."""
        return self.other is ABSENT
