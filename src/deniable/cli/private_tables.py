"""Tables whose records or persons are hidden as a whole: the private rows, and the public file beside them."""

import dataclasses
import hashlib
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.cli.tables import TableOptions, read_public_texts, read_table_columns
from deniable.cli.usable_rows import describe_rows, select_usable_rows
from deniable.core.errors import InputError

if TYPE_CHECKING:
    from deniable.persons.classifier_training import PrivateTexts, PublicTexts

_HELD_OUT_SHARE = 0.1


@dataclasses.dataclass(frozen=True)
class PrivateColumns:
    """Names of the columns of a private table.

    Attributes:
        text: of the texts.
        label: of the classes.
        person: of the persons; None where each record is hidden by itself.
        table_format: how the table is written.

    Raises:
        InputError: one column for two purposes.
    """

    text: str
    label: str
    person: str | None
    table_format: TableOptions

    def __post_init__(self) -> None:
        purposes = {"texts": self.text, "labels": self.label, "persons": self.person}
        for (first, column), (second, other) in itertools.combinations(purposes.items(), 2):
            if column == other:
                raise InputError(f"The column {column!r} cannot be {first} and {second} at once: name another.")


@dataclasses.dataclass(frozen=True)
class PrivateTable:
    """The usable rows of a private table.

    Attributes:
        texts: n texts.
        labels: n labels, each one of the classes, without white space around.
        persons: n identities of persons, see `deniable.core.identity`; None where each record is hidden by itself.
        others: further columns by name, n cells each.
        rows: numbers of these rows in the file, ascending, from 0.
        row_count: number of all rows of the file.
        fingerprint: of all that was read.
        remarks: on rows that were left out, for the owner.
    """

    texts: list[str]
    labels: list[str]
    persons: list[str] | None
    others: dict[str, list[str | None]]
    rows: list[int]
    row_count: int
    fingerprint: str
    remarks: tuple[str, ...]

    def __len__(self) -> int:
        """Return n."""
        return len(self.texts)

    def take(self, rows: Sequence[int]) -> "PrivateTable":
        """Return some rows, in their order."""
        return dataclasses.replace(
            self,
            texts=[self.texts[row] for row in rows],
            labels=[self.labels[row] for row in rows],
            persons=None if self.persons is None else [self.persons[row] for row in rows],
            others={name: [cells[row] for row in rows] for name, cells in self.others.items()},
            rows=[self.rows[row] for row in rows],
        )

    def to_private_texts(self, classes: Sequence[str], max_records: int | None) -> "PrivateTexts":
        """Return the rows as training takes them."""
        import numpy as np

        from deniable.persons.classifier_training import make_private_texts

        numbers = {name: number for number, name in enumerate(classes)}
        labels = np.array([numbers[label] for label in self.labels], dtype=np.int64)
        return make_private_texts(self.texts, labels, self.persons, max_records)


def read_private_table(
    source: str, columns: PrivateColumns, classes: Sequence[str], other_columns: Sequence[str] = ()
) -> PrivateTable:
    """Return the rows of a table that have a text, a label among the classes, and a person where one is needed.

    Every row is judged by itself, so that no record decides what becomes of another.

    Args:
        source: path of the table, or - for standard input.
        columns: their names.
        classes: declared or public.
        other_columns: names of further columns.

    Raises:
        InputError: the table cannot be read, lacks a column, or has no row that can be used.
    """
    from deniable.measure.labels import is_blank
    from deniable.text.columns import format_name

    names = [columns.text, columns.label, *other_columns]
    cells = read_table_columns(source, names, columns.table_format, person=columns.person)
    texts, labels = cells[columns.text], [format_name(label) for label in cells[columns.label]]
    known_classes = {*classes}
    reasons = {
        f"without a text in {columns.text!r}": [row for row, text in enumerate(texts) if is_blank(text)],
        f"without a label in {columns.label!r}": [row for row, label in enumerate(labels) if label is None],
        f"whose label in {columns.label!r} is none of the declared classes": [
            row for row, label in enumerate(labels) if label is not None and label not in known_classes
        ],
    }
    if columns.person is not None:
        persons = cells[columns.person]
        reasons[describe_missing_person(columns.person)] = [row for row, one in enumerate(persons) if one is None]
    if not texts:
        raise InputError(f"The table {source!r} has no rows: give one with texts.")
    rows, remarks = select_usable_rows(source, len(texts), reasons)
    return PrivateTable(
        [str(texts[row]) for row in rows],
        [str(labels[row]) for row in rows],
        None if columns.person is None else [str(persons[row]) for row in rows],
        {name: [cells[name][row] for row in rows] for name in other_columns},
        rows,
        len(texts),
        fingerprint_columns(cells),
        tuple(remarks),
    )


def describe_missing_person(column: str) -> str:
    """Return why a row cannot be used whose person is missing, or is neither a text nor a whole number."""
    return f"without a person, a text or a whole number below 2^53, in {column!r}"


