"""What the commands about text classifiers share: their table, their space, their word sets or mechanism."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from deniable.cli.options import build_space, build_word_mechanism, format_names
from deniable.cli.tables import TableFormat, read_table_columns
from deniable.cli.usable_rows import select_usable_rows
from deniable.core.errors import InputError

if TYPE_CHECKING:
    from deniable.models.text.documents import Documents, RowIndices, TokenizedTexts
    from deniable.models.text.substitutions import SubstituteSource, Substitutions
    from deniable.space import Space
    from deniable.words import WordMechanism


@dataclasses.dataclass(frozen=True)
class LabelledTable:
    """Where labelled texts stand.

    Attributes:
        text_column: of the texts.
        label_column: of the classes.
        premise_column: of the premises; None for single texts.
        table_format: how the table is written.
        space_source: its source, as options name it.
        metric_name: of the space.
        remarks: on what was read, for `print_remarks` when nothing is wrong with it.
    """

    text_column: str
    label_column: str
    premise_column: str | None
    table_format: TableFormat
    space_source: str
    metric_name: str
    remarks: list[str] = dataclasses.field(default_factory=list, init=False)

    def print_remarks(self) -> None:
        """Print the remarks."""
        for line in self.remarks:
            typer.echo(line, err=True)

    def build_space(self) -> "Space":
        """Return the space."""
        return build_space(self.space_source, self.metric_name)

    def read_documents(
        self,
        space: "Space",
        source: str,
        maximum_words: int,
        classes: tuple[str, ...] | None = None,
        row_limit: int | None = None,
    ) -> "LabelledRows":
        """Return the documents of a table; rows that cannot be used are left out, and the remarks name them.

        Args:
            space: of the model.
            source: path of the table, or - for standard input.
            maximum_words: words of a text, at most.
            classes: of the model; None where the labels make them.
            row_limit: rows, the first ones; None for all.

        Raises:
            InputError: the table cannot be read, or none of its rows can be used.
        """
        import numpy as np  # noqa: PLC0415 - keeps --help fast

        from deniable.measure.labels import encode_labels  # noqa: PLC0415
        from deniable.models.text.documents import Documents, tokenize_texts  # noqa: PLC0415

        columns = {
            name: column[:row_limit]
            for name, column in read_table_columns(
                source, [self.text_column, self.label_column, self.premise_column], self.table_format
            ).items()
        }
        label_cells = columns[self.label_column]
        if not label_cells:
            raise InputError(f"The table {source!r} has no rows: give one with texts.")
        parsed_columns = {
            name: tokenize_texts(space, columns[name])
            for name in (self.text_column, self.premise_column)
            if name is not None
        }
        reasons = _find_unusable_labels(label_cells, self.label_column, classes)
        for name, parsed_column in parsed_columns.items():
            reasons |= _find_unusable_texts(columns[name], name, parsed_column, space, maximum_words)
        usable_rows, row_remarks = select_usable_rows(source, len(label_cells), reasons)
        rows = np.array(usable_rows, dtype=np.int64)
        self.remarks.extend(row_remarks)
        usable_columns = {name: parsed_column.take(rows) for name, parsed_column in parsed_columns.items()}
        unknown_count = sum(parsed_column.unknown_count for parsed_column in usable_columns.values())
        if unknown_count:
            unknown_percent = (
                100
                * unknown_count
                / (unknown_count + sum(len(parsed_column.texts.words) for parsed_column in usable_columns.values()))
            )
            self.remarks.append(
                f"{source}: {unknown_percent:.1f} % of the words are unknown to the space, and left out"
            )
        row_labels = [label_cells[row] for row in usable_rows]
        if classes is None:
            try:
                coded_labels = encode_labels(row_labels, self.label_column)
            except InputError as error:
                raise InputError(str(error) + "".join(f" ({line})" for line in row_remarks)) from None
            codes, classes = coded_labels.codes, coded_labels.names
        else:
            codes = np.array([classes.index(str(name)) for name in row_labels], dtype=np.int64)
        premises = None if self.premise_column is None else usable_columns[self.premise_column].texts
        documents = Documents(usable_columns[self.text_column].texts, codes, classes, premises)
        return LabelledRows(documents, usable_columns[self.text_column], rows, len(label_cells) - len(rows))

    def build_word_source(
        self, space: "Space", substitutions: Path | None, mechanism: str | None, epsilon: float | None
    ) -> "SubstituteSource | None":
        """Return the word sets or the mechanism that options name, or None.

        Raises:
            InputError: both, a mechanism without epsilon, or one that cannot be built.
        """
        if substitutions is not None and (mechanism is not None or epsilon is not None):
            raise InputError("--substitutions excludes --mechanism and --epsilon: leave one of them out.")
        if substitutions is not None:
            return self.read_word_sets(space, substitutions)
        return self.build_mechanism(space, mechanism, epsilon)

    def read_word_sets(self, space: "Space", path: Path | None) -> "Substitutions | None":
        """Return the word sets of a file; None for None.

        Raises:
            InputError: it cannot be read, or the space knows none of its words.
        """
        from deniable.models.text.substitutions import read_substitutions  # noqa: PLC0415

        if path is None:
            return None
        word_sets = read_substitutions(path, space)
        self.remarks.extend(f"{path}: {note}" for note in word_sets.notes)
        return word_sets

    def build_mechanism(self, space: "Space", name: str | None, epsilon: float | None) -> "WordMechanism | None":
        """Return the mechanism that options name, or None.

        Raises:
            InputError: a name without epsilon, epsilon without a name, or one that cannot be built.
        """
        if name is None and epsilon is None:
            return None
        if name is None or epsilon is None:
            raise InputError("--mechanism and --epsilon belong together: give both, for example tem and 3.")
        return build_word_mechanism(space, name, epsilon)


def build_labelled_table(
    label: str | None, column: str, premise: str | None, table_format: TableFormat, space: str, metric: str
) -> LabelledTable:
    """Return what the options of a command say of its table.

    Raises:
        InputError: no column of classes, or one column for two purposes.
    """
    if label is None:
        raise InputError("Texts need a column of classes: name it with --label.")
    if label == premise:
        raise InputError(f"The column {label!r} cannot be classes and premises at once: name another.")
    return LabelledTable(column, label, premise, table_format, space, metric)


@dataclasses.dataclass(frozen=True, eq=False)
class LabelledRows:
    """The rows of a table that can be used.

    Attributes:
        documents: n labelled texts.
        parsed_texts: how the n texts were read.
        row_numbers: (n,) where they stand in the table, from 0 on.
        left_out_count: number of rows that cannot be used.
    """

    documents: "Documents"
    parsed_texts: "TokenizedTexts"
    row_numbers: "RowIndices"
    left_out_count: int


def _find_unusable_labels(
    cells: "list[str | None]", name: str, classes: tuple[str, ...] | None
) -> dict[str, list[int]]:
    """Return the rows whose label cannot be used, by what is wrong with it."""
    from deniable.measure.labels import is_blank  # noqa: PLC0415

    numbered_cells = list(enumerate(cells))
    reasons = {f"without a label in {name!r}": [row for row, label in numbered_cells if is_blank(label)]}
    if classes is not None:
        unknown_class_rows = [row for row, label in numbered_cells if not is_blank(label) and label not in classes]
        reasons[f"whose label in {name!r} is no class of the model ({format_names(classes)})"] = unknown_class_rows
    return reasons


def _find_unusable_texts(
    cells: "list[str | None]", name: str, parsed_column: "TokenizedTexts", space: "Space", maximum_words: int
) -> dict[str, list[int]]:
    """Return the rows whose text cannot be used, by what is wrong with it."""
    from deniable.measure.labels import is_blank  # noqa: PLC0415

    numbered_lengths = list(enumerate(parsed_column.texts.lengths.tolist()))
    return {
        f"without a text in {name!r}": [row for row, text in enumerate(cells) if is_blank(text)],
        f"without a word of {space.source} in {name!r}": [row for row, words in numbered_lengths if not words],
        f"with more than {maximum_words:,} words in {name!r}": [
            row for row, words in numbered_lengths if words > maximum_words
        ],
    }
