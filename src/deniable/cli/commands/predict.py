"""``deniable predict``: a table in, the same table with the predictions of a text classifier out."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.cli.commandline import option
from deniable.cli.model_runs import check_torch
from deniable.cli.options import LabelledTableArgument, TextModelArgument, VectorSpaceOptions
from deniable.cli.owner_remarks import warn_owner
from deniable.cli.process import note_stdout
from deniable.cli.progress import show_bytes_read
from deniable.cli.rows import Roles, describe_rows
from deniable.cli.tables import TableOptions, check_input_file, resolve_format
from deniable.cli.terminal import say
from deniable.core.errors import InputError
from deniable.core.files import PIPE

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable.core.arrays import FloatArray
    from deniable.models.text.model import TextPredictor
    from deniable.text.tables.layout import NewCells, NewColumns, TableLayout
    from deniable.text.tables.rows import TextRows

NEW_COLUMNS: "NewColumns" = {"predicted": str, "probability": float}
_NO_CELLS: "NewCells" = (None, None)
_OTHER_MODEL = (
    "Are the texts in another language, or of another kind, than those that the model learned from? "
    "Predictions from few known words mean little: train a model on texts of their kind"
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PredictionOptions:
    """Data.

    Attributes:
        column: name of the column with text.
        premise: column of the first text of a pair; never changed.
        output: table with the predictions, in the format of the input; "-" writes to standard output.
        force: overwrite existing output files.

    Raises:
        InputError: one column for two purposes.
    """

    column: str = dataclasses.field(default="text", metadata=option("--column", "-c", metavar="COLUMN"))
    premise: str | None = dataclasses.field(default=None, metadata=option(metavar="COLUMN"))
    output: str = dataclasses.field(metadata=option("--output", "-o", metavar="FILE", panel="Output"))
    force: bool = dataclasses.field(default=False, metadata=option("--force", panel="Output"))

    def __post_init__(self) -> None:
        """Refuse one column for two purposes."""
        Roles(text=self.column, premise=self.premise)


def run_predict(
    model: TextModelArgument,
    source: LabelledTableArgument,
    options: PredictionOptions,
    vectors: VectorSpaceOptions,
    table: TableOptions,
) -> None:
    """Predict the class of every text of a table.

    Copies the table and adds two columns: predicted (class name) and probability (the model's confidence), both empty
    if a row has no text. A model that reads words of a vocabulary needs the --space, --metric and --hide that it was
    trained with. Requires the train extra of deniable.

    Examples:
        deniable predict trained.model new.csv --column text --output predicted.csv
    """
    check_torch()
    from deniable.registry import load_text_predictor
    from deniable.text.table_release import TableFiles, write_extended_table

    output, force = options.output, options.force
    format_name = resolve_format(source, output, table.format)
    columns = [name for name in (options.column, options.premise) if name is not None]
    layout = table.build_layout(source, format_name, columns)
    check_input_file(source)
    input_paths = list(map(str, (model, *vectors.list_files())))
    files = TableFiles(source, output, table_format=format_name, layout=layout, force=force, input_paths=input_paths)
    files.check_paths()
    if output == PIPE:
        note_stdout()
    prediction = _TablePrediction(load_text_predictor(model, vectors.build), layout)
    total_bytes = None if source == PIPE else Path(source).stat().st_size
    with show_bytes_read("predicting", total_bytes) as report:
        write_extended_table(dataclasses.replace(files, report=report), NEW_COLUMNS, prediction.make_cells)
    for remark in prediction.describe_rows_left_empty():
        say(remark, err=True)
    warn_owner([*layout.remarks, *prediction.describe_unknown_words()])
    say(f"wrote {output}", err=True)


class _TablePrediction:
    """Predicts the rows of a table, window after window.

    Args:
        predictor: the classifier.
        layout: where texts, and premises, stand.

    Raises:
        InputError: premises for a classifier of single texts, or none for one of pairs.
    """

    def __init__(self, predictor: "TextPredictor", layout: "TableLayout") -> None:
        from deniable.models.text.model import SpacePredictor

        takes_pairs = isinstance(predictor, SpacePredictor) and predictor.model.pairs
        if takes_pairs and len(layout.columns) == 1:
            raise InputError("The model classifies pairs of texts: name the column of the first ones with --premise.")
        if len(layout.columns) > 1 and not takes_pairs:
            raise InputError("The model classifies single texts: leave out --premise.")
        self._classes, self._layout = predictor.classes, layout
        self._predict: Callable[..., FloatArray] = predictor.predict_probabilities
        self._row_count = 0
        self._blank_rows: list[int] = []
        self._unreadable_rows: list[int] = []
        self._count_unknown_words = predictor.count_unknown_words
        self._unknown_words = self._words = 0

    def make_cells(self, rows: "TextRows") -> "list[NewCells]":
        """Return the predicted class of each row and its probability."""
        import numpy as np

        from deniable.measure.labels import is_blank
        from deniable.text.tables.rows import list_texts

        texts_of_columns = [list_texts(rows.columns[column]) for column in self._layout.columns]
        documents = [[text or "" for text in texts] for texts in zip(*texts_of_columns, strict=True)]
        is_empty = [any(map(is_blank, texts)) for texts in documents]
        filled_rows = [row for row, empty in enumerate(is_empty) if not empty]
        columns = [[documents[row][place] for row in filled_rows] for place in range(len(self._layout.columns))]
        probabilities = self._predict(*columns)  # (n, K)
        for texts in columns:
            unknown_words, words = self._count_unknown_words(texts)
            self._unknown_words += unknown_words
            self._words += words
        new_cells = [_NO_CELLS] * len(rows)
        for row, row_probabilities in zip(filled_rows, probabilities, strict=True):
            if np.isnan(row_probabilities).any():
                self._unreadable_rows.append(self._row_count + row)
            else:
                best = int(row_probabilities.argmax())
                new_cells[row] = (self._classes[best], float(row_probabilities[best]))
        self._blank_rows += [self._row_count + row for row, empty in enumerate(is_empty) if empty]
        self._row_count += len(rows)
        return new_cells

    def describe_unknown_words(self) -> list[str]:
        """Return a remark, for the owner, where the model does not know many of the words."""
        from deniable.text.remarks import describe_unknown_words

        return describe_unknown_words(self._unknown_words, self._words, _OTHER_MODEL)

    def describe_rows_left_empty(self) -> list[str]:
        """Return a line, for the owner, for each reason why rows have no prediction."""
        names = " or ".join(map(repr, self._layout.columns))
        reasons = {
            f"without a text in {names} not predicted": self._blank_rows,
            f"in whose {names} the model knows no word, or finds too many, not predicted": self._unreadable_rows,
        }
        return [line for reason, rows in reasons.items() for line in describe_rows(self._layout.name, rows, reason)]
