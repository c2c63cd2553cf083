"""What an engine gives back: the private table, its counts, and from both the certificate."""

import dataclasses
from typing import Any, Generic, TypeVar

from deniable.text.batches import Tally
from deniable.text.certificate import Certificate
from deniable.text.release import Release

TableT = TypeVar("TableT")


@dataclasses.dataclass(frozen=True, eq=False)
class ReleasedTable(Generic[TableT]):
    """A table whose texts were privatized, and its counts.

    Attributes:
        table: the private table, of the host's own class.
        tally: counts, of which the certificate uses those that the texts show; the others are for the owner only.
        release: how the texts were released.
        copied: names of the columns that the table has unchanged from the private one.
    """

    table: TableT
    tally: Tally
    release: Release
    copied: tuple[str, ...]

    def make_certificate(self, **options: Any) -> Certificate:  # noqa: ANN401 - those of `Certificate.of`
        """Return the certificate that accompanies the table, which names the columns that were copied.

        Args:
            **options: ``chosen_from_data`` and ``prior``, see `Certificate.of`.
        """
        return Certificate.of(self.release, self.tally, copied=self.copied, **options)
