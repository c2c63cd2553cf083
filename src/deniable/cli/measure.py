"""``deniable measure``: what each epsilon gives and takes on a table, as one page."""

import json
import math
import shlex
import time
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.cli.options import (
    DelimiterOption,
    FormatOption,
    MechanismOption,
    MetricOption,
    PriorOption,
    SpaceOption,
    build_space,
    build_word_mechanism,
    check_mechanism_options,
    find_vector_files,
    load_word_prior,
    unknown_name_error,
)
from deniable.cli.progress import show_passes
from deniable.cli.tables import TableFormat, read_public_texts, read_table_columns
from deniable.cli.usable_rows import describe_rows
from deniable.core.errors import InputError

if TYPE_CHECKING:
    from deniable.measure.labels import ClassLabels
    from deniable.measure.report.findings import SurveyResult
    from deniable.space import Space
    from deniable.text.tables.columns import TextColumns
    from deniable.words import WordMechanism
    from deniable.words.prior import Prior

PIPE = "-"
DEFAULT_EPSILONS = "0.5,1,2,3,4,6,8"
_SLOW_SECONDS = 3.0
"""Seconds of a calibration from which on it is worth saying that it is kept."""


def run_measure(
    context: typer.Context,
    source: Annotated[
        str, typer.Argument(metavar="INPUT", help="csv, tsv, jsonl, parquet or txt, also .gz or .zst; - is a pipe.")
    ],
    report: Annotated[str, typer.Option("--report", "-r", metavar="HTML", help="Where the page goes.")],
    json_: Annotated[
        str | None,
        typer.Option("--json", help="Where the figures go.  [default: the report with .json]", show_default=False),
    ] = None,
    column: Annotated[str, typer.Option("--column", "-c", help="Column with text.")] = "text",
    label: Annotated[
        str | None, typer.Option(help="Column with classes, for classifiers and membership attacks.")
    ] = None,
    author: Annotated[str | None, typer.Option(help="Column with authors, for attacks on who wrote it.")] = None,
    mechanism: MechanismOption = "auto",
    epsilon: Annotated[
        str, typer.Option("--epsilon", help="Privacy parameters, with commas between.")
    ] = DEFAULT_EPSILONS,
    space: SpaceOption = "glove",
    metric: MetricOption = "euclidean",
    public: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Texts that an attacker has: one a line, or a table with the same column."),
    ] = None,
    prior: PriorOption = None,
    classifier: Annotated[str, typer.Option(help="tfidf, or fasttext, which needs torch.")] = "tfidf",
    folds: Annotated[int, typer.Option(help="Of the cross-validations.")] = 5,
    shadows: Annotated[int, typer.Option(help="Models trained for a membership attack, an even number.")] = 16,
    examples: Annotated[int, typer.Option(help="Rows shown as they were and as they became.")] = 10,
    limit: Annotated[int, typer.Option(metavar="ROWS", help="Rows measured, at most; drawn at random.")] = 5_000,
    seed: Annotated[int, typer.Option(help="Public seed; the figures follow from it.")] = 0,
    format_: FormatOption = None,
    delimiter: DelimiterOption = None,
    encoding: Annotated[str, typer.Option(help="Of the input and of the public texts.")] = "utf-8",
    force: Annotated[bool, typer.Option("--force", help="Overwrite outputs that exist.")] = False,  # noqa: FBT002
) -> None:
    """Measure what each epsilon gives and takes on a table: which to choose, and what is lost.

    Writes one page that holds original private text, for the owner of the texts, and its figures as
    JSON. Needs jinja2 and scikit-learn: deniable[measure].
    """
    from deniable.core.files import check_outputs, open_outputs  # noqa: PLC0415
    from deniable.measure.report.inputs import SurveyPlan, build_survey_inputs, check_survey_plan  # noqa: PLC0415 - keeps --help fast
    from deniable.measure.report.page import load_template, render_report  # noqa: PLC0415
    from deniable.measure.report.survey import survey_table  # noqa: PLC0415

    epsilons = parse_epsilons(epsilon)
    survey_plan = SurveyPlan(classifier, folds, shadows, examples, rows=limit, seed=seed)
    _check_classifier(classifier)
    check_survey_plan(survey_plan)
    load_template()
    json_path = json_ or str(PurePath(report).with_suffix(".json"))
    for name, path in (("report", report), ("JSON", json_path)):
        if path == PIPE:
            raise InputError(f"The {name} must be a file. Got '-': give a path.")
    check_outputs([report, json_path], [source, public, prior, find_vector_files(space)], force=force)
    table = read_table_columns(source, [column, label, author], TableFormat(format_, delimiter, encoding))
    class_labels, authors = _parse_labels(table, label), None if author is None else table[author]
    remarks = _describe_missing_cells(source, table, column, label, author)
    build_survey_inputs(table[column], class_labels, authors, survey_plan)  # before anything that takes long
    public_texts = None if public is None else read_public_texts(public, column, TableFormat(None, delimiter, encoding))
    check_mechanism_options(mechanism, epsilons[0])
    word_space = build_space(space, metric)
    word_prior = load_word_prior(prior, word_space)
    mechanisms = _build_mechanisms(word_space, mechanism, epsilons, word_prior)
    survey_result = survey_table(
        table[column],
        mechanisms,
        labels=class_labels,
        authors=authors,
        public=public_texts,
        prior=word_prior,
        columns=[name for name in (label, author) if name],
        plan=survey_plan,
        progress=show_passes,
    )
    html = render_report(survey_result, _format_command_line(context))
    figures_json = json.dumps(survey_result.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
    with open_outputs(report, json_path, force=force, owner_only=[report, json_path]) as streams:
        for stream, content in zip(streams, (html, figures_json + "\n"), strict=True):
            stream.write(content.encode("utf-8", "backslashreplace"))
    for line in remarks:
        typer.echo(line, err=True)
    for line in format_survey(survey_result):
        typer.echo(line)
    typer.echo(f"report: {report} (holds original private text: for you alone); figures: {json_path}")


def parse_epsilons(text: str) -> list[float]:
    """Return the epsilons of a list such as ``1,2,4``, ascending.

    Raises:
        InputError: an entry is no positive finite number, or is there twice.
    """
    epsilons: list[float] = []
    for entry in text.split(","):
        try:
            value = float(entry)
        except ValueError:
            value = math.nan
        if not 0 < value < math.inf:
            raise InputError(
                f"The epsilons must be finite numbers above 0, with commas between. Got {entry.strip()!r} in "
                f"{text!r}: give for example --epsilon 1,2,4."
            )
        if value in epsilons:
            raise InputError(f"The epsilons must differ. Got {value:g} twice in {text!r}: give each once.")
        epsilons.append(value)
    return sorted(epsilons)


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


def _check_classifier(name: str) -> None:
    from deniable.measure.classifiers import CLASSIFIERS  # noqa: PLC0415

    if name not in CLASSIFIERS:
        raise unknown_name_error("classifier", name, list(CLASSIFIERS))


def _parse_labels(table: "TextColumns", label: str | None) -> "ClassLabels | None":
    from deniable.measure.labels import encode_labels  # noqa: PLC0415

    return None if label is None else encode_labels(table[label], label)


def _describe_missing_cells(
    source: str, table: "TextColumns", column: str, label: str | None, author: str | None
) -> list[str]:
    """Return which rows lack a text, a label or an author, and what they then have no part in."""
    from deniable.measure.labels import encode_labels  # noqa: PLC0415

    empty_rows = [row for row, text in enumerate(table[column]) if text is None]
    lines = describe_rows(source, empty_rows, "without a text, read as empty")
    for name, purpose in ((label, "classifiers"), (author, "attacks on authorship")):
        if name is not None:
            unlabelled_rows = encode_labels(table[name], name).unlabelled_rows.tolist()
            lines += describe_rows(source, unlabelled_rows, f"without a label in {name!r}, no part of {purpose}")
    return lines


def _build_mechanisms(space: "Space", name: str, epsilons: list[float], prior: "Prior") -> "list[WordMechanism]":
    """Return one mechanism for each epsilon over one space, calibrated and verified."""
    from deniable.auditing import verify  # noqa: PLC0415

    for note in space.notes:
        typer.echo(f"note: {note}", err=True)
    mechanisms = []
    for number, epsilon in enumerate(epsilons, 1):
        start = time.perf_counter()
        with show_passes(f"calibrating and verifying epsilon {epsilon:g}"):
            mechanism = build_word_mechanism(space, name, epsilon)
            verify(mechanism)
            mechanism.expected_kept_share(prior)
        mechanisms.append(mechanism)
        seconds = time.perf_counter() - start
        if seconds > _SLOW_SECONDS:
            typer.echo(
                f"epsilon {epsilon:g}: calibrated and verified in {seconds:.0f} s, which is done once and kept "
                f"({number} of {len(epsilons)})",
                err=True,
            )
    return mechanisms


def _format_command_line(context: typer.Context) -> str:
    """Return the command line with the options that were given."""
    arguments = ["deniable", "measure", context.params["source"]]
    for option in context.command.params:
        parameter_source = context.get_parameter_source(option.name or "")
        if option.name == "source" or parameter_source is None or parameter_source.name != "COMMANDLINE":
            continue
        value = context.params[option.name or ""]
        arguments += [option.opts[0]] if value is True else [option.opts[0], str(value)]
    return shlex.join(arguments)
