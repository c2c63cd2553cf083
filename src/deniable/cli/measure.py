"""``deniable measure``: what each epsilon gives and takes on a table, as one page."""

import json
import math
import shlex
import time
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.cli.left_out import describe_rows
from deniable.cli.options import (
    Delimiter,
    FormatName,
    Mechanism,
    MetricName,
    PriorFile,
    SpaceSource,
    build_space,
    check_mechanism,
    load_prior,
    mechanism_on,
    unknown_name,
    vector_files,
)
from deniable.cli.progress import passes
from deniable.cli.tables import Form, read_public, read_table
from deniable.errors import InputError

if TYPE_CHECKING:
    from deniable.measure.labels import Labels
    from deniable.measure.report.findings import Survey
    from deniable.space import Space
    from deniable.text.tables.columns import Columns
    from deniable.words import WordMechanism
    from deniable.words.prior import Prior

PIPE = "-"
EPSILONS = "0.5,1,2,3,4,6,8"
_LONG = 3.0
"""Seconds of a calibration from which on it is worth saying that it is kept."""


def measure(
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
    mechanism: Mechanism = "auto",
    epsilon: Annotated[str, typer.Option("--epsilon", help="Privacy parameters, with commas between.")] = EPSILONS,
    space: SpaceSource = "glove",
    metric: MetricName = "euclidean",
    public: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Texts that an attacker has: one a line, or a table with the same column."),
    ] = None,
    prior: PriorFile = None,
    classifier: Annotated[str, typer.Option(help="tfidf, or fasttext, which needs torch.")] = "tfidf",
    folds: Annotated[int, typer.Option(help="Of the cross-validations.")] = 5,
    shadows: Annotated[int, typer.Option(help="Models trained for a membership attack, an even number.")] = 16,
    examples: Annotated[int, typer.Option(help="Rows shown as they were and as they became.")] = 10,
    limit: Annotated[int, typer.Option(metavar="ROWS", help="Rows measured, at most; drawn at random.")] = 5_000,
    seed: Annotated[int, typer.Option(help="Public seed; the figures follow from it.")] = 0,
    format_: FormatName = None,
    delimiter: Delimiter = None,
    encoding: Annotated[str, typer.Option(help="Of the input and of the public texts.")] = "utf-8",
    force: Annotated[bool, typer.Option("--force", help="Overwrite outputs that exist.")] = False,  # noqa: FBT002
) -> None:
    """Measure what each epsilon gives and takes on a table: which to choose, and what is lost.

    Writes one page that holds original private text, for the owner of the texts, and its figures as
    JSON. Needs jinja2: deniable[plot].
    """
    from deniable.measure.report.inputs import Plan, check_plan, prepared  # noqa: PLC0415 - keeps --help fast
    from deniable.measure.report.page import render, template  # noqa: PLC0415
    from deniable.measure.report.survey import survey  # noqa: PLC0415
    from deniable.text.tables.files import check_outputs, writing  # noqa: PLC0415

    epsilons = parse_epsilons(epsilon)
    plan = Plan(classifier, folds, shadows, examples, rows=limit, seed=seed)
    _check_classifier(classifier)
    check_plan(plan)
    template()
    figures = json_ or str(PurePath(report).with_suffix(".json"))
    for name, path in (("report", report), ("JSON", figures)):
        if path == PIPE:
            raise InputError(f"The {name} must be a file. Got '-': give a path.")
    check_outputs([report, figures], [source, public, prior, vector_files(space)], force=force)
    table = read_table(source, [column, label, author], Form(format_, delimiter, encoding))
    labelled, written = _classes(table, label), None if author is None else table[author]
    remarks = _gaps(source, table, column, label, author)
    prepared(table[column], labelled, written, plan)  # before anything that takes long
    known = None if public is None else read_public(public, column, Form(None, delimiter, encoding))
    check_mechanism(mechanism, epsilons[0])
    domain = build_space(space, metric)
    frequencies = load_prior(prior, domain)
    mechanisms = _built(domain, mechanism, epsilons, frequencies)
    found = survey(
        table[column],
        mechanisms,
        labels=labelled,
        authors=written,
        public=known,
        prior=frequencies,
        columns=[name for name in (label, author) if name],
        plan=plan,
        stage=passes,
    )
    page = render(found, _command(context))
    numbers = json.dumps(found.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
    with writing(report, figures, force=force, owner_only=[report, figures]) as streams:
        for stream, content in zip(streams, (page, numbers + "\n"), strict=True):
            stream.write(content.encode("utf-8", "backslashreplace"))
    for line in remarks:
        typer.echo(line, err=True)
    for line in lines(found):
        typer.echo(line)
    typer.echo(f"report: {report} (holds original private text: for you alone); figures: {figures}")


def parse_epsilons(given: str) -> list[float]:
    """Return the epsilons of a list such as ``1,2,4``, ascending.

    Raises:
        InputError: an entry is no positive finite number, or is there twice.
    """
    found: list[float] = []
    for entry in given.split(","):
        try:
            value = float(entry)
        except ValueError:
            value = math.nan
        if not 0 < value < math.inf:
            raise InputError(
                f"The epsilons must be finite numbers above 0, with commas between. Got {entry.strip()!r} in "
                f"{given!r}: give for example --epsilon 1,2,4."
            )
        if value in found:
            raise InputError(f"The epsilons must differ. Got {value:g} twice in {given!r}: give each once.")
        found.append(value)
    return sorted(found)


def lines(found: "Survey") -> list[str]:
    """Return the survey as a short table, one line an epsilon."""
    heads = [f"{'epsilon':>8}", f"{'verdict':<26}", f"{'attacker names':>15}", f"{'words kept':>11}"]
    labelled, written = bool(found.table.classes), found.readings[0].authorship is not None
    heads += [f"{'accuracy':>9}", f"{'membership':>11}"] * labelled + [f"{'authors':>8}"] * written
    out = [" ".join(heads)]
    for reading in found.readings:
        cells = [
            f"{reading.epsilon:>8g}",
            f"{reading.promise.standing:<26}",
            f"{100 * reading.strongest.value:>13.1f} %",
            f"{100 * reading.similarity.unchanged.value:>9.1f} %",
        ]
        if reading.utility is not None:
            cells += [f"{100 * reading.utility.private.value:>7.1f} %"]
            cells += [f"{reading.membership['original'].auc.value:>11.3f}"]
        if reading.authorship is not None:
            cells.append(f"{100 * reading.authorship.adaptive.value:>6.1f} %")
        out.append(" ".join(cells))
    first = found.readings[0].utility
    if first is not None and found.originals is not None:
        cells = [f"{'original':>8}", " " * 26, " " * 15, " " * 11]
        cells += [f"{100 * first.original.value:>7.1f} %", f"{found.originals.auc.value:>11.3f}"]
        out.append(" ".join(cells))
    return out


def _check_classifier(name: str) -> None:
    from deniable.measure.classifiers import CLASSIFIERS  # noqa: PLC0415

    if name not in CLASSIFIERS:
        raise unknown_name("classifier", name, list(CLASSIFIERS))


def _classes(table: "Columns", label: str | None) -> "Labels | None":
    from deniable.measure.labels import labels  # noqa: PLC0415

    return None if label is None else labels(table[label], label)


def _gaps(source: str, table: "Columns", column: str, label: str | None, author: str | None) -> list[str]:
    """Return which rows lack a text, a label or an author, and what they then have no part in."""
    from deniable.measure.labels import labels  # noqa: PLC0415

    empty = [row for row, text in enumerate(table[column]) if text is None]
    lines = describe_rows(source, empty, "without a text, read as empty")
    for name, part in ((label, "classifiers"), (author, "attacks on authorship")):
        if name is not None:
            missing = labels(table[name], name).unlabelled.tolist()
            lines += describe_rows(source, missing, f"without a label in {name!r}, no part of {part}")
    return lines


def _built(space: "Space", name: str, epsilons: list[float], prior: "Prior") -> "list[WordMechanism]":
    """Return one mechanism for each epsilon over one space, calibrated and verified."""
    from deniable.auditing import verify  # noqa: PLC0415

    for note in space.notes:
        typer.echo(f"note: {note}", err=True)
    built = []
    for done, epsilon in enumerate(epsilons, 1):
        start = time.perf_counter()
        with passes(f"calibrating and verifying epsilon {epsilon:g}"):
            made = mechanism_on(space, name, epsilon)
            verify(made)
            made.expected_kept(prior)
        built.append(made)
        seconds = time.perf_counter() - start
        if seconds > _LONG:
            typer.echo(
                f"epsilon {epsilon:g}: calibrated and verified in {seconds:.0f} s, which is done once and kept "
                f"({done} of {len(epsilons)})",
                err=True,
            )
    return built


def _command(context: typer.Context) -> str:
    """Return the command line with the options that were given."""
    words = ["deniable", "measure", context.params["source"]]
    for option in context.command.params:
        given = context.get_parameter_source(option.name or "")
        if option.name == "source" or given is None or given.name != "COMMANDLINE":
            continue
        value = context.params[option.name or ""]
        words += [option.opts[0]] if value is True else [option.opts[0], str(value)]
    return shlex.join(words)
