"""The table that ``deniable measure`` reads, and the table of figures that it prints."""

import dataclasses
from typing import TYPE_CHECKING

from deniable.cli.tables import TableFormat, read_table_columns
from deniable.cli.usable_rows import describe_rows

if TYPE_CHECKING:
    from deniable.measure.labels import ClassLabels
    from deniable.measure.report.findings import SurveyResult


@dataclasses.dataclass(frozen=True)
class SurveyTable:
    """The columns of a table that are measured, n rows.

    Attributes:
        texts: (n,) texts; None where a row has none.
        labels: classes; None where no column was named.
        authors: (n,) authors; None where no column was named.
        remarks: which rows lack what, for the owner.
    """

    texts: list[str | None]
    labels: "ClassLabels | None"
    authors: list[str | None] | None
    remarks: list[str]


def read_survey_table(
    source: str, columns: tuple[str, str | None, str | None], table_format: TableFormat
) -> SurveyTable:
    """Return the columns of texts, labels and authors."""
    from deniable.measure.labels import encode_labels

    text_column, label_column, author_column = columns
    cells = read_table_columns(source, columns, table_format)
    empty_rows = [row for row, text in enumerate(cells[text_column]) if text is None]
    remarks = describe_rows(source, empty_rows, "without a text, read as empty")
    for name, purpose in ((label_column, "classifiers"), (author_column, "attacks on authorship")):
        if name is not None:
            unlabelled_rows = encode_labels(cells[name], name).unlabelled_rows.tolist()
            remarks += describe_rows(source, unlabelled_rows, f"without a label in {name!r}, not used for {purpose}")
    return SurveyTable(
        cells[text_column],
        None if label_column is None else encode_labels(cells[label_column], label_column),
        None if author_column is None else cells[author_column],
        remarks,
    )


def format_survey(survey_result: "SurveyResult") -> list[str]:
    """Return the survey as a short table, one line an epsilon."""
    titles = [f"{'epsilon':>8}", f"{'verdict':<26}", f"{'attacker names':>15}", f"{'words kept':>11}"]
    has_labels, has_authors = bool(survey_result.table.classes), survey_result.readings[0].authorship is not None
    titles += [f"{'accuracy':>9}", f"{'membership':>11}"] * has_labels + [f"{'authors':>8}"] * has_authors
    rows = [" ".join(titles)]
    for reading in survey_result.readings:
        cells = [
            f"{reading.epsilon:>8g}",
            f"{reading.promise.status:<26}",
            f"{100 * reading.strongest_recovery.value:>13.1f} %",
            f"{100 * reading.similarity.unchanged.value:>9.1f} %",
        ]
        if reading.utility is not None:
            cells += [f"{100 * reading.utility.private.value:>7.1f} %"]
            cells += [f"{reading.membership['original'].auc.value:>11.3f}"]
        if reading.authorship is not None:
            cells.append(f"{100 * reading.authorship.adaptive.value:>6.1f} %")
        rows.append(" ".join(cells))
    first_utility = survey_result.readings[0].utility
    if first_utility is not None and survey_result.originals is not None:
        cells = [f"{'original':>8}", " " * 26, " " * 15, " " * 11]
        cells += [f"{100 * first_utility.original.value:>7.1f} %", f"{survey_result.originals.auc.value:>11.3f}"]
        rows.append(" ".join(cells))
    return rows
