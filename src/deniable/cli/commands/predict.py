"""``deniable predict``: a table in, the same table with the predictions of a text classifier out."""

import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.cli.building import build_space, find_word_files
from deniable.cli.choices import MetricName
from deniable.cli.model_runs import check_torch, translate_memory_errors
from deniable.cli.options import (
    HIDE_DEFAULT,
    OUTPUT_PANEL,
    DelimiterOption,
    EncodingOption,
    ForceOption,
    FormatOption,
    HideOption,
    LabelledTableArgument,
    MetricOption,
    PremiseOption,
    QuotingOption,
    SpaceOption,
    TextColumnOption,
    TextModelArgument,
    make_option,
)
from deniable.cli.outcome import note_stdout
from deniable.cli.owner_remarks import warn_owner
from deniable.cli.progress import show_bytes_read
from deniable.cli.tables import TableOptions, check_input_file, resolve_format
from deniable.cli.usable_rows import describe_rows
from deniable.core.errors import InputError
from deniable.core.files import PIPE

if TYPE_CHECKING:
    from deniable.core.arrays import FloatArray
    from deniable.models.text.prediction import TextPredictor
    from deniable.text.tables.layout import NewCells, NewColumns, TableLayout
    from deniable.text.tables.rows import TextRows

NEW_COLUMNS: "NewColumns" = {"predicted": str, "probability": float}
_NO_CELLS: "NewCells" = (None, None)
_OTHER_MODEL = (
    "Are the texts in another language, or of another kind, than those that the model learned from? "
    "Predictions from few known words mean little: train a model on texts of their kind"
)

PredictedTableOption = Annotated[
    str,
    make_option(
        OUTPUT_PANEL,
        "--output",
        "-o",
        'Table with the predictions, in the format of the input; "-" writes to standard output.',
        metavar="FILE",
    ),
]


def run_predict(
    model: TextModelArgument,
    source: LabelledTableArgument,
    *,
    column: TextColumnOption = "text",
    premise: PremiseOption = None,
    space: SpaceOption = "glove",
    metric: MetricOption = MetricName.EUCLIDEAN,
    hide: HideOption = HIDE_DEFAULT,
    format_: FormatOption = None,
    delimiter: DelimiterOption = None,
    quoting: QuotingOption = None,
    encoding: EncodingOption = "utf-8",
    output: PredictedTableOption,
    force: ForceOption = False,
) -> None:
    """Predict the class of every text of a table.

    Writes the same table with two columns more: predicted, the name of the class, and probability, the one that the
    model gives it. Everything else stays as it is. Where there is nothing to predict from, both are empty. A model
    that reads the words of a space needs the --space, --metric and --hide that it was trained with. Requires the train
    extra of deniable.
    """
    check_torch()
    from deniable.registry.models import load_text_predictor
    from deniable.text.table_release import TableFiles, write_extended_table

    table_format = TableOptions(format_, delimiter, encoding, quoting)
    format_name = resolve_format(source, output, table_format.format)
    layout = _build_layout(source, format_name, table_format, column, premise)
    check_input_file(source)
    input_paths = [str(path) for path in (model, *find_word_files(space, hide)) if path is not None]
    files = TableFiles(source, output, table_format=format_name, layout=layout, force=force, input_paths=input_paths)
    files.check_paths()
    if output == PIPE:
        note_stdout()
    predictor = load_text_predictor(model, functools.partial(build_space, space, metric, hide))
    prediction = _TablePrediction(predictor, layout)
    total_bytes = None if source == PIPE else Path(source).stat().st_size
    with show_bytes_read("predicting", total_bytes) as report, translate_memory_errors():
        write_extended_table(dataclasses.replace(files, report=report), NEW_COLUMNS, prediction.make_cells)
    for remark in prediction.describe_rows_left_empty():
        typer.echo(remark, err=True)
    warn_owner([*layout.remarks, *prediction.describe_unknown_words()])
    typer.echo(f"wrote {output}", err=True)


def _build_layout(
    source: str, format_name: str, table_format: TableOptions, column: str, premise: str | None
) -> "TableLayout":
    """Return where the texts of a table stand, those to classify before the premises."""
    if column == premise:
        raise InputError(f"The column {column!r} cannot be texts and premises at once: name another.")
    return table_format.build_layout(source, format_name, [column] if premise is None else [column, premise])


class _TablePrediction:
    """Predicts the rows of a table, window after window.

    Args:
        predictor: the classifier.
        layout: where texts, and premises, stand.

    Raises:
        InputError: premises for a classifier of single texts, or none for one of pairs.
    """

    def __init__(self, predictor: "TextPredictor", layout: "TableLayout") -> None:
        self._classes, self._layout = predictor.classes, layout
        self._predict = _choose_prediction(predictor, has_premises=len(layout.columns) > 1)
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


def _choose_prediction(predictor: "TextPredictor", *, has_premises: bool) -> "Callable[..., FloatArray]":
    """Return the function from texts, and premises where there are some, to probabilities (n, K)."""
    from deniable.models.text.prediction import SpacePredictor

    takes_pairs = isinstance(predictor, SpacePredictor) and predictor.model.pairs
    if takes_pairs and not has_premises:
        raise InputError("The model classifies pairs of texts: name the column of the first ones with --premise.")
    if has_premises and not takes_pairs:
        raise InputError("The model classifies single texts: leave out --premise.")
    return predictor.predict_probabilities
