"""``deniable measure``: what each epsilon protects and what it costs on a table, as one page."""

import json
import math
import time
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.cli.building import (
    build_space,
    build_word_mechanism,
    check_mechanism_epsilon,
    find_word_files,
    load_word_prior,
)
from deniable.cli.choices import ClassifierName, MechanismName, MetricName
from deniable.cli.entities import EntitiesOption, find_entity_file, label_measured_texts
from deniable.cli.options import (
    DATA_PANEL,
    HIDE_DEFAULT,
    OUTPUT_PANEL,
    PRIVACY_PANEL,
    DelimiterOption,
    EncodingOption,
    ForceOption,
    FormatOption,
    HideOption,
    MechanismOption,
    MetricOption,
    PriorOption,
    QuotingOption,
    RecordIdOption,
    SpaceOption,
    TableArgument,
    TextColumnOption,
    UnescapeOption,
    make_option,
)
from deniable.cli.owner_remarks import decode_texts, get_escapes, warn_of_texts
from deniable.cli.printed_commands import format_command_line
from deniable.cli.progress import show_passes
from deniable.cli.survey_tables import (
    format_advice,
    format_entities,
    format_frequencies,
    format_survey,
    read_survey_table,
)
from deniable.cli.tables import TableOptions, read_public_texts
from deniable.core.errors import InputError
from deniable.core.files import PIPE
from deniable.core.numbers import format_exact
from deniable.core.parallel import expect_passes

if TYPE_CHECKING:
    from deniable.measure.report.findings import SurveyResult
    from deniable.space import Space
    from deniable.words import WordMechanism
    from deniable.words.prior import Prior

DEFAULT_EPSILONS = "0.5,1,2,3,4,6,8"
_MEASUREMENT_PANEL = "Measurements"
_ADVICE_PANEL = "Advice"
_SLOW_SECONDS = 3.0
"""Seconds of a calibration from which on it is worth saying that its result is cached."""

EpsilonsOption = Annotated[
    str, make_option(PRIVACY_PANEL, "--epsilons", "Epsilons to compare, separated by commas.", metavar="E,E,...")
]
PublicTextsOption = Annotated[
    str | None,
    make_option(
        _MEASUREMENT_PANEL,
        "--public-texts",
        "Texts that the attacker knows: one a line, or a table with the same column.",
        metavar="FILE",
    ),
]
ClassifierOption = Annotated[
    ClassifierName,
    make_option(
        _MEASUREMENT_PANEL,
        "--classifier",
        "Classifier that measures utility. fasttext requires the train extra of deniable.",
    ),
]
FoldsOption = Annotated[int, make_option(_MEASUREMENT_PANEL, "--folds", "Number of cross-validation folds.")]
ShadowModelsOption = Annotated[
    int,
    make_option(
        _MEASUREMENT_PANEL, "--shadow-models", "Number of models trained for each membership attack; an even number."
    ),
]
ExamplesOption = Annotated[int, make_option(_MEASUREMENT_PANEL, "--examples", "Number of rows shown before and after.")]
MeasureSeedOption = Annotated[
    int, make_option(_MEASUREMENT_PANEL, "--seed", "Seed of all random draws; the same seed gives the same results.")
]
MeasuredMaximumRecoveryOption = Annotated[
    float,
    make_option(
        _ADVICE_PANEL,
        "--max-recovery",
        "Maximum share of words that attackers may guess for an epsilon to count as protected.",
        metavar="SHARE",
    ),
]
MinimumRetainedOption = Annotated[
    float,
    make_option(
        _ADVICE_PANEL,
        "--min-retained",
        "Minimum share of a classifier's gain over a blind guess that private texts must retain to count as useful.",
        metavar="SHARE",
    ),
]
OptionalLabelOption = Annotated[
    str | None,
    make_option(
        DATA_PANEL, "--label", "Name of the column with classes, for utility and membership attacks.", metavar="COLUMN"
    ),
]
AuthorOption = Annotated[
    str | None,
    make_option(DATA_PANEL, "--author", "Name of the column with authors, for authorship attacks.", metavar="COLUMN"),
]
SampleLimitOption = Annotated[
    int, make_option(DATA_PANEL, "--limit", "Maximum number of rows to use (a random sample).", metavar="ROWS")
]
PageOption = Annotated[str, make_option(OUTPUT_PANEL, "--output", "-o", "HTML page to write.", metavar="HTML")]
FiguresOption = Annotated[
    str | None,
    make_option(
        OUTPUT_PANEL, "--figures", "JSON file for the figures.", metavar="FILE", default_text="OUTPUT with .json"
    ),
]


