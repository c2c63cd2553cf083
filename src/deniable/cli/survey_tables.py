"""The table that ``deniable measure`` reads, and the table of figures that it prints."""

import dataclasses
import textwrap
from typing import TYPE_CHECKING

from deniable.cli.tables import TableOptions, read_table_columns
from deniable.cli.usable_rows import describe_rows
from deniable.core.numbers import format_exact, format_upper_percent

if TYPE_CHECKING:
    from deniable.measure.labels import ClassLabels
    from deniable.measure.report.advice import Advice
    from deniable.measure.report.findings import SurveyResult
    from deniable.text.tables.layout import CopiedContent

_TEXT_WIDTH = 110
"""Columns of the advice: about those of the table of figures."""
_SHOWN_KINDS = 4
"""Kinds of entities that have a column."""


@dataclasses.dataclass(frozen=True)
class SurveyTable:
    """The columns of a table that are measured, n rows.

    Attributes:
        texts: (n,) texts; None where a row has none.
        labels: classes; None where no column was named.
        authors: (n,) authors; None where no column was named.
        record_ids: (n,) ids; None where no column was named.
        copied: what ``deniable privatize`` would copy beside the texts, unless columns are left out.
        remarks: which rows lack what, for the owner.
    """

    texts: list[str | None]
    labels: "ClassLabels | None"
    authors: list[str | None] | None
    record_ids: list[str | None] | None
    copied: "CopiedContent"
    remarks: list[str]


def read_survey_table(
    source: str, columns: tuple[str, str | None, str | None], table_format: TableOptions, id_column: str | None = None
) -> SurveyTable:
    """Return the columns of texts, labels and authors, and that of record ids."""
    from deniable.measure.labels import encode_labels
    from deniable.text.tables.copied_columns import CopiedColumns
    from deniable.text.tables.layout import TableLayout

    text_column, label_column, author_column = columns
    copied = CopiedColumns(TableLayout(source, (text_column,), id_column))
    cells = read_table_columns(source, columns, table_format, record_id=id_column, copied=copied)
    empty_rows = [row for row, text in enumerate(cells[text_column]) if text is None]
    remarks = describe_rows(source, empty_rows, "without a text, read as empty")
    labels = None if label_column is None else encode_labels(cells[label_column], label_column)
    authors = None if author_column is None else encode_labels(cells[author_column], author_column)
    for name, classes, purpose in (
        (label_column, labels, "classifiers"),
        (author_column, authors, "attacks on authorship"),
    ):
        if classes is not None:
            unlabelled_rows, lone_rows = classes.unlabelled_rows.tolist(), classes.lone_rows.tolist()
            remarks += describe_rows(source, unlabelled_rows, f"without a label in {name!r}, not used for {purpose}")
            consequence = f"with a label in {name!r} that no other row has, not used for {purpose}"
            remarks += describe_rows(source, lone_rows, consequence)
    return SurveyTable(
        cells[text_column],
        labels,
        None if author_column is None else cells[author_column],
        None if id_column is None else cells[id_column],
        copied.describe(),
        remarks,
    )


def format_advice(advice: "Advice") -> list[str]:
    """Return the advice in lines, the weightiest first."""
    lines = [] if advice.blind is None else [advice.blind]
    lines += [advice.headline, *advice.reasons]
    if advice.alternatives:
        lines += ["Instead:", *(f"- {alternative}" for alternative in advice.alternatives)]
    wrapper = textwrap.TextWrapper(_TEXT_WIDTH, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)
    # A no-break space keeps a number and its sign on one line.
    wrapped = (part for line in lines for part in wrapper.wrap(line.replace(" %", "\N{NO-BREAK SPACE}%")))
    return [*(part.replace("\N{NO-BREAK SPACE}", " ") for part in wrapped), ""]


