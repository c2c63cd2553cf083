"""``deniable compare``: every way to release a table side by side, and what to do with it, as one page."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.cli.building import build_space, find_word_files
from deniable.cli.choices import MetricName, NeedName, RewritingMethodName
from deniable.cli.commands.measure import (
    FoldsOption,
    MeasuredMaximumRecoveryOption,
    MeasureSeedOption,
    MinimumRetainedOption,
    SampleLimitOption,
    ShadowModelsOption,
    parse_epsilons,
)
from deniable.cli.commands.train.options import MaxRecordsOption, PersonOption, PublicLabelOption, PublicOption
from deniable.cli.comparison_lines import format_comparison, format_recommendation
from deniable.cli.entities import EntitiesOption, find_entity_file, label_measured_texts
from deniable.cli.options import (
    HIDE_DEFAULT,
    OUTPUT_PANEL,
    PRIVACY_PANEL,
    DelimiterOption,
    EncodingOption,
    ForceOption,
    FormatOption,
    HideOption,
    JsonOption,
    LabelledTableArgument,
    LabelOption,
    QuotingOption,
    SpaceOption,
    TextColumnOption,
    UnescapeOption,
    list_choices,
    make_option,
)
from deniable.cli.owner_remarks import decode_texts, get_escapes, warn_of_texts
from deniable.cli.printed_commands import TABLE_OPTIONS, format_command, format_command_line, select_given
from deniable.cli.private_tables import PrivateColumns, PublicFile, describe_missing_person
from deniable.cli.progress import show_passes
from deniable.cli.tables import TableOptions, read_table_columns
from deniable.cli.usable_rows import select_usable_rows
from deniable.core.errors import InputError
from deniable.core.files import PIPE
from deniable.core.numbers import format_exact
from deniable.persons.value_lists import format_list

if TYPE_CHECKING:
    from deniable.comparison.findings import Comparison, ReleaseResult
    from deniable.comparison.inputs import ComparisonInputs
    from deniable.comparison.recommendation import Recommendation
    from deniable.comparison.record_releases import RewritingMaker
    from deniable.comparison.training import CollectionSetting
    from deniable.core.report import Report
    from deniable.measure.entities.labelling import LabelledTexts
    from deniable.rewriting.methods.base import RewritingMethod

_MEASUREMENT_PANEL = "Measurements"
_ADVICE_PANEL = "Advice"
BudgetsOption = Annotated[
    str,
    make_option(
        PRIVACY_PANEL,
        "--epsilons",
        "Epsilons of the collection to compare, separated by commas.",
        metavar="E,E,...",
    ),
]
ComparedDeltaOption = Annotated[
    float | None,
    make_option(PRIVACY_PANEL, "--delta", "Delta of these budgets.", default_text="1/(10 n), to a power of ten"),
]
RecoveriesOption = Annotated[
    str,
    make_option(
        PRIVACY_PANEL,
        "--recoveries",
        "Shares of words that attackers guess, for which epsilons of words are found.",
        metavar="S,S,...",
    ),
]
RewriterOption = Annotated[
    Path | None,
    make_option(PRIVACY_PANEL, "--model", "Model of deniable train rewriter, to compare records too.", metavar="FILE"),
]
ComparedMethodOption = Annotated[
    RewritingMethodName,
    make_option(
        PRIVACY_PANEL,
        "--method",
        f"Rewriting method, for --model: {list_choices(RewritingMethodName)}.",
        metavar="METHOD",
    ),
]
RecordEpsilonsOption = Annotated[
    str, make_option(PRIVACY_PANEL, "--text-epsilons", "Epsilons of each text, for --model.", metavar="E,E,...")
]
SyntheticRowsOption = Annotated[
    int, make_option(_MEASUREMENT_PANEL, "--rows", "Number of synthetic records to learn from.", min=2)
]
NeedOption = Annotated[
    NeedName, make_option(_ADVICE_PANEL, "--need", f"What you need from the table: {list_choices(NeedName)}.")
]
PageOption = Annotated[str, make_option(OUTPUT_PANEL, "--report", "HTML page to write.", metavar="HTML")]


@dataclasses.dataclass(frozen=True)
class _ComparedTable:
    """The usable rows of a table.

    Attributes:
        rows: their numbers in the table.
        cells: all texts of the table, as they stand there.
        texts: decoded texts of the rows.
        labels: their labels.
        persons: to whom they belong; None where each record is hidden by itself.
        remarks: on rows that were left out, for the owner.
    """

    rows: list[int]
    cells: list[str | None]
    texts: list[str | None]
    labels: list[str | None]
    persons: list[str | None] | None
    remarks: list[str]


def run_compare(
    context: typer.Context,
    source: LabelledTableArgument,
    *,
    label: LabelOption,
    person: PersonOption = None,
    max_records: MaxRecordsOption = None,
    epsilons: BudgetsOption = "1,4,8",
    delta: ComparedDeltaOption = None,
    recoveries: RecoveriesOption = "0.1,0.2,0.5",
    public: PublicOption = None,
    public_label: PublicLabelOption = None,
    model: RewriterOption = None,
    method: ComparedMethodOption = RewritingMethodName.TOKENS,
    text_epsilons: RecordEpsilonsOption = "10,100,1000",
    need: NeedOption = NeedName.TEXTS,
    max_recovery: MeasuredMaximumRecoveryOption = 0.2,
    min_retained: MinimumRetainedOption = 0.5,
    folds: FoldsOption = 5,
    shadow_models: ShadowModelsOption = 16,
    rows: SyntheticRowsOption = 4_000,
    seed: MeasureSeedOption = 0,
    column: TextColumnOption = "text",
    entities: EntitiesOption = None,
    limit: SampleLimitOption = 5_000,
    unescape: UnescapeOption = None,
    space: SpaceOption = "glove",
    hide: HideOption = HIDE_DEFAULT,
    format_: FormatOption = None,
    delimiter: DelimiterOption = None,
    quoting: QuotingOption = None,
    encoding: EncodingOption = "utf-8",
    report: PageOption,
    as_json: JsonOption = False,
    force: ForceOption = False,
) -> None:
    """Compare the ways to release a table: word by word, record by record, and the collection as a whole.

    Writes an HTML page for the owner of the table, with what each way guarantees, what attackers achieve, what is left
    of use, and one recommendation with its command. Requires the plot extra of deniable.
    """
    from deniable.comparison.comparison import ComparisonSetting, compare_releases
    from deniable.comparison.inputs import ComparisonPlan, build_comparison_inputs
    from deniable.comparison.recommendation import recommend_release
    from deniable.comparison.report import build_report
    from deniable.core.files import check_outputs
    from deniable.measure.report.advice import AdviceLimits, check_limits
    from deniable.measure.report.page import load_template

    limits = AdviceLimits(max_recovery, min_retained)
    check_limits(limits)
    plan = ComparisonPlan(
        budgets=tuple(parse_epsilons(epsilons)),
        delta=delta,
        recoveries=tuple(parse_epsilons(recoveries)),
        record_epsilons=tuple(parse_epsilons(text_epsilons)),
        folds=folds,
        shadows=shadow_models,
        synthetic_rows=rows,
        rows=limit,
        seed=seed,
    )
    columns = PrivateColumns(column, label, person, TableOptions(format_, delimiter, encoding, quoting))
    load_template()
    _check_options(report, person, max_records, public, public_label)
    check_outputs(
        [report], [source, public, model, *find_word_files(space, hide), find_entity_file(entities)], force=force
    )
    table = _read_table(source, columns, unescape)
    for remark in table.remarks:
        typer.echo(remark, err=True)
    word_space = build_space(space, MetricName.STEPS, hide)
    warn_of_texts([text for text in table.texts if text], word_space)
    inputs = build_comparison_inputs(table.texts, table.labels, table.persons, plan)
    public_file = None if public is None else PublicFile(public, column, public_label, columns.table_format)
    setting = ComparisonSetting(
        word_space,
        _build_collection(inputs, public_file, source, space, max_records),
        make_method=None if model is None else _load_method_maker(model, method, inputs.delta),
        entities=_label_entities(entities, table, inputs, column, unescape),
    )
    comparison = compare_releases(inputs, setting, plan, show_passes)
    recommendation = recommend_release(comparison, need.value, limits)
    recommendation, next_command = _add_command(recommendation, context, columns, inputs.classes)
    found = build_report(comparison, recommendation, format_command_line(context, "compare"), next_command)
    _write_page(report, comparison, found, force=force)
    if as_json:
        typer.echo(found.to_json(), nl=False)
    else:
        for line in (*format_recommendation(recommendation, next_command), *format_comparison(comparison)):
            typer.echo(line)
    typer.echo(f"report: {report} (figures about private records: for you only)", err=True)


def _add_command(
    recommendation: "Recommendation", context: typer.Context, columns: PrivateColumns, classes: Sequence[str]
) -> "tuple[Recommendation, str]":
    """Return a recommendation and its command; with a reason more where the command cannot do all that was given."""
    release = recommendation.release
    if release is None:
        return recommendation, ""
    if context.params["unescape"] is not None and release.way in {"classifier", "synthetic texts"}:
        reason = "The command reads texts as they stand: decode their HTML entities first, as --unescape did here."
        recommendation = dataclasses.replace(recommendation, reasons=(*recommendation.reasons, reason))
    return recommendation, _format_next_command(context, columns, classes, release)


def _check_options(
    report: str, person: str | None, max_records: int | None, public: Path | None, public_label: str | None
) -> None:
    """Raise `InputError` for options at odds with each other."""
    if report == PIPE:
        raise InputError("The page must be a file. Got '-': give a path with --report.")
    if max_records is not None and person is None:
        raise InputError("--max-records is for --person: leave it out, or name the column of persons.")
    if public_label is not None and public is None:
        raise InputError("--public-label is for --public: name the public table too, or leave it out.")


def _read_table(source: str, columns: PrivateColumns, unescape: UnescapeOption) -> _ComparedTable:
    """Return the rows that have a text, a label, and a person where one is needed."""
    from deniable.measure.labels import is_blank
    from deniable.text.columns import format_name

    text, label, person = columns.text, columns.label, columns.person
    cells = read_table_columns(source, [text, label], columns.table_format, person=person)
    reasons = {
        f"{what} in {name!r}": [row for row, cell in enumerate(cells[name]) if is_blank(cell)]
        for what, name in (("without a text", text), ("without a label", label))
    }
    if person is not None:
        reasons[describe_missing_person(person)] = [row for row, one in enumerate(cells[person]) if one is None]
    if not cells[text]:
        raise InputError(f"The table {source!r} has no rows: give one with texts.")
    rows, remarks = select_usable_rows(source, len(cells[text]), reasons)
    return _ComparedTable(
        rows,
        cells[text],
        decode_texts([cells[text][row] for row in rows], unescape),
        [format_name(cells[label][row]) for row in rows],
        None if person is None else [cells[person][row] for row in rows],
        remarks,
    )


def _label_entities(
    entities: str | None, table: _ComparedTable, inputs: "ComparisonInputs", column: str, unescape: UnescapeOption
) -> "LabelledTexts | None":
    """Return the labelled spans of the compared rows."""
    import numpy as np

    rows = np.array(table.rows, dtype=np.int64)[inputs.rows]
    spans = label_measured_texts(entities, table.cells, None, column, escapes=get_escapes(unescape), rows=rows)
    return None if spans is None else [spans[row] for row in rows.tolist()]


def _build_collection(
    inputs: "ComparisonInputs", public: PublicFile | None, source: str, space: str, max_records: int | None
) -> "CollectionSetting":
    """Return what is public of the releases of the collection as a whole.

    Raises:
        InputError: the public file is the private one, or cannot be used.
    """
    from deniable.comparison.training import CollectionSetting, get_unit
    from deniable.persons.features import build_feature_map, build_space_feature_map

    texts = None
    with show_passes("public features"):
        if public is None:
            feature_map = build_space_feature_map(build_space(space, MetricName.STEPS, "none"))
        else:
            public.check_is_other_file(source)
            texts = public.read_texts(inputs.classes)[0]
            feature_map = build_feature_map(texts.texts, "the public texts")
    return CollectionSetting(
        inputs.classes,
        inputs.delta,
        get_unit(inputs.persons),
        feature_map,
        texts,
        max_records,
        "counts" if texts is None else "tilted",
    )


def _load_method_maker(model: Path, method: str, delta: float) -> "RewritingMaker":
    """Return a function from an epsilon and a seed to the rewriting method of a model file."""
    from deniable.cli.model_runs import check_torch

    check_torch()
    from deniable.registry.methods import METHODS_WITH_DELTA, rewriting_method
    from deniable.rewriting.model import load_rewriter

    rewriter = load_rewriter(model)
    options = {"delta": delta} if method in METHODS_WITH_DELTA else {}

    def make_method(epsilon: float, seed: int | None) -> "RewritingMethod":
        return rewriting_method(method, rewriter, epsilon=epsilon, seed=seed, **options)

    return make_method


def _format_next_command(
    context: typer.Context, columns: PrivateColumns, classes: Sequence[str], release: "ReleaseResult"
) -> str:
    """Return the command that makes the recommended release, to be run as it stands.

    Args:
        context: with the options that were given.
        columns: of the table.
        classes: their names.
        release: that is recommended.
    """
    given, source = context.params, context.params["source"]
    labelled = {"--column": columns.text, "--label": columns.label}
    labelled |= select_given(context, "--person", "--max-records", "--public", "--public-label")
    if "--public-label" not in labelled:  # no public label declares the classes
        labelled["--classes"] = format_list(classes)
    copied = {"--column": columns.text, "--columns": format_list([columns.label])}
    copied |= select_given(context, "--unescape")
    options: dict[str, object]
    if release.way == "classifier":
        words, output = ["train", "text"], "classifier.model"
        options = {"--kind": "dp-linear", **labelled, **select_given(context, "--space")}
    elif release.way == "synthetic texts":
        words, output = ["synthesize"], "synthetic.csv"
        # Where texts are public, theirs are the words.
        space = {} if "--public" in labelled else select_given(context, "--space")
        options = {**labelled, **space, "--rows": given["rows"]}
    elif release.way == "words":
        words, output = ["privatize"], "private"
        options = {**copied, **select_given(context, "--space", "--hide")}
    else:
        words, output = ["rewrite", str(given["model"])], "rewritten"
        options = {**copied, "--method": given["method"].value}
    options |= {"--epsilon": format_exact(release.epsilon)}
    options |= {} if release.delta is None else {"--delta": format_exact(release.delta)}
    options |= select_given(context, *TABLE_OPTIONS)
    # Which way, and at which epsilon, was chosen by looking at the private records.
    return format_command(words, source, options, output, ["--chosen-from-data"])


def _write_page(path: str, comparison: "Comparison", found: "Report", *, force: bool) -> None:
    """Write the page, whole or not at all; nobody but its owner can open it."""
    from deniable.comparison.page import render_page
    from deniable.core.files import open_outputs

    html = render_page(comparison, found)
    with open_outputs(path, force=force, owner_only=[path]) as streams:
        streams[0].write(html.encode("utf-8", "backslashreplace"))