def run_measure(
    context: typer.Context,
    source: TableArgument,
    *,
    epsilons: EpsilonsOption = DEFAULT_EPSILONS,
    mechanism: MechanismOption = MechanismName.AUTO,
    public_texts: PublicTextsOption = None,
    classifier: ClassifierOption = ClassifierName.TFIDF,
    folds: FoldsOption = 5,
    shadow_models: ShadowModelsOption = 16,
    examples: ExamplesOption = 10,
    seed: MeasureSeedOption = 0,
    max_recovery: MeasuredMaximumRecoveryOption = 0.2,
    min_retained: MinimumRetainedOption = 0.5,
    column: TextColumnOption = "text",
    label: OptionalLabelOption = None,
    author: AuthorOption = None,
    entities: EntitiesOption = None,
    record_id: RecordIdOption = None,
    limit: SampleLimitOption = 5_000,
    unescape: UnescapeOption = None,
    space: SpaceOption = "glove",
    metric: MetricOption = MetricName.STEPS,
    hide: HideOption = HIDE_DEFAULT,
    prior: PriorOption = None,
    format_: FormatOption = None,
    delimiter: DelimiterOption = None,
    quoting: QuotingOption = None,
    encoding: EncodingOption = "utf-8",
    output: PageOption,
    figures: FiguresOption = None,
    force: ForceOption = False,
) -> None:
    """Measure what each epsilon protects and what it costs on a table, and say whether to share it.

    Writes an HTML page with original private text, for the owner of the texts, and the figures as JSON. Requires the
    plot extra of deniable.
    """
    from deniable.core.files import check_outputs
    from deniable.measure.report.advice import AdviceLimits, check_limits
    from deniable.measure.report.inputs import SurveyPlan, build_survey_inputs, check_survey_plan
    from deniable.measure.report.page import load_template
    from deniable.measure.report.survey import survey_table

    epsilon_values = parse_epsilons(epsilons)
    plan = SurveyPlan(classifier.value, folds, shadow_models, examples, rows=limit, seed=seed)
    check_survey_plan(plan)
    limits = AdviceLimits(max_recovery, min_retained)
    check_limits(limits)
    load_template()
    figures_path = _resolve_figures_path(output, figures)
    other_inputs = [public_texts, prior, *find_word_files(space, hide), find_entity_file(entities)]
    check_outputs([output, figures_path], [source, *other_inputs], force=force)
    table_format = TableOptions(format_, delimiter, encoding, quoting)
    table = read_survey_table(source, (column, label, author), table_format, record_id)
    texts = decode_texts(table.texts, unescape)
    # Refuses what cannot be measured, early.
    inputs = build_survey_inputs(texts, table.labels, table.authors, plan)
    labelled_texts = label_measured_texts(
        entities, table.texts, table.record_ids, column, escapes=get_escapes(unescape), rows=inputs.rows
    )
    known_texts = None
    if public_texts is not None:
        known_texts = read_public_texts(public_texts, column, TableOptions(None, delimiter, encoding, quoting))
        known_texts = decode_texts(known_texts, unescape)
    check_mechanism_epsilon(mechanism, epsilon_values[0])
    word_space = build_space(space, metric, hide)
    word_prior = load_word_prior(prior, word_space)
    survey_result = survey_table(
        texts,
        _build_mechanisms(word_space, mechanism, epsilon_values, word_prior),
        labels=table.labels,
        authors=table.authors,
        public=known_texts,
        entities=labelled_texts,
        prior=word_prior,
        columns=table.copied,
        plan=plan,
        limits=limits,
        progress=show_passes,
    )
    _write_report(survey_result, format_command_line(context, "measure"), output, figures_path, force=force)
    for remark in table.remarks:
        typer.echo(remark, err=True)
    warn_of_texts(inputs.texts, word_space)
    for line in (
        *format_advice(survey_result.advice),
        *format_survey(survey_result),
        *format_frequencies(survey_result),
        *format_entities(survey_result),
    ):
        typer.echo(line)
    typer.echo(f"report: {output} (holds original private text: for you only); figures: {figures_path}")


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
                f"{text!r}: give for example --epsilons 1,2,4."
            )
        if value in epsilons:
            raise InputError(f"The epsilons must differ. Got {format_exact(value)} twice in {text!r}: give each once.")
        epsilons.append(value)
    return sorted(epsilons)


def _resolve_figures_path(page: str, given_path: str | None) -> str:
    """Return where the figures go.

    Raises:
        InputError: the page or the figures would go to a pipe.
    """
    path = given_path or str(PurePath(page).with_suffix(".json"))
    for name, checked_path in (("page", page), ("file of figures", path)):
        if checked_path == PIPE:
            raise InputError(f"The {name} must be a file. Got '-': give a path.")
    return path


def _write_report(survey_result: "SurveyResult", command_line: str, page: str, figures: str, *, force: bool) -> None:
    """Write the page and the figures, both or neither; nobody but their owner can open them."""
    from deniable.core.files import open_outputs
    from deniable.measure.report.page import render_report

    html = render_report(survey_result, command_line)
    figures_json = json.dumps(survey_result.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
    with open_outputs(page, figures, force=force, owner_only=[page, figures]) as streams:
        for stream, content in zip(streams, (html, figures_json + "\n"), strict=True):
            stream.write(content.encode("utf-8", "backslashreplace"))


def _build_mechanisms(space: "Space", name: str, epsilons: list[float], prior: "Prior") -> "list[WordMechanism]":
    """Return one mechanism for each epsilon over one space, calibrated and verified."""
    from deniable.auditing import verify

    for note in space.notes:
        typer.echo(f"note: {note}", err=True)
    mechanisms = []
    for number, epsilon in enumerate(epsilons, 1):
        start = time.perf_counter()
        with show_passes(f"calibrating and verifying epsilon {format_exact(epsilon)}"), expect_passes(0):
            with expect_passes(1):
                mechanism = build_word_mechanism(space, name, epsilon)
                verify(mechanism)
            mechanism.expected_kept_share(prior)
        mechanisms.append(mechanism)
        seconds = time.perf_counter() - start
        if seconds > _SLOW_SECONDS:
            typer.echo(
                f"epsilon {format_exact(epsilon)}: calibrated and verified in {seconds:.0f} s; the result is cached "
                f"({number} of {len(epsilons)})",
                err=True,
            )
    return mechanisms
