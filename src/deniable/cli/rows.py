"""The rows of a table that commands read: which column is for what, which rows can be used, which are held out."""

import dataclasses
import hashlib
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from deniable.cli.options import format_names
from deniable.cli.owner_remarks import warn_owner
from deniable.cli.tables import TableOptions, check_input_file
from deniable.core.errors import InputError
from deniable.core.files import PIPE

if TYPE_CHECKING:
    from deniable.text.tables.copied_columns import CopiedColumns

Column = list[str | None]

_SHOWN_ROWS = 5
"""Rows that a line names."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Roles:
    """Which column of a table is for what; None for nothing.

    Attributes:
        text: name of the column of texts.
        label: of classes.
        premise: of the first texts of pairs.
        author: of authors.
        person: of persons, whose cells are read as identities.
        record_id: of record ids, whose cells are read as identities.

    Raises:
        InputError: one column for two purposes.
    """

    text: str = "text"
    label: str | None = None
    premise: str | None = None
    author: str | None = None
    person: str | None = None
    record_id: str | None = None

    def __post_init__(self) -> None:
        """Refuse one column for two purposes."""
        for (first, name), (second, other) in itertools.combinations(self.by_role().items(), 2):
            if name == other:
                raise InputError(f"The column {name!r} cannot be both {first} and {second}: name another.")

    def by_role(self) -> dict[str, str]:
        """The names of the columns that are read, by what they are for: "texts", "labels", ..."""
        names = {
            "people" if field.name == "person" else f"{field.name}s".replace("_", " "): getattr(self, field.name)
            for field in dataclasses.fields(self)
        }
        return {role: name for role, name in names.items() if name is not None}


@dataclasses.dataclass(frozen=True)
class Rows:
    """Rows of a table, n of them.

    Attributes:
        source: path of the table, for messages.
        roles: what its columns are for.
        columns: (n,) cells of each column that was read, by its name.
        numbers: (n,) where the rows stand in the table, ascending, from 0.
        total: number of all rows of the table.
        remarks: on rows that were left out, for the owner.
    """

    source: str
    roles: Roles
    columns: Mapping[str, Column]
    numbers: Sequence[int]
    total: int
    remarks: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Return n."""
        return len(self.numbers)

    @property
    def texts(self) -> list[str]:
        """(n,) texts; empty where a row has none."""
        return [text or "" for text in self.columns[self.roles.text]]

    @property
    def premises(self) -> list[str] | None:
        """(n,) first texts of pairs; None for single texts."""
        return None if self.roles.premise is None else [text or "" for text in self.columns[self.roles.premise]]

    @property
    def labels(self) -> Column:
        """(n,) names of classes without white space around; None where a row has none."""
        from deniable.text.columns import format_name

        return (
            [None] * len(self)
            if self.roles.label is None
            else [format_name(label) for label in self.columns[self.roles.label]]
        )

    @property
    def persons(self) -> list[str] | None:
        """(n,) identities of persons, see `deniable.core.identity`; None where no column says whose rows they are."""
        return None if self.roles.person is None else [person or "" for person in self.columns[self.roles.person]]

    @property
    def fingerprint(self) -> str:
        """BLAKE2b of all cells: it tells data sets apart, however their files are written."""
        state = hashlib.blake2b(digest_size=16)
        for name, cells in self.columns.items():
            state.update(repr((name, len(cells))).encode("utf-8", "backslashreplace"))
            for cell in cells:
                state.update(repr(cell).encode("utf-8", "backslashreplace"))
        return state.hexdigest()

    def take(self, places: Sequence[int]) -> "Rows":
        """Some of these rows, by their places among them, ascending."""
        columns = {name: [cells[place] for place in places] for name, cells in self.columns.items()}
        return dataclasses.replace(self, columns=columns, numbers=[self.numbers[place] for place in places])

    def leave_out(self, reasons: Mapping[str, Iterable[int]]) -> "Rows":
        """The rows that can be used, with a remark for each reason why others cannot.

        Args:
            reasons: what is wrong, such as "without a label", and the places of these rows; one counts under its first.

        Raises:
            InputError: no row is left.
        """
        usable = set(range(len(self)))
        remarks, counts = [], [remark.removeprefix(f"{self.source}: ") for remark in self.remarks]
        for reason, places in reasons.items():
            unusable = sorted(usable.intersection(places))
            usable.difference_update(unusable)
            if unusable:
                numbers = [self.numbers[place] for place in unusable]
                remarks += describe_rows(self.source, numbers, f"{reason} left out")
                counts.append(f"{format_row_count(unusable)} {reason}")
        if not usable:
            raise InputError(
                f"No row of the table {self.source!r} can be used ({'; '.join(counts)}): name other columns, or give "
                "another table."
            )
        return dataclasses.replace(self.take(sorted(usable)), remarks=(*self.remarks, *remarks))

    def usable(self, classes: Sequence[str] | None = None) -> "Rows":
        """The rows that lack nothing: a text, a premise, a label and a person, where there is a column for it.

        Every row is judged by itself, so that no record decides what becomes of another.

        Args:
            classes: that are declared, public or those of a model; None where any label is one.

        Raises:
            InputError: no row is left.
        """
        from deniable.measure.labels import is_blank

        roles, reasons = self.roles, {}
        for what, name in (("text", roles.text), ("text", roles.premise), ("label", roles.label)):
            if name is not None:
                reasons[f"without a {what} in {name!r}"] = self._find(self.columns[name], is_blank)
        if classes is not None:
            known = {None, *classes}
            foreign = self._find(self.labels, lambda label: label not in known)
            reasons[f"whose label in {roles.label!r} is not one of the classes ({format_names(classes)})"] = foreign
        if roles.person is not None:
            nobody = self._find(self.columns[roles.person], lambda person: person is None)
            reasons[f"without a person, a text or a whole number below 2^53, in {roles.person!r}"] = nobody
        return self.leave_out(reasons)

    @staticmethod
    def _find(cells: Column, is_wrong: Callable[[str | None], bool]) -> list[int]:
        return [place for place, cell in enumerate(cells) if is_wrong(cell)]

    def hold_out(self, key: bytes, share: float = 0.1) -> "tuple[Rows, Rows]":
        """Rows to train on, and about a share of all persons, or else rows, to test on.

        A keyed hash of each person or row number decides, so that whether one is held out depends on no other.

        Args:
            key: 32 bytes; secret, where rows are private.
            share: to hold out.
        """
        from deniable.core.randomness import derive_stream_start

        units = self.persons or list(map(str, self.numbers))
        limit = round(share * 2**32)
        hashes = (int.from_bytes(derive_stream_start(key, "hold out", unit)[:4], "big") for unit in units)
        is_held_out = [number < limit for number in hashes]
        return (
            self.take([place for place, held in enumerate(is_held_out) if not held]),
            self.take([place for place, held in enumerate(is_held_out) if held]),
        )


