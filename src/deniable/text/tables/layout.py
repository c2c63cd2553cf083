"""What every table format shares: where the texts are, what is copied unchanged, and edits of a line."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal, TypeVar

from deniable.core.errors import InputError

MAX_BATCH_CHARACTERS = 4_000_000
"""Characters released together: about 700,000 words of prose, so that words share searches and memory is small."""
RECORD_OVERHEAD = 256
"""What a record counts beside its characters, so that many short ones do not fill the memory."""
_MAX_SHOWN_COLUMNS = 30
"""Names of columns that a message lists."""

RecordT = TypeVar("RecordT")
Quoting = Literal["standard", "none"]
NewColumns = Mapping[str, type[str] | type[float]]
"""Names of the columns that a table gets behind its own, and whether each holds texts or shares in [0, 1]."""
NewCells = tuple[str | float | None, ...]
"""What a row gets in the new columns, in their order; None for nothing."""
Edit = tuple[int, int, str]
"""Where a span of a line begins and ends, and what stands in its place."""


def batch_records(records: Iterable[RecordT], size: Callable[[RecordT], int]) -> Iterator[list[RecordT]]:
    """Yield the records in lists of at most `MAX_BATCH_CHARACTERS` characters, or of one record that has more."""
    batch: list[RecordT] = []
    characters = 0
    for record in records:
        count = size(record) + RECORD_OVERHEAD
        if batch and characters + count > MAX_BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
        batch.append(record)
        characters += count
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
        quoting: of csv and tsv: ``standard``, as RFC 4180 has it; ``none``, quotes are ordinary characters; None for
            standard, where quoted cells that no writer can have meant are refused.
        encoding: of everything but parquet.
        replace_empty: whether an empty cell is written anew like any other, so that it does not show; else it stays
            byte for byte.
        copied: names of the columns that the released table has beside texts and ids; None for all.
        person_column: name of the column that says whose record a row is, which is read for the owner alone; or None.
            Persons and record ids are read as identities, see `deniable.core.identity`.
        remarks: what its reader has to say to its owner alone.
    """

    name: str
    columns: Sequence[str] = ("text",)
    id_column: str | None = None
    delimiter: str = ","
    encoding: str = "utf-8"
    replace_empty: bool = False
    copied: Sequence[str] | None = None
    person_column: str | None = None
    quoting: Quoting | None = None
    remarks: list[str] = dataclasses.field(default_factory=list, compare=False, repr=False)

    @property
    def read_columns(self) -> list[str]:
        """Names of all columns that are read."""
        names = (*self.columns, self.id_column, self.person_column)
        return list(dict.fromkeys(name for name in names if name is not None))

    @property
    def is_selection(self) -> bool:
        """Whether columns of the private table are left out."""
        return self.copied is not None

    def is_dropped(self, column: str) -> bool:
        """Return whether a column is left out."""
        return self.copied is not None and column not in (*self.columns, self.id_column, *self.copied)

    def list_other_columns(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the columns that are copied unchanged."""
        return tuple(name for name in names if name not in self.columns and not self.is_dropped(name))

    def check_columns(self, names: Sequence[str], hint: str = "") -> None:
        """Raise `InputError` unless ``names`` has every column that is asked for, once.

        Args:
            names: of the columns of the table.
            hint: why one may be missing, for the message.
        """
        for column in self.read_columns:
            if column not in names:
                raise InputError(
                    f"{self.name} has no column {column!r}. Its columns: {format_column_names(names)}.{hint}"
                )
            if list(names).count(column) > 1:
                raise InputError(f"{self.name} has several columns called {column!r}: rename them.")
        self.check_selection(names)

    def check_selection(self, names: Iterable[str]) -> None:
        """Raise `InputError` where a column that is to be copied is not there."""
        known_names = list(dict.fromkeys(names))
        for column in self.copied or ():
            if column not in known_names:
                raise InputError(
                    f"{self.name} has no column {column!r} to copy. Its columns: {format_column_names(known_names)}."
                )

    def check_text_columns(self) -> None:
        """Raise `InputError` where a column is named for two things at odds, or would be released twice."""
        named = Counter([*self.columns, *{self.id_column, self.person_column, *(self.copied or ())}])
        for name in self.columns:
            if named[name] > 1:
                raise InputError(
                    f"The text column {name!r} of {self.name} is released, and cannot also hold ids or people, or be "
                    "copied: name it once."
                )

    def check_charged_columns(self) -> None:
        """Raise `InputError` where a ledger could not tell whose texts these are."""
        if self.person_column is None:
            raise InputError(
                f"A ledger counts what people spend, and {self.name} has no column of people: name it, with --person "
                "on the command line."
            )

    def require_ids(self, identities: Sequence[str | None]) -> list[str]:
        """Return the identities of records, or raise `InputError` where one names none."""
        ids = [identity for identity in identities if identity is not None]
        if len(ids) < len(identities):
            raise InputError(
                f"The id column {self.id_column!r} of {self.name} holds a null or a blank: give every row an id."
            )
        return ids


@dataclasses.dataclass(frozen=True)
class CopiedContent:
    """What a released table has unchanged from the private one.

    Attributes:
        columns: names of the other columns.
        metadata: names of what the file says about itself beside its columns.
        is_selection: whether columns of the private table were left out.
        texts: names of those of the columns that look like texts.
        identifiers: names of those of the others that look like identifiers.
    """

    columns: tuple[str, ...] = ()
    metadata: tuple[str, ...] = ()
    is_selection: bool = False
    texts: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()


def check_new_columns(table: str, names: Iterable[str], new_names: Iterable[str]) -> None:
    """Raise `InputError` where a column that is to be added to a table is there."""
    for column in {*names}.intersection(new_names):
        raise InputError(
            f"{table} already has a column {column!r}, which this command adds: rename it, or leave it out."
        )


def format_share(share: float) -> str:
    """Return a share as every table holds it: six digits behind the point."""
    return f"{share:.6f}"


def format_column_names(names: Sequence[str]) -> str:
    """Return the first of some names of columns, for messages."""
    return ", ".join(map(repr, names[:_MAX_SHOWN_COLUMNS])) + (", ..." if len(names) > _MAX_SHOWN_COLUMNS else "")


def find_cuts(parts: Sequence[tuple[int, int]], is_dropped: Sequence[bool]) -> list[Edit]:
    """Return the edits of a line by which some of its parts go, each with one delimiter.

    Args:
        parts: (k,) where each part begins and ends, in their order; between two stands a delimiter.
        is_dropped: (k,) which go; at least one stays.
    """
    first = list(is_dropped).index(False)
    cuts = [(parts[0][0], parts[first][0], "")] if first else []
    return cuts + [
        (parts[part - 1][1], parts[part][1], "") for part in range(first + 1, len(parts)) if is_dropped[part]
    ]


def apply_edits(line: str, edits: Iterable[Edit]) -> str:
    """Return a line with spans replaced that do not overlap; every other character is kept."""
    pieces: list[str] = []
    position = 0
    for start, end, replacement in sorted(edits):
        pieces += (line[position:start], replacement)
        position = end
    return "".join((*pieces, line[position:]))
