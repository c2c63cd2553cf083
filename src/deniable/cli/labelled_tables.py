"""Tables of labelled texts: read once into plain columns, then into the documents that text classifiers work on.

Rows that cannot be used are left out, and named in remarks that the command prints once nothing is wrong.
"""

import dataclasses
import hashlib
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

import typer

from deniable.cli.options import format_names
from deniable.cli.tables import TableOptions, read_table_columns
from deniable.cli.usable_rows import select_usable_rows
from deniable.core.errors import InputError

if TYPE_CHECKING:
    from deniable.models.text.documents import Documents, RowIndices, TokenizedTexts
    from deniable.space import Space

Column = list[str | None]


@dataclasses.dataclass(frozen=True)
class LabelledColumns:
    """Where labelled texts stand.

    Attributes:
        text: name of the column of texts.
        label: name of the column of classes.
        premise: name of the column of premises; None for single texts.
        table_format: how the table is written.

    Raises:
        InputError: one column for two purposes.
    """

    text: str
    label: str
    premise: str | None
    table_format: TableOptions

    def __post_init__(self) -> None:
        if self.label == self.premise:
            raise InputError(f"The column {self.label!r} cannot be classes and premises at once: name another.")


@dataclasses.dataclass(frozen=True)
class LabelledTable:
    """The cells of a table, n rows, as they were read.

    Attributes:
        source: path of the table, for messages.
        columns: names of its columns.
        texts: (n,) texts.
        labels: (n,) names of classes.
        premises: (n,) premises; None for single texts.
    """

    source: str
    columns: LabelledColumns
    texts: Column
    labels: Column
    premises: Column | None

    @property
    def fingerprint(self) -> str:
        """BLAKE2b of all cells: it differs between data sets, however their files are written."""
        cells = json.dumps([self.texts, self.labels, self.premises])
        return hashlib.blake2b(cells.encode(), digest_size=16).hexdigest()


@dataclasses.dataclass(frozen=True, eq=False)
class LabelledDocuments:
    """The rows of a table that can be used.

    Attributes:
        documents: m labelled texts.
        tokenized_texts: how the m texts were cut into words.
        row_numbers: (m,) where they stand in the table, from 0 on.
        left_out_count: number of rows that cannot be used.
        remarks: which rows were left out and why, for the owner.
    """

    documents: "Documents"
    tokenized_texts: "TokenizedTexts"
    row_numbers: "RowIndices"
    left_out_count: int
    remarks: tuple[str, ...]


def read_labelled_table(source: str, columns: LabelledColumns, row_limit: int | None = None) -> LabelledTable:
    """Return the cells of a table.

    Args:
        source: path of the table, or - for standard input.
        columns: their names.
        row_limit: number of rows to take, the first ones; None for all.

    Raises:
        InputError: the table cannot be read, lacks a column, or has no rows.
    """
    cells = read_table_columns(source, [columns.text, columns.label, columns.premise], columns.table_format)
    if not cells[columns.label]:
        raise InputError(f"The table {source!r} has no rows: give one with texts.")
    return LabelledTable(
        source,
        columns,
        cells[columns.text][:row_limit],
        cells[columns.label][:row_limit],
        None if columns.premise is None else cells[columns.premise][:row_limit],
    )