def read_table(
    source: str,
    table_format: TableOptions,
    roles: Roles,
    *,
    limit: int | None = None,
    further: Sequence[str] = (),
    copied: "CopiedColumns | None" = None,
) -> Rows:
    """All rows of a table, with the columns that are for something; see `Rows.usable` for those that lack nothing.

    Args:
        source: path of the table, or - for standard input.
        table_format: how it is written.
        roles: what its columns are for.
        limit: maximum number of rows, the first ones; None for all.
        further: names of columns that are read beside those.
        copied: takes note of what a release would copy, if that is asked for.

    Raises:
        InputError: the table cannot be read, lacks a column, or has no rows.
    """
    from deniable.text.tables import detect_table_format
    from deniable.text.tables import read_table as read_columns

    if table_format.format is None and source == PIPE:
        raise InputError("The format of a pipe must be named, for example --format csv.")
    check_input_file(source)
    format_name = table_format.format or detect_table_format(source)
    if format_name == "txt" and roles != Roles():
        raise InputError(
            "A txt file has no columns, each line is a text: leave out the options that name columns, or give a csv, "
            f"tsv, jsonl or parquet with the columns {', '.join(map(repr, roles.by_role().values()))}."
        )
    names = [name for name in (roles.text, roles.label, roles.premise, roles.author, *further) if name is not None]
    layout = dataclasses.replace(
        table_format.build_layout(source, format_name, names), id_column=roles.record_id, person_column=roles.person
    )
    columns = read_columns(source, layout, format_name, copied)
    warn_owner(layout.remarks)
    total = len(columns[roles.text])
    if not total:
        raise InputError(f"The table {source!r} has no rows: give one with texts.")
    kept = range(total if limit is None else min(limit, total))
    return Rows(source, roles, {name: list(cells[: len(kept)]) for name, cells in columns.items()}, kept, total)


def read_public_table(source: str, private: TableOptions, roles: Roles) -> Rows:
    """The rows of a public table, or the lines of any other file.

    Args:
        source: path of the file.
        private: how the private table is written.
        roles: what the columns of a table are for.

    Raises:
        InputError: the file cannot be read, or has no rows.
    """
    from deniable.text.tables import detect_table_format

    try:
        format_name = detect_table_format(source)
    except InputError:
        format_name = "txt"
    return read_table(source, private.adapt(format_name), Roles() if format_name == "txt" else roles)


def format_row_numbers(rows: Sequence[int]) -> str:
    """Return the numbers of rows, of many the first: "row 3", "rows 3 and 7", "rows 3, 7, 8, 9, 12 and 4 more".

    Args:
        rows: ascending, from 0 on; they are named from 1 on.
    """
    row_numbers = [f"{row + 1:,}" for row in rows[:_SHOWN_ROWS]]
    further_count = len(rows) - _SHOWN_ROWS
    last_part = f"{further_count:,} more" if further_count > 0 else row_numbers.pop()
    return f"row{'s' * (len(rows) > 1)} " + " and ".join(
        [", ".join(row_numbers), last_part] if row_numbers else [last_part]
    )


def format_row_count(rows: Sequence[int]) -> str:
    """Return how many rows there are: "1 row"."""
    return f"{len(rows):,} row{'s' * (len(rows) != 1)}"


def describe_rows(source: str, rows: Sequence[int], consequence: str) -> list[str]:
    """Return a line, for the owner, on what becomes of some rows: "in.csv: 1 row WHAT: row 3"; none for no rows."""
    return [f"{source}: {format_row_count(rows)} {consequence}: {format_row_numbers(rows)}"] if len(rows) else []