def fingerprint_columns(columns: Mapping[str, Sequence[str | None]]) -> str:
    """Return hexadecimal BLAKE2b of columns: it tells data sets apart."""
    state = hashlib.blake2b(digest_size=16)
    for name, cells in columns.items():
        state.update(repr((name, len(cells))).encode("utf-8", "backslashreplace"))
        for cell in cells:
            state.update(repr(cell).encode("utf-8", "backslashreplace"))
    return state.hexdigest()


@dataclasses.dataclass(frozen=True)
class PublicFile:
    """A public file of texts: of a table the columns of texts and labels, of any other file the lines.

    Attributes:
        path: of the file.
        text: name of the column of texts.
        label: name of the column of labels; None where no text has one.
        table_format: of the private table; the format of this one follows from its name.
    """

    path: Path
    text: str
    label: str | None
    table_format: TableOptions

    def check_is_other_file(self, private_source: str) -> None:
        """Raise `InputError` where the public file is the private one, by its name or by its content."""
        if _is_same_file(self.path, Path(private_source)):
            raise InputError(
                f"The public file {str(self.path)!r} is the private table itself: what is taken from a public file is "
                "published as it is. Give texts that anybody may read, or leave out --public."
            )

    def read_texts(self, classes: Sequence[str] | None) -> "tuple[PublicTexts, tuple[str, ...] | None]":
        """Return the public texts with the numbers of their classes, and the classes.

        Args:
            classes: declared; None where the public labels are the classes.

        Raises:
            InputError: the file cannot be read, holds no text, or no label of a declared class.
        """
        from deniable.measure.labels import is_blank
        from deniable.persons.classifier_training import PublicTexts
        from deniable.text.columns import format_name
        from deniable.text.tables import detect_table_format

        if self.label is None:
            cells = read_public_texts(str(self.path), self.text, self.table_format, "--public")
            return PublicTexts([str(text) for text in cells if not is_blank(text)]), None if classes is None else (
                *classes,
            )
        table_format = self.table_format.adapt(detect_table_format(str(self.path)))
        columns = read_table_columns(str(self.path), [self.text, self.label], table_format)
        rows = [row for row, text in enumerate(columns[self.text]) if not is_blank(text)]
        labels = [format_name(columns[self.label][row]) for row in rows]
        names = (*classes,) if classes is not None else (*sorted({one for one in labels if one is not None}),)
        numbers = {name: number for number, name in enumerate(names)}
        codes = [-1 if label is None else numbers.get(label, -1) for label in labels]
        if not rows or max(codes) < 0:
            raise InputError(
                f"The public file {str(self.path)!r} has no text with one of the classes {', '.join(names) or '(none)'}"
                f" in {self.label!r}: name another column, or leave out --public-label."
            )
        import numpy as np

        return PublicTexts([str(columns[self.text][row]) for row in rows], np.array(codes, dtype=np.int64)), names


def check_test_file(test: Path | None, private_source: str) -> None:
    """Raise `InputError` where the table to test on is the private one, by its name or by its content."""
    if test is not None and _is_same_file(test, Path(private_source)):
        raise InputError(
            f"The table to test on, {str(test)!r}, is the private table itself: what was learned by heart would count "
            "as right. Give other rows, or leave out --test, and a tenth of the private rows is held out."
        )


def _is_same_file(path: Path, other: Path) -> bool:
    """Return whether two paths name one file, or files of one content; a pipe is no file."""
    if not path.is_file() or not other.is_file():
        return False
    if path.samefile(other):
        return True
    return path.stat().st_size == other.stat().st_size and path.read_bytes() == other.read_bytes()


def hold_out_rows(table: PrivateTable, key: bytes | None = None) -> tuple[PrivateTable, PrivateTable]:
    """Return rows to train on, and about a tenth of all persons or records, chosen by a keyed hash of each, to test on.

    Whether one unit is held out depends on no other.

    Args:
        table: of private rows.
        key: 32 bytes, secret; None for a fresh one.
    """
    from deniable.core.randomness import derive_stream_start, generate_key

    key = generate_key() if key is None else key
    units = table.persons if table.persons is not None else [str(row) for row in range(len(table))]
    threshold = round(_HELD_OUT_SHARE * 2**32)
    is_held_out = [int.from_bytes(derive_stream_start(key, "hold out", unit)[:4], "big") < threshold for unit in units]
    return (
        table.take([row for row, held in enumerate(is_held_out) if not held]),
        table.take([row for row, held in enumerate(is_held_out) if held]),
    )


def describe_capped_rows(source: str, persons: Sequence[str] | None, max_records: int | None) -> list[str]:
    """Return a line, for the owner, on rows beyond the maximum of their person."""
    if persons is None or max_records is None:
        return []
    counts: dict[str, int] = {}
    capped_rows = []
    for row, person in enumerate(persons):
        counts[person] = counts.get(person, 0) + 1
        if counts[person] > max_records:
            capped_rows.append(row)
    return describe_rows(source, capped_rows, f"beyond the first {max_records:,} of their person not used")