def build_documents(
    table: LabelledTable, space: "Space", maximum_words: int, classes: tuple[str, ...] | None = None
) -> LabelledDocuments:
    """Return the documents of a table, without the rows that cannot be used.

    Args:
        table: with n rows.
        space: of the classifier.
        maximum_words: maximum number of words of a text.
        classes: of the classifier; None where the labels make them.

    Raises:
        InputError: no row can be used, or the labels are of less than two classes.
    """
    import numpy as np

    from deniable.models.text.documents import Documents, tokenize_texts

    columns = {table.columns.text: table.texts}
    if table.columns.premise is not None and table.premises is not None:
        columns[table.columns.premise] = table.premises
    tokenized_columns = {name: tokenize_texts(space, cells) for name, cells in columns.items()}
    reasons = _find_unusable_labels(table.labels, table.columns.label, classes)
    for name, tokenized in tokenized_columns.items():
        reasons |= _find_unusable_texts(columns[name], name, tokenized, space, maximum_words)
    usable_rows, remarks = select_usable_rows(table.source, len(table.labels), reasons)
    rows = np.array(usable_rows, dtype=np.int64)
    usable_columns = {name: tokenized.take(rows) for name, tokenized in tokenized_columns.items()}
    codes, classes = _encode_labels(table, usable_rows, classes, remarks)
    texts = usable_columns[table.columns.text]
    premises = None if table.columns.premise is None else usable_columns[table.columns.premise].texts
    return LabelledDocuments(
        Documents(texts.texts, codes, classes, premises),
        texts,
        rows,
        len(table.labels) - len(rows),
        (*remarks, *_describe_unknown_words(table.source, usable_columns.values())),
    )


def print_remarks(remarks: Iterable[str]) -> None:
    """Print remarks about what was read, for the owner."""
    for remark in remarks:
        typer.echo(remark, err=True)


def _encode_labels(
    table: LabelledTable, rows: list[int], classes: tuple[str, ...] | None, remarks: list[str]
) -> "tuple[RowIndices, tuple[str, ...]]":
    """Return the class numbers of some rows, and the names of all classes."""
    import numpy as np

    from deniable.measure.labels import encode_labels

    labels = [table.labels[row] for row in rows]
    if classes is not None:
        return np.array([classes.index(str(label)) for label in labels], dtype=np.int64), classes
    try:
        class_labels = encode_labels(labels, table.columns.label)
    except InputError as error:
        raise InputError(str(error) + "".join(f" ({remark})" for remark in remarks)) from None
    return class_labels.codes, class_labels.names


def _find_unusable_labels(cells: Column, name: str, classes: tuple[str, ...] | None) -> dict[str, list[int]]:
    """Return the rows whose label cannot be used, by what is wrong with it."""
    from deniable.measure.labels import is_blank

    numbered_cells = list(enumerate(cells))
    reasons = {f"without a label in {name!r}": [row for row, label in numbered_cells if is_blank(label)]}
    if classes is not None:
        unknown_class_rows = [row for row, label in numbered_cells if not is_blank(label) and label not in classes]
        reasons[f"whose label in {name!r} is no class of the model ({format_names(classes)})"] = unknown_class_rows
    return reasons


def _find_unusable_texts(
    cells: Column, name: str, tokenized: "TokenizedTexts", space: "Space", maximum_words: int
) -> dict[str, list[int]]:
    """Return the rows whose text cannot be used, by what is wrong with it."""
    from deniable.measure.labels import is_blank

    numbered_lengths = list(enumerate(tokenized.texts.lengths.tolist()))
    return {
        f"without a text in {name!r}": [row for row, text in enumerate(cells) if is_blank(text)],
        f"without a word of {space.source} in {name!r}": [row for row, words in numbered_lengths if not words],
        f"with more than {maximum_words:,} words in {name!r}": [
            row for row, words in numbered_lengths if words > maximum_words
        ],
    }


def _describe_unknown_words(source: str, columns: "Iterable[TokenizedTexts]") -> list[str]:
    """Return a line on the share of words that the space lacks, with advice where it is large; none for none."""
    from deniable.text.remarks import OTHER_VECTORS, UNKNOWN_SHARE_LIMIT

    counts = [(column.unknown_count, len(column.texts.words)) for column in columns]
    unknown_count, known_count = map(sum, zip(*counts, strict=True))
    if not unknown_count:
        return []
    unknown_share = unknown_count / (unknown_count + known_count)
    advice = f". {OTHER_VECTORS}" if unknown_share > UNKNOWN_SHARE_LIMIT else ""
    return [f"{source}: {100 * unknown_share:.1f} % of the words are not in the vocabulary and were ignored{advice}"]