def format_survey(survey_result: "SurveyResult") -> list[str]:
    """Return the survey as a short table, one line an epsilon, then the originals and a blind guess."""
    readings = survey_result.readings
    status_width = max(len("verdict"), *(len(reading.promise.status) for reading in readings))
    titles = [f"{'epsilon':>11}", f"{'verdict':<{status_width}}", f"{'words guessed':>14}", f"{'words kept':>10}"]
    has_labels, has_authors = bool(survey_result.table.classes), readings[0].authorship is not None
    titles += [f"{'accuracy':>8}", f"{'balanced':>8}", f"{'retained':>8}", f"{'membership':>10}"] * has_labels
    titles += [f"{'authors':>7}"] * has_authors
    rows = ["  ".join(titles)]
    for reading in readings:
        cells = [
            f"{format_exact(reading.epsilon):>11}",
            f"{reading.promise.status:<{status_width}}",
            f"{reading.strongest_recovery.format_point():>14}",
            f"{100 * reading.similarity.unchanged.value:>8.1f} %",
        ]
        if reading.utility is not None:
            scores = [reading.utility.accuracy.private.value, reading.utility.balanced_accuracy.private.value]
            retained = reading.utility.balanced_accuracy.retained
            cells += [f"{100 * score:>6.1f} %" for score in scores]
            cells.append(f"{'-':>8}" if retained is None else f"{100 * retained.value:>6.1f} %")
            cells.append(f"{reading.membership['original'].auc.value:>10.3f}")
        if reading.authorship is not None:
            cells.append(f"{100 * reading.authorship.adaptive.value:>5.1f} %")
        rows.append("  ".join(cells))
    first_utility = readings[0].utility
    if first_utility is not None and survey_result.originals is not None:
        margin = " " * (status_width + 2 + 14 + 2 + 10)
        comparisons = first_utility.accuracy, first_utility.balanced_accuracy
        for name, values, area in (
            ("original", [comparison.original.value for comparison in comparisons], survey_result.originals.auc.value),
            ("blind guess", [comparison.blind for comparison in comparisons], 0.5),
        ):
            cells = [f"{name:>11}", margin, *(f"{100 * value:>6.1f} %" for value in values)]
            rows.append("  ".join([*cells, " " * 8, f"{area:>10.3f}"]))
    return rows


def format_frequencies(survey_result: "SurveyResult") -> list[str]:
    """Return how often frequent and rare words are guessed, and which word is exposed most, one line an epsilon."""
    known = [(reading.epsilon, reading.outcomes) for reading in survey_result.readings if reading.outcomes is not None]
    if not known:
        return []
    titles = ["epsilon", *(name for name, _ in known[0][1].list_shares()), "most exposed word, unchanged"]
    rows = [
        [
            format_exact(epsilon),
            *(percent for _, percent in outcomes.list_shares()),
            f"{outcomes.exposed_word} {format_upper_percent(outcomes.exposed_share)}",
        ]
        for epsilon, outcomes in known
    ]
    widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
    return [
        f"words guessed by their frequency, if they follow {survey_result.prior}",
        *(
            "  ".join(f"{cell:>{width}}" for cell, width in zip(row, [11, *widths[1:]], strict=True))
            for row in [titles, *rows]
        ),
    ]


def format_entities(survey_result: "SurveyResult") -> list[str]:
    """Return who is still named as a short table, one line an epsilon; nothing without labelled spans."""
    results = [
        (reading.epsilon, reading.entities) for reading in survey_result.readings if reading.entities is not None
    ]
    if not results:
        return []
    total = results[0][1].total
    kinds = [figures.kind for figures in results[0][1].kinds]
    shown_kinds = kinds[:_SHOWN_KINDS] if len(kinds) > 1 else []
    titles = ["epsilon", "at their place", "by chance", "in their text", "by chance", "spans whole", *shown_kinds]
    widths = [max(len(title), 11 if not place else 9) for place, title in enumerate(titles)]
    summary = (
        f"who is still named: {total.words:,} labelled words ({total.spans:,} spans) in {total.texts:,} texts, "
        f"{total.unknown:,} of them not in the vocabulary; share that comes out"
    )
    rows = [summary, "  ".join(f"{title:>{width}}" for title, width in zip(titles, widths, strict=True))]
    for epsilon, result in results:
        figures = result.total
        shares = [
            figures.at_place,
            figures.chance_at_place,
            figures.in_text,
            figures.chance_in_text,
            figures.whole,
            *(kind_figures.at_place for kind_figures in result.kinds[: len(shown_kinds)]),
        ]
        cells = [
            format_exact(epsilon),
            *("-" if share is None else f"{100 * share.value:.1f} %" for share in shares),
        ]
        rows.append("  ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True)))
    if len(kinds) > len(shown_kinds) > 0:
        rows.append(f"and {len(kinds) - len(shown_kinds)} more kinds, on the page")
    return ["", *rows]
