"""``deniable synthesize``: a private table in, a synthetic one out, with its certificate and the private classifier."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.cli.building import find_word_files
from deniable.cli.callables import import_callable
from deniable.cli.charging import LedgerChoice, charge_table
from deniable.cli.choices import GeneratorChoice, OverBudgetHandling
from deniable.cli.commands.train.options import (
    ClassesOption,
    MaxRecordsOption,
    PersonOption,
    PublicLabelOption,
    PublicOption,
    RecordsOption,
    TestTableOption,
)
from deniable.cli.commands.train.private_text import (
    PrivateTraining,
    check_signal,
    prepare_training,
    read_training_table,
    split_test_rows,
    warn_of_signal,
)
from deniable.cli.model_runs import check_torch, translate_memory_errors
from deniable.cli.options import (
    DATA_PANEL,
    OUTPUT_PANEL,
    PRIVACY_PANEL,
    CertificateOption,
    ChosenFromDataOption,
    DelimiterOption,
    EncodingOption,
    ForceOption,
    FormatOption,
    LabelOption,
    LedgerKeyOption,
    LedgerOption,
    OverBudgetOption,
    QuotingOption,
    SignKeyOption,
    SpaceOption,
    TextColumnOption,
    list_choices,
    make_option,
    read_optional_signing_key,
)
from deniable.cli.owner_remarks import warn_owner
from deniable.cli.private_tables import (
    PrivateColumns,
    PrivateTable,
    PublicFile,
)
from deniable.cli.progress import show_passes, show_steps
from deniable.cli.synthesis_files import SynthesisTables, encode_synthesis, name_synthesis_files
from deniable.cli.synthesis_utility import describe_synthesis, measure_synthesis
from deniable.cli.tables import TableOptions
from deniable.cli.usable_rows import format_row_count
from deniable.core.errors import InputError

if TYPE_CHECKING:
    from deniable.persons.classifier_training import PublicTexts
    from deniable.persons.features import FeatureMap
    from deniable.persons.histograms import ColumnDomain
    from deniable.persons.synthesis import MeasuredCollection, SynthesisOptions

PrivateTableArgument = Annotated[
    Path, typer.Argument(metavar="INPUT", help="Private table: csv, tsv, jsonl or parquet, also .gz or .zst.")
]
SynthesisEpsilonOption = Annotated[
    float, make_option(PRIVACY_PANEL, "--epsilon", "Privacy budget for each record, or each person, as a whole.")
]
SynthesisDeltaOption = Annotated[
    float, make_option(PRIVACY_PANEL, "--delta", "Delta of the budget, far below 1/n; for example 1e-6.")
]
RowsOption = Annotated[int, make_option(OUTPUT_PANEL, "--rows", "Number of synthetic records.", min=1)]
GeneratorOption = Annotated[
    GeneratorChoice | None,
    make_option(
        PRIVACY_PANEL,
        "--generator",
        f"How texts are written: {list_choices(GeneratorChoice)}. tilted: best to learn from; recombined: whole public "
        "sentences; candidates: by --candidates; counts: from private phrases alone.",
        metavar="GENERATOR",
        default_text="tilted; counts without --public",
    ),
]
CandidatesOption = Annotated[
    str | None,
    make_option(
        PRIVACY_PANEL, "--candidates", "Callable that proposes texts from what is released.", metavar="PKG.MOD:F"
    ),
]
DomainOption = Annotated[
    list[str] | None,
    make_option(
        DATA_PANEL,
        "--domain",
        "Further column with all its values, NAME=1..5 or NAME=A,B; may be given more than once.",
        metavar="NAME=...",
    ),
]
CountsOption = Annotated[
    str | None,
    make_option(OUTPUT_PANEL, "--counts", "Release noisy counts of words and phrases too.", metavar="FILE.csv"),
]
SyntheticTableOption = Annotated[
    str,
    make_option(
        OUTPUT_PANEL, "--output", "-o", "Synthetic table: csv, tsv, jsonl or parquet, by its ending.", metavar="FILE"
    ),
]


def run_synthesize(
    source: PrivateTableArgument,
    *,
    epsilon: SynthesisEpsilonOption,
    delta: SynthesisDeltaOption,
    person: PersonOption = None,
    max_records: MaxRecordsOption = None,
    records: RecordsOption = None,
    classes: ClassesOption = None,
    public: PublicOption = None,
    public_label: PublicLabelOption = None,
    generator: GeneratorOption = None,
    ledger: LedgerOption = None,
    key_file: LedgerKeyOption = None,
    over_budget: OverBudgetOption = OverBudgetHandling.REFUSE,
    chosen_from_data: ChosenFromDataOption = False,
    candidates: CandidatesOption = None,
    column: TextColumnOption = "text",
    label: LabelOption,
    domain: DomainOption = None,
    test: TestTableOption = None,
    space: SpaceOption = "glove",
    format_: FormatOption = None,
    delimiter: DelimiterOption = None,
    quoting: QuotingOption = None,
    encoding: EncodingOption = "utf-8",
    rows: RowsOption,
    output: SyntheticTableOption,
    counts: CountsOption = None,
    certificate: CertificateOption = None,
    sign_key: SignKeyOption = None,
    force: ForceOption = False,
) -> None:
    """Write a synthetic table that hides every record, or every person, of a private one.

    Beside it stand the certificate, the private classifier itself (more accurate than any that learns from the texts),
    and the same table made without private records; FILE.owner.json is for the owner only. Requires the train extra.
    """
    check_torch()
    from deniable.persons.certificate import certify_synthesis
    from deniable.persons.charging import note_ledger

    if public is None and public_label is not None:
        raise InputError("--public-label is for --public: name the public table too, or leave it out.")
    ledger_choice = LedgerChoice(ledger, key_file, over_budget)
    ledger_choice.require_persons(person)
    table_format = TableOptions(format_, delimiter, encoding, quoting)
    public_file = None if public is None else PublicFile(public, column, public_label, table_format)
    training = PrivateTraining(
        source=source,
        columns=PrivateColumns(column, label, person, table_format),
        epsilon=epsilon,
        delta=delta,
        classes=classes,
        records=records,
        max_records=max_records,
        public=public_file,
        space=space,
        test=test,
        chosen_from_data=chosen_from_data,
        ledger=ledger_choice,
    )
    signing_key = read_optional_signing_key(sign_key)
    files = name_synthesis_files(
        output, certificate, counts, has_baseline=public_label is not None, signing_key=signing_key
    )
    files.check(
        [source, test, public, sign_key, *find_word_files(space, "none"), *map(Path, ledger_choice.list_files())],
        force=force,
    )
    ledger_choice.open()
    options, feature_map, public_texts = _prepare(training, generator, candidates, domain, rows, counts)
    table, test_table = _read_tables(training, options, feature_map)
    with translate_memory_errors():
        budget = options.plan_budget(feature_map, "record" if person is None else "person")
        table, ledger_steps = charge_table(table, ledger_choice, budget, "synthesize")
        measured = _measure(table, max_records, feature_map, public_texts, options)
        measured = dataclasses.replace(measured, classifier=note_ledger(measured.classifier, ledger_steps))
        tables = _write_tables(measured, feature_map, public_texts, options, has_baseline=files.baseline is not None)
        figures = measure_synthesis(measured.classifier, tables, test_table)
        release_certificate = certify_synthesis(measured, options)
        contents = encode_synthesis(files, measured, release_certificate, tables, figures, (column, label))
        written_paths = files.write(contents, force=force)
    # A measured number is a release: it is shown beside the files, not by a run that fails.
    warn_of_signal(measured.budget, measured.classifier)
    typer.echo(release_certificate.summary(), err=True)
    warn_owner(describe_synthesis(figures))
    typer.echo(f"wrote {', '.join(written_paths)}", err=True)


def _prepare(
    training: PrivateTraining,
    generator: GeneratorChoice | None,
    candidates: str | None,
    domain: list[str] | None,
    rows: int,
    counts: str | None,
) -> "tuple[SynthesisOptions, FeatureMap, PublicTexts | None]":
    """Return options, features and public texts; nothing private is read.

    Raises:
        InputError: options at odds with each other, or a public file that cannot be used.
    """
    from deniable.persons.histograms import parse_domain
    from deniable.persons.synthesis import SynthesisOptions, choose_generator

    if generator is not None and (generator is GeneratorChoice.CANDIDATES) != (candidates is not None):
        raise InputError("--generator candidates and --candidates PKG.MOD:F go together: give both, or neither.")
    has_public = training.public is not None
    domains = tuple(map(parse_domain, domain or ()))
    for one in domains:
        if one.name in {training.columns.text, training.columns.label, training.columns.person}:
            raise InputError(f"--domain is for further columns. Got {one.name!r}: leave it out.")
    propose = None if candidates is None else import_callable(candidates)
    name = choose_generator(None if generator is None else generator.value, propose, has_public=has_public)
    classifier_options, feature_map, public_texts = prepare_training(training)
    options = SynthesisOptions(classifier_options, rows, name, domains, counts is not None, propose)
    budget = options.plan_budget(feature_map, "record" if training.columns.person is None else "person")
    if training.records is not None:  # the classifier has a part of the budget only
        check_signal(budget, training.records, has_public_labels=public_texts is not None and public_texts.has_labels)
    return options, feature_map, public_texts


def _read_tables(
    training: PrivateTraining, options: "SynthesisOptions", feature_map: "FeatureMap"
) -> tuple[PrivateTable, PrivateTable]:
    """Return rows to learn from, and rows to test on, with remarks for the owner."""
    classes = options.training.classes
    table = read_training_table(training, classes, feature_map, [domain.name for domain in options.domains])
    for domain in options.domains:
        warn_owner(_describe_foreign_values(training, table, domain))
    return split_test_rows(training, classes, table)


def _describe_foreign_values(training: PrivateTraining, table: PrivateTable, domain: "ColumnDomain") -> list[str]:
    """Return a line, for the owner, on values outside a domain."""
    values = {*domain.values}
    cells = table.others[domain.name]
    rows = [row for row, cell in enumerate(cells) if cell is None or cell.strip() not in values]
    noun = format_row_count(rows)
    # Without their numbers: rows that were left out before are not among the cells.
    return [f"{training.source}: {noun} whose {domain.name!r} is not of its domain not counted for it"] if rows else []


def _measure(
    table: PrivateTable,
    max_records: int | None,
    feature_map: "FeatureMap",
    public: "PublicTexts | None",
    options: "SynthesisOptions",
) -> "MeasuredCollection":
    """Return everything that is released of the private rows."""
    from deniable.persons.synthesis import measure_collection

    private = table.to_private_texts(options.training.classes, max_records)
    with show_steps("measuring") as steps:
        return measure_collection(
            private, table.others, feature_map, public, options, lambda done, total: steps.update(done, total, "")
        )


def _write_tables(
    measured: "MeasuredCollection",
    feature_map: "FeatureMap",
    public: "PublicTexts | None",
    options: "SynthesisOptions",
    *,
    has_baseline: bool,
) -> SynthesisTables:
    """Return the tables; nothing private is read."""
    from deniable.persons.synthesis import write_baseline, write_table

    with show_passes("writing texts"):
        synthetic = write_table(measured, public, options)
    if not has_baseline or public is None or options.generator == "counts":
        return SynthesisTables(synthetic, None)
    with show_passes("writing the baseline"):
        return SynthesisTables(synthetic, write_baseline(feature_map, public, options))
