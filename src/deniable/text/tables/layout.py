"""What every table format shares: where the texts are, how rows are released, and what is copied unchanged."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from deniable.core.errors import InputError

MAX_BATCH_CHARACTERS = 50_000_000
"""Characters released together: about 8 million words of prose, so that rows are shared widely."""
RECORD_OVERHEAD = 256
"""What a record counts beside its characters, so that many short ones do not fill the memory."""


RecordT = TypeVar("RecordT")


def batch_records(records: Iterable[RecordT], size: Callable[[RecordT], int]) -> Iterator[list[RecordT]]:
    """Yield the records in lists of about `MAX_BATCH_CHARACTERS` characters, the last one shorter."""
    batch: list[RecordT] = []
    characters = 0
    for record in records:
        batch.append(record)
        characters += size(record) + RECORD_OVERHEAD
        if characters > MAX_BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


@dataclasses.dataclass(frozen=True)
class TableLayout:
    """Where the texts of a table stand.

    Attributes:
        name: the file, for messages.
        columns: names of the text columns.
        id_column: name of the column of record ids, or None.
        delimiter: of csv and tsv.
        encoding: of everything but parquet.
        replace_empty: whether an empty cell is written anew like any other, so that it does not show; else it stays
            byte for byte.
    """

    name: str
    columns: Sequence[str] = ("text",)
    id_column: str | None = None
    delimiter: str = ","
    encoding: str = "utf-8"
    replace_empty: bool = False

    def check_columns(self, names: Sequence[str]) -> None:
        """Raise `InputError` unless ``names`` has every column that is asked for, once."""
        for column in [*self.columns, *([self.id_column] if self.id_column is not None else [])]:
            if column not in names:
                listed_columns = ", ".join(repr(name) for name in names[:30]) + (", ..." if len(names) > 30 else "")  # noqa: PLR2004
                raise InputError(f"{self.name} has no column {column!r}. Its columns: {listed_columns}.")
            if list(names).count(column) > 1:
                raise InputError(f"{self.name} has several columns called {column!r}: rename them.")

    def check_text_columns(self) -> None:
        """Raise `InputError` where a column would be released twice, or its texts pass for public ids."""
        for column in self.columns:
            if list(self.columns).count(column) > 1:
                raise InputError(f"The text column {column!r} of {self.name} is named twice: name it once.")
            if column == self.id_column:
                raise InputError(
                    f"The column {column!r} of {self.name} cannot hold both texts and record ids: ids are public, and "
                    "pass unchanged."
                )

    def list_other_columns(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the columns that hold no text to release."""
        return tuple(name for name in names if name not in self.columns)


@dataclasses.dataclass(frozen=True, slots=True)
class TextRow:
    """One record: its id, if the table names one, and its texts with their columns."""

    record_id: str | None
    cells: list[tuple[str, str | None]]


RowReleaser = Callable[[list[TextRow]], list[list[str | None]]]
"""Maps rows to their new texts, cell for cell; None stays None."""


@dataclasses.dataclass(frozen=True)
class CopiedContent:
    """What a released table has unchanged from the private one.

    Attributes:
        columns: names of the other columns.
        metadata: names of what the file says about itself beside its columns.
    """

    columns: tuple[str, ...] = ()
    metadata: tuple[str, ...] = ()
