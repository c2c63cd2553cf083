"""Rows of a table and their texts, column by column, as Arrow holds them: what is released together.

A column of texts is a `pa.LargeStringArray` with nulls. Lone surrogates, which only Python and JSON have, stand in it
as three bytes each; no file that is read in Arrow's memory has any.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from deniable.core.arrays import BoolArray, IntArray
from deniable.text.encoded import EncodedTexts
from deniable.text.tables.layout import NewCells, batch_records


@dataclasses.dataclass(frozen=True)
class TextRows:
    """R rows of a table.

    Attributes:
        columns: the R texts of each column.
        record_ids: their identities, if the table names any.
        persons: identities of whose they are, where that is read.
        numbers: of the rows in the table, from 0 on, once that is known.
    """

    columns: Mapping[str, pa.LargeStringArray]
    record_ids: Sequence[str | None] | None = None
    persons: Sequence[str | None] | None = None
    numbers: Sequence[int] | None = None

    def __len__(self) -> int:
        """Return R."""
        return len(next(iter(self.columns.values()), ()))

    def filter(self, is_selected: BoolArray) -> "TextRows":
        """Return some of the rows, in their order."""
        places = np.flatnonzero(is_selected).tolist()
        columns = {name: column.filter(pa.array(is_selected)) for name, column in self.columns.items()}
        return TextRows(columns, *(cells and [cells[place] for place in places] for cells in self._lists))

    @property
    def _lists(self) -> tuple[Any, Any, Any]:
        return self.record_ids, self.persons, self.numbers

    def split(self) -> Iterator["TextRows"]:
        """Yield the rows in parts of about `MAX_BATCH_CHARACTERS` bytes."""
        sizes = np.sum([measure_texts(column).clip(0) for column in self.columns.values()], axis=0)
        for window in batch_records(range(len(self)), lambda row: int(sizes[row])):
            part = slice(window[0], window[-1] + 1)
            columns = {name: column[part] for name, column in self.columns.items()}
            yield TextRows(columns, *(cells and cells[part] for cells in self._lists))


@dataclasses.dataclass(frozen=True)
class ReleasedRows:
    """What becomes of R rows, k of which are released.

    Attributes:
        columns: the k new texts of each column.
        is_released: (R,) which rows are released.
    """

    columns: Mapping[str, pa.ChunkedArray]
    is_released: BoolArray

    @classmethod
    def join(cls, parts: Sequence["ReleasedRows"]) -> "ReleasedRows":
        """Return what becomes of the rows of several parts, at least one."""
        columns = {name: pa.chunked_array([part.columns[name] for part in parts]) for name in parts[0].columns}
        return cls(columns, np.concatenate([part.is_released for part in parts]))


RowReleaser = Callable[[TextRows], ReleasedRows]
"""Maps rows to their new texts; null stays null."""
CellMaker = Callable[[TextRows], Sequence[NewCells]]
"""Maps rows to their new cells."""


def make_column(texts: Sequence[str | None]) -> pa.LargeStringArray:
    """Return texts as Arrow holds them."""
    try:
        return pa.array(texts, pa.large_string())
    except UnicodeEncodeError:
        encoded = [None if text is None else text.encode("utf-8", "surrogatepass") for text in texts]
        return pa.array(encoded, pa.large_binary()).view(pa.large_string())


def list_texts(column: pa.LargeStringArray) -> list[str | None]:
    """Return the texts of a column in a list."""
    try:
        texts: list[str | None] = column.to_pylist()
    except UnicodeDecodeError:
        encoded = column.cast(pa.large_binary()).to_pylist()
        return [None if data is None else data.decode("utf-8", "surrogatepass") for data in encoded]
    return texts


def measure_texts(column: pa.LargeStringArray) -> IntArray:
    """Return the lengths (R,) of texts in bytes; -1 for null."""
    lengths: IntArray = np.diff(EncodedTexts.of_arrow(column).offsets)
    if column.null_count:
        lengths[column.is_null().to_numpy(zero_copy_only=False)] = -1
    return lengths
