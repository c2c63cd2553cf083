"""Rows of a table and their texts, column by column: what is released together."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Union

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deniable.core.arrays import BoolArray, IntArray
from deniable.text.encoded import EncodedTexts, Texts, list_texts

RowColumn = Union[list[str | None], pa.LargeStringArray]  # noqa: UP007 - Arrow's classes know no |
"""One text of each row, or null: in a list, or as Arrow holds them, in valid UTF-8."""


@dataclasses.dataclass(frozen=True, slots=True)
class TextRow:
    """One record: its id, if the table names one, its texts with their columns, and whose it is, where that is read.

    Record and person are identities, see `deniable.core.identity`.
    """

    record_id: str | None
    cells: list[tuple[str, str | None]]
    person: str | None = None


@dataclasses.dataclass(frozen=True)
class TextRows:
    """R rows of a table.

    Attributes:
        count: R.
        columns: the R texts of each column.
        record_ids: their identities, if the table names any.
        persons: identities of whose they are, where that is read.
    """

    count: int
    columns: Mapping[str, RowColumn]
    record_ids: Sequence[str | None] | None = None
    persons: Sequence[str | None] | None = None

    @classmethod
    def of(cls, rows: Sequence[TextRow]) -> "TextRows":
        """Return rows, each of which has the same columns once."""
        names = [name for name, _ in rows[0].cells] if rows else []
        cells = [dict(row.cells) for row in rows]
        return cls(
            len(rows),
            {name: [texts[name] for texts in cells] for name in names},
            [row.record_id for row in rows],
            [row.person for row in rows],
        )

    def __len__(self) -> int:
        """Return R."""
        return self.count

    def __iter__(self) -> Iterator[TextRow]:
        """Yield the rows one by one."""
        nulls = [None] * self.count
        columns = [list_column(column) for column in self.columns.values()]
        for number, record_id, person in zip(
            range(self.count), self.record_ids or nulls, self.persons or nulls, strict=True
        ):
            cells = [(name, column[number]) for name, column in zip(self.columns, columns, strict=True)]
            yield TextRow(record_id, cells, person)

    def filter(self, is_selected: BoolArray) -> "TextRows":
        """Return some of the rows, in their order."""
        places = np.flatnonzero(is_selected).tolist()
        lists = (self.record_ids, self.persons)
        record_ids, persons = (None if column is None else [column[place] for place in places] for column in lists)
        return TextRows(
            len(places),
            {name: filter_column(column, is_selected) for name, column in self.columns.items()},
            record_ids,
            persons,
        )

    def select(self, first: int, last: int) -> "TextRows":
        """Return the rows from one to before another."""
        return TextRows(
            last - first,
            {name: column[first:last] for name, column in self.columns.items()},
            None if self.record_ids is None else self.record_ids[first:last],
            None if self.persons is None else self.persons[first:last],
        )


NewTexts = Mapping[str, RowColumn]
"""The new texts of rows, for each column."""


@dataclasses.dataclass(frozen=True)
class ReleasedRows:
    """What becomes of R rows, k of which are released.

    Attributes:
        columns: the k new texts of each column.
        is_released: (R,) which rows are released; None for all.
    """

    columns: NewTexts
    is_released: BoolArray | None = None

    def list_released(self, count: int) -> list[bool]:
        """Return for each of so many rows whether it is released."""
        if self.is_released is None:
            return [True] * count
        released: list[bool] = self.is_released.tolist()
        return released


RowReleaser = Callable[[TextRows], ReleasedRows]
"""Maps rows to their new texts; null stays null."""


def list_column(column: RowColumn) -> list[str | None]:
    """Return the texts of a column in a list."""
    if isinstance(column, list):
        return column
    texts: list[str | None] = column.to_pylist()
    return texts


def filter_column(column: RowColumn, is_selected: BoolArray) -> RowColumn:
    """Return some texts of a column, null or not."""
    if isinstance(column, list):
        return [text for text, is_one in zip(column, is_selected.tolist(), strict=True) if is_one]
    return column.filter(pa.array(is_selected))


def measure_texts(column: RowColumn) -> IntArray:
    """Return the lengths (R,) of texts, in characters or in bytes; -1 for null."""
    if isinstance(column, list):
        return np.array([-1 if text is None else len(text) for text in column], dtype=np.int64)
    lengths: IntArray = pc.fill_null(pc.binary_length(column), -1).to_numpy(zero_copy_only=False)
    return lengths


def select_texts(column: RowColumn, is_selected: BoolArray) -> Texts:
    """Return some texts (k,) of a column, none of them null."""
    if isinstance(column, list):
        return [text for text, is_one in zip(column, is_selected.tolist(), strict=True) if is_one and text is not None]
    return EncodedTexts.of_arrow(column if is_selected.all() else column.filter(pa.array(is_selected)))


def replace_texts(column: RowColumn, is_selected: BoolArray, new_texts: Texts) -> RowColumn:
    """Return a column with new texts (k,) in place of those that were selected."""
    if isinstance(column, list):
        remaining = iter(list_texts(new_texts))
        return [next(remaining) if is_one else text for text, is_one in zip(column, is_selected.tolist(), strict=True)]
    new_column = (
        new_texts.to_arrow() if isinstance(new_texts, EncodedTexts) else pa.array(new_texts, type=pa.large_string())
    )
    return new_column if is_selected.all() else pc.replace_with_mask(column, pa.array(is_selected), new_column)
