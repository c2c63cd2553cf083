"""``deniable measure``: what each epsilon of words protects and what it costs on a table, as one page."""

import dataclasses
import time
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal

import typer

from deniable.cli.commandline import option
from deniable.cli.entities import find_entity_file, label_measured_texts
from deniable.cli.options import MECHANISM_NAMES, TableArgument, WordOptions, WordPrivacy
from deniable.cli.owner_remarks import warn_of_texts
from deniable.cli.printed_commands import format_command_line
from deniable.cli.progress import show_passes
from deniable.cli.rows import Roles, Rows, describe_rows, read_public_table, read_table
from deniable.cli.surveys import PageOptions, ReaderChoice, SurveySize, parse_epsilons
from deniable.cli.tables import TableOptions
from deniable.cli.terminal import say
from deniable.core.errors import InputError
from deniable.core.numbers import format_exact
from deniable.core.parallel import expect_passes
from deniable.survey.limits import Limits

if TYPE_CHECKING:
    from deniable.measure.labels import ClassLabels
    from deniable.space import Space
    from deniable.words import WordMechanism
    from deniable.words.prior import Prior

_SLOW_SECONDS = 3.0
"""Seconds of a calibration from which on it is worth saying that its result is cached."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class MeasuredWords(WordOptions):
    """Privacy.

    Attributes:
        epsilons: epsilons to compare, separated by commas.
        mechanism: word mechanism; auto is tight where it is fast and keeps more words, otherwise calibrated.
    """

    epsilons: str = dataclasses.field(default="0.5,1,2,3,4,6,8", metadata=option(metavar="E,E,..."))
    mechanism: str = dataclasses.field(default="auto", metadata=option(choices=MECHANISM_NAMES, metavar="MECHANISM"))


@dataclasses.dataclass(frozen=True, kw_only=True)
class MeasuredColumns:
    """Data.

    Attributes:
        column: name of the column with text.
        label: name of the column with classes, to measure usefulness and membership attacks.
        author: name of the column with authors, for authorship attacks.
        entities: names to count in the output; .jsonl, .txt or PKG.MOD:DETECTOR.
        unescape: decode HTML entities such as &#039; before words are read.
    """

    column: str = dataclasses.field(default="text", metadata=option("--column", "-c", metavar="COLUMN"))
    label: str | None = dataclasses.field(default=None, metadata=option(metavar="COLUMN"))
    author: str | None = dataclasses.field(default=None, metadata=option(metavar="COLUMN"))
    entities: str | None = dataclasses.field(default=None, metadata=option(metavar="SOURCE"))
    unescape: Literal["html"] | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Measurements(Limits, SurveySize):
    """Measurements.

    Attributes:
        public_texts: texts that the attacker knows; one per line, or a table with the same column.
        classifier: classifier that measures usefulness; fasttext requires the train extra of deniable.
        seed: seed of all random draws; the same seed gives the same results.
    """

    public_texts: str | None = dataclasses.field(default=None, metadata=option(metavar="FILE"))
    classifier: Literal["tfidf", "fasttext"] = "tfidf"
    seed: int = 0


def run_measure(
    context: typer.Context,
    source: TableArgument,
    words: MeasuredWords,
    sizes: Measurements,
    columns: MeasuredColumns,
    attacker: ReaderChoice,
    table_format: TableOptions,
    page: PageOptions,
) -> None:
    """Measure what each epsilon protects and what it costs on a table, and say whether to share it.

    Writes an HTML page with original private text, for the owner of the texts, and the figures as JSON. Requires the
    measure extra of deniable.

    Examples:
        deniable measure reviews.csv --label stars --epsilons 2,2.8,4 --output report.html
    """
    from deniable.survey.summary import TableRelease
    from deniable.survey.survey import Bench, survey_table
    from deniable.survey.table import Plan, build_table
    from deniable.survey.words import Words
    from deniable.text.escapes import decode_escapes
    from deniable.text.tables.copied_columns import CopiedColumns
    from deniable.text.tables.layout import TableLayout

    epsilons = parse_epsilons(words.epsilons)
    plan = Plan(sizes.classifier, shadows=sizes.shadow_models, rows=sizes.limit, seed=sizes.seed)
    page.check(source, sizes.public_texts, find_entity_file(columns.entities), attacker.watch, *words.list_files())
    watch = attacker.read_watch()
    copied = CopiedColumns(TableLayout(source, (columns.column,)))
    roles = Roles(text=columns.column, label=columns.label, author=columns.author)
    rows = read_table(source, table_format, roles, copied=copied)
    cells = rows.columns[columns.column]
    labels, remarks = _encode_classes(rows)
    known = None
    if sizes.public_texts is not None:
        public = read_public_table(sizes.public_texts, table_format, Roles(text=columns.column))
        if not any(map(str.strip, public.texts)):
            raise InputError(
                f"The public file {sizes.public_texts!r} holds no text: give one with texts, or leave out "
                "--public-texts."
            )
        known = [decode_escapes(text, columns.unescape) for text in public.texts]
    authors = None if columns.author is None else rows.columns[columns.author]
    texts = [None if text is None else decode_escapes(text, columns.unescape) for text in cells]
    # Refuses what cannot be measured, early.
    table = build_table(texts, labels, plan, authors=authors, known=known)
    spans = label_measured_texts(columns.entities, cells, columns.column, escapes=columns.unescape, rows=table.rows)
    if spans is not None:
        table = dataclasses.replace(table, entities=[spans[row] for row in table.rows.tolist()])
    space = words.build()
    prior = words.load_prior(space)
    reader = attacker.build(space, prior)
    bench = Bench(table, plan, space, prior, reader, watch)
    mechanisms = _build_mechanisms(space, words.mechanism, epsilons, prior)
    survey = survey_table(
        bench,
        [Words(mechanism, copied.describe()) for mechanism in mechanisms],
        limits=Limits(sizes.max_recovery, sizes.min_retained),
        progress=show_passes,
    )
    for remark in remarks:
        say(remark, err=True)
    warn_of_texts(table.texts, space)
    release = TableRelease(PurePath(source).name, columns.column, copied.describe())
    page.write(survey, release, format_command_line(context, "measure"))


def _encode_classes(rows: Rows) -> "tuple[ClassLabels | None, list[str]]":
    """Return the classes of a table, and which rows lack what, for the owner."""
    from deniable.measure.labels import encode_labels

    empty_rows = [row for row, text in enumerate(rows.columns[rows.roles.text]) if text is None]
    remarks = describe_rows(rows.source, empty_rows, "without a text, read as empty")
    labels = None
    for name, purpose in ((rows.roles.label, "classifiers"), (rows.roles.author, "attacks on authorship")):
        if name is not None:
            classes = encode_labels(rows.columns[name], name)
            labels = classes if name == rows.roles.label else labels
            without = f"without a label in {name!r}, not used for {purpose}"
            remarks += describe_rows(rows.source, classes.unlabelled_rows.tolist(), without)
            lone = f"with a label in {name!r} that no other row has, not used for {purpose}"
            remarks += describe_rows(rows.source, classes.lone_rows.tolist(), lone)
    return labels, remarks


def _build_mechanisms(space: "Space", name: str, epsilons: list[float], prior: "Prior") -> "list[WordMechanism]":
    """Return one mechanism for each epsilon over one space, calibrated and verified."""
    from deniable.auditing import verify

    for note in space.notes:
        say(f"note: {note}", err=True)
    mechanisms = []
    for number, epsilon in enumerate(epsilons, 1):
        start = time.perf_counter()
        with show_passes(f"calibrating and verifying epsilon {format_exact(epsilon)}"), expect_passes(0):
            with expect_passes(1):
                mechanism = WordPrivacy(epsilon=epsilon, mechanism=name).build(space)
                verify(mechanism)
            mechanism.expected_kept_share(prior)
        mechanisms.append(mechanism)
        seconds = time.perf_counter() - start
        if seconds > _SLOW_SECONDS:
            say(
                f"epsilon {format_exact(epsilon)}: calibrated and verified in {seconds:.0f} s; the result is cached "
                f"({number} of {len(epsilons)})",
                err=True,
            )
    return mechanisms
