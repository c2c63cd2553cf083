"""What an engine gives back: the private table, its counts, and from both the certificate."""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, Generic, TypeVar

from deniable.text.batches import Tally
from deniable.text.certificate import Certificate
from deniable.text.release import Release
from deniable.text.tables.copied_columns import CopiedColumns
from deniable.text.tables.layout import CopiedContent, TableLayout

TableT = TypeVar("TableT")


@dataclasses.dataclass(frozen=True, eq=False)
class ReleasedTable(Generic[TableT]):
    """A table whose texts were privatized, and its counts.

    Attributes:
        table: the private table, of the host's own class.
        tally: counts, of which the certificate uses those that the texts show; the others are for the owner only.
        release: how the texts were released.
        copied: names of the columns that the table has unchanged from the private one.
        content: the same, with which of them look like texts or identifiers; None where that was not looked at.
    """

    table: TableT
    tally: Tally
    release: Release
    copied: tuple[str, ...]
    content: CopiedContent | None = None

    def make_certificate(self, **options: Any) -> Certificate:  # noqa: ANN401 - those of `Certificate.of`
        """Return the certificate that accompanies the table, which names the columns that were copied.

        Args:
            **options: ``chosen_from_data`` and ``prior``, see `Certificate.of`.
        """
        copied = self.copied if self.content is None else self.content
        return Certificate.of(self.release, self.tally, copied=copied, **options)


def describe_copied(
    layout: TableLayout, columns: Iterable[str], *heads: Sequence[tuple[str, Sequence[object]]]
) -> CopiedContent:
    """Return what a host's table copies.

    Args:
        layout: where its texts and ids stand.
        columns: that are copied.
        heads: name and cells of each column in the first rows of the released table, or of each of its parts.
    """
    copied = CopiedColumns(layout)
    copied.names += columns
    for head in heads:
        copied.add_head(head)
    return dataclasses.replace(copied.describe(), columns=tuple(copied.names))
