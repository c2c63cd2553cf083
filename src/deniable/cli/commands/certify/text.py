"""``deniable certify text``: the predictions of a text model, by interval bounds or smoothed by a word mechanism."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.cli.building import (
    build_optional_mechanism,
    build_space,
    describe_substitutions,
    find_word_files,
    read_optional_substitutions,
)
from deniable.cli.choices import MechanismName, MetricName
from deniable.cli.commandline import EXIT_REFUTED
from deniable.cli.commands.certify.intervals import certify_rows_by_intervals
from deniable.cli.commands.certify.options import (
    AlphaOption,
    AttackCountOption,
    CertifyOptions,
    CertifySeedOption,
    DrawsOption,
    ResultsOption,
    TextCertification,
    check_task,
    report_certification,
)
from deniable.cli.commands.certify.smoothing import certify_rows_by_smoothing
from deniable.cli.labelled_tables import (
    LabelledColumns,
    LabelledDocuments,
    build_documents,
    print_remarks,
    read_labelled_table,
)
from deniable.cli.model_runs import check_torch, translate_memory_errors
from deniable.cli.options import (
    ATTACK_WORDS_PANEL,
    HIDE_DEFAULT,
    DelimiterOption,
    EncodingOption,
    ForceOption,
    FormatOption,
    HideOption,
    LabelledTableArgument,
    LabelOption,
    MechanismEpsilonOption,
    MetricOption,
    PremiseOption,
    QuotingOption,
    RowLimitOption,
    SpaceOption,
    SubstitutionsOption,
    TextColumnOption,
    TextModelArgument,
    get_choice,
    list_choices,
    make_option,
)
from deniable.cli.tables import TableOptions
from deniable.core.errors import InputError

if TYPE_CHECKING:
    from deniable.models.text.model import TextModel
    from deniable.models.text.substitutions import Substitutions
    from deniable.space import Space
    from deniable.words import WordMechanism

SmoothingMechanismOption = Annotated[
    MechanismName | None,
    make_option(
        ATTACK_WORDS_PANEL,
        "--mechanism",
        (
            "Word mechanism that smooths the model, by drawing every word anew: "
            f"{list_choices(MechanismName)}. It needs --mechanism-epsilon."
        ),
        metavar="MECHANISM",
    ),
]


@dataclasses.dataclass(frozen=True)
class _AttackWords:
    """What an attack may change: at least one of the two is given.

    Attributes:
        substitutions: words that may replace each word; None for all words.
        mechanism: smooths the model; None to certify by interval bounds.
    """

    substitutions: "Substitutions | None"
    mechanism: "WordMechanism | None"


def run_certify_text(
    model: TextModelArgument,
    source: LabelledTableArgument,
    *,
    substitutions: SubstitutionsOption = None,
    mechanism: SmoothingMechanismOption = None,
    mechanism_epsilon: MechanismEpsilonOption = None,
    draws: DrawsOption = 10_000,
    alpha: AlphaOption = 0.001,
    attack_count: AttackCountOption = 0,
    column: TextColumnOption = "text",
    label: LabelOption,
    premise: PremiseOption = None,
    limit: RowLimitOption = None,
    space: SpaceOption = "glove",
    metric: MetricOption = MetricName.EUCLIDEAN,
    hide: HideOption = HIDE_DEFAULT,
    format_: FormatOption = None,
    delimiter: DelimiterOption = None,
    quoting: QuotingOption = None,
    encoding: EncodingOption = "utf-8",
    output: ResultsOption = None,
    force: ForceOption = False,
    seed: CertifySeedOption = None,
) -> None:
    """Certify the predictions of a text model on the rows of a table.

    Give --substitutions to certify by interval bounds, or --mechanism to certify the model smoothed by a word
    mechanism. Prints the share of texts that are classified correctly and certified. Exits with 1 if an attack refutes
    a certificate that is stated as proved. Requires the train extra of deniable.
    """
    check_torch()
    from deniable.core.files import check_outputs
    from deniable.models.text.model import load_text_model
    from deniable.models.text.training import check_documents_fit

    certify_options = CertifyOptions(draws, alpha, attack_count, seed)
    columns = LabelledColumns(column, label, premise, TableOptions(format_, delimiter, encoding, quoting))
    if output is not None:
        check_outputs([output], [model, source, substitutions, *find_word_files(space, hide)], force=force)
    check_task(model, "text")
    word_space = build_space(space, metric, hide)
    text_model = load_text_model(model, word_space)
    attack_words = _build_attack_words(word_space, substitutions, get_choice(mechanism), mechanism_epsilon)
    table = read_labelled_table(source, columns, limit)
    rows = build_documents(table, word_space, text_model.network.max_words, text_model.classes)
    check_documents_fit(text_model.network, rows.documents)
    print_remarks([*describe_substitutions(substitutions, attack_words.substitutions), *rows.remarks])
    with translate_memory_errors():
        certification = _certify_rows(text_model, rows, attack_words, certify_options)
    report_certification(certification.lines, certification.record, output, force=force)
    if certification.is_refuted:
        raise typer.Exit(EXIT_REFUTED)


def _build_attack_words(
    space: "Space", substitutions: Path | None, mechanism: str | None, epsilon: float | None
) -> _AttackWords:
    """Return what an attack may change.

    Raises:
        InputError: nothing is given, or it cannot be read or built.
    """
    words = _AttackWords(
        read_optional_substitutions(space, substitutions), build_optional_mechanism(space, mechanism, epsilon)
    )
    if words.substitutions is None and words.mechanism is None:
        raise InputError(
            "What may an attack change? Give --substitutions to certify by interval bounds, or --mechanism and "
            "--mechanism-epsilon to smooth the model."
        )
    return words


def _certify_rows(
    model: "TextModel", rows: LabelledDocuments, attack_words: _AttackWords, certify_options: CertifyOptions
) -> TextCertification:
    """Certify by smoothing where there is a mechanism, otherwise by interval bounds."""
    if attack_words.mechanism is not None:
        return certify_rows_by_smoothing(
            model, rows, attack_words.mechanism, attack_words.substitutions, certify_options
        )
    if attack_words.substitutions is None:
        raise InputError("Interval bounds need --substitutions: give some.")
    return certify_rows_by_intervals(model, rows, attack_words.substitutions, certify_options)
