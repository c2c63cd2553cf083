"""``deniable synthesize``: a private table in, a synthetic one out, with its certificate and the private classifier."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deniable.cli.callables import import_callable
from deniable.cli.choices import GeneratorChoice
from deniable.cli.model_runs import check_torch, encode_json, translate_memory_errors
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
    TextColumnOption,
    list_choices,
    make_option,
)
from deniable.cli.outcome import note_written
from deniable.cli.owner_remarks import warn_owner
from deniable.cli.private_tables import (
    PrivateColumns,
    PrivateTable,
    PublicFile,
    describe_capped_rows,
    hold_out_rows,
    read_private_table,
)
from deniable.cli.progress import show_passes, show_steps
from deniable.cli.tables import TableFormat, encode_rows, parse_output_format, resolve_certificate_path
from deniable.cli.train.options import (
    ClassesOption,
    MaxRecordsOption,
    PersonOption,
    PublicLabelOption,
    PublicOption,
    RecordsOption,
    TestTableOption,
)
from deniable.cli.train.private_text import (
    PrivateTraining,
    check_signal,
    prepare_training,
    read_test_table,
    warn_of_signal,
)
from deniable.cli.usable_rows import format_row_count
from deniable.core.errors import InputError
from deniable.core.files import PIPE

if TYPE_CHECKING:
    from deniable.core.intervals import Estimate
    from deniable.persons.certificate import SynthesisCertificate
    from deniable.persons.classifier import LinearClassifier
    from deniable.persons.classifier_training import PublicTexts
    from deniable.persons.features import FeatureMap
    from deniable.persons.histograms import ColumnDomain
    from deniable.persons.synthesis import MeasuredCollection, SynthesisOptions, SyntheticTable

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


@dataclasses.dataclass(frozen=True)
class _Outputs:
    """Files that are written together, whole or not at all.

    Attributes:
        table: the synthetic records.
        certificate: of table, classifier and counts.
        classifier: the private classifier, which needs no student.
        baseline: the same pipeline without private records; None where there are no public labels.
        counts: noisy counts; None where they were not asked for.
        owner: figures about private records.
    """

    table: str
    certificate: str
    classifier: str
    baseline: str | None
    counts: str | None
    owner: str

    @property
    def paths(self) -> list[str]:
        """Every file, the owner's last."""
        named = [self.table, self.certificate, self.classifier, self.baseline, self.counts, self.owner]
        return [path for path in named if path is not None]


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
    chosen_from_data: ChosenFromDataOption = False,
    candidates: CandidatesOption = None,
    column: TextColumnOption = "text",
    label: LabelOption,
    domain: DomainOption = None,
    test: TestTableOption = None,
    format_: FormatOption = None,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = "utf-8",
    rows: RowsOption,
    output: SyntheticTableOption,
    counts: CountsOption = None,
    certificate: CertificateOption = None,
    force: ForceOption = False,
) -> None:
    """Write a synthetic table that hides every record, or every person, of a private one.

    Beside it stand the certificate, the private classifier itself (more accurate than any that learns from the texts),
    and the same table made without private records; FILE.owner.json is for the owner only. Requires the train extra.
    """
    check_torch()
    if public is None and public_label is not None:
        raise InputError("--public-label is for --public: name the public table too, or leave it out.")
    table_format = TableFormat(format_, delimiter, encoding)
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
        space="glove",
        test=test,
        chosen_from_data=chosen_from_data,
    )
    outputs = _name_outputs(output, certificate, counts, has_baseline=public_label is not None)
    _check_outputs(outputs, [source, test, public], force=force)
    options, feature_map, public_texts = _prepare(training, generator, candidates, domain, rows, counts)
    table, test_table = _read_tables(training, options)
    with translate_memory_errors():
        measured = _measure(table, max_records, feature_map, public_texts, options)
        written = _write_tables(measured, feature_map, public_texts, options, outputs)
        figures = _measure_utility(measured.classifier, written, test_table)
        contents = _encode_outputs(outputs, measured, options, written, figures, (column, label))
        _write_outputs(outputs, contents, force=force)
    typer.echo(_certify(measured, options).summary(), err=True)
    warn_owner(_describe_utility(figures))
    typer.echo(f"wrote {', '.join(contents)}", err=True)


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


def _read_tables(training: PrivateTraining, options: "SynthesisOptions") -> tuple[PrivateTable, PrivateTable]:
    """Return rows to learn from, and rows to test on, with remarks for the owner."""
    names = [domain.name for domain in options.domains]
    table = read_private_table(str(training.source), training.columns, options.training.classes, names)
    test_table = read_test_table(training.test, training.columns, options.training.classes)
    remarks = [*table.remarks, *describe_capped_rows(str(training.source), table.persons, training.max_records)]
    remarks += [remark for domain in options.domains for remark in _describe_foreign_values(training, table, domain)]
    for remark in remarks:
        typer.echo(remark, err=True)
    return hold_out_rows(table) if test_table is None else (table, test_table)


def _describe_foreign_values(training: PrivateTraining, table: PrivateTable, domain: "ColumnDomain") -> list[str]:
    """Return a line, for the owner, on values outside a domain."""
    values = {*domain.values}
    cells = table.others[domain.name]
    rows = [row for row, cell in enumerate(cells) if cell is None or cell.strip() not in values]
    noun = format_row_count(rows)
    # Without their numbers: rows that were left out before are not among the cells.
    return [f"{training.source}: {noun} whose {domain.name!r} is not of its domain not counted for it"] if rows else []


def _name_outputs(output: str, certificate: str | None, counts: str | None, *, has_baseline: bool) -> _Outputs:
    """Return the paths of all files."""
    if output == PIPE:
        raise InputError("A synthetic table has files beside it: name it with --output FILE.")
    baseline = f"{output}.baseline.{output.rpartition('/')[2].partition('.')[2]}" if has_baseline else None
    return _Outputs(
        output, resolve_certificate_path(output, certificate), f"{output}.classifier.pt", baseline, counts,
        f"{output}.owner.json",
    )  # fmt: skip


def _check_outputs(outputs: _Outputs, inputs: list[Path | None], *, force: bool) -> None:
    from deniable.core.files import check_outputs

    parse_output_format(outputs.table)
    check_outputs(outputs.paths, inputs, force=force)


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
        measured = measure_collection(
            private, table.others, feature_map, public, options, lambda done, total: steps.update(done, total, "")
        )
    warn_of_signal(measured.budget, measured.classifier)
    return measured


@dataclasses.dataclass(frozen=True)
class _WrittenTables:
    """The synthetic table, and that of the same pipeline without private records, where there can be one."""

    synthetic: "SyntheticTable"
    baseline: "SyntheticTable | None"


def _write_tables(
    measured: "MeasuredCollection",
    feature_map: "FeatureMap",
    public: "PublicTexts | None",
    options: "SynthesisOptions",
    outputs: _Outputs,
) -> _WrittenTables:
    """Return the tables; nothing private is read."""
    from deniable.persons.synthesis import write_baseline, write_table

    with show_passes("writing texts"):
        synthetic = write_table(measured, public, options)
    if outputs.baseline is None or public is None or options.generator == "counts":
        return _WrittenTables(synthetic, None)
    with show_passes("writing the baseline"):
        return _WrittenTables(synthetic, write_baseline(feature_map, public, options))


def _certify(measured: "MeasuredCollection", options: "SynthesisOptions") -> "SynthesisCertificate":
    from deniable.persons.certificate import certify_synthesis

    return certify_synthesis(measured, options)


def _encode_outputs(
    outputs: _Outputs,
    measured: "MeasuredCollection",
    options: "SynthesisOptions",
    written: _WrittenTables,
    figures: "dict[str, Estimate]",
    names: tuple[str, str],
) -> dict[str, bytes]:
    """Return the content of every file, by path."""
    from deniable.learning.artifact import serialize_model
    from deniable.persons.ngram_counts import format_ngram_counts

    table_format = parse_output_format(outputs.table)
    contents = {
        outputs.table: encode_rows(_build_columns(written.synthetic, names), table_format),
        outputs.certificate: _certify(measured, options).to_json().encode("utf-8", "backslashreplace"),
        outputs.classifier: serialize_model(measured.classifier),
        outputs.owner: encode_json({name: dataclasses.asdict(figure) for name, figure in figures.items()}),
    }
    if outputs.baseline is not None and written.baseline is not None:
        contents[outputs.baseline] = encode_rows(_build_columns(written.baseline, names), table_format)
    if outputs.counts is not None and measured.counts is not None:
        counts = format_ngram_counts(measured.counts, options.training.classes)
        contents[outputs.counts] = counts.encode("utf-8", "backslashreplace")  # jsonl may hold lone surrogates
    return contents


def _write_outputs(outputs: _Outputs, contents: dict[str, bytes], *, force: bool) -> None:
    """Write every file, whole or not at all."""
    from deniable.core.files import open_outputs

    with open_outputs(*contents, force=force, owner_only=[outputs.owner]) as streams:
        for stream, content in zip(streams, contents.values(), strict=True):
            stream.write(content)
    note_written(*contents)


def _build_columns(table: "SyntheticTable", names: tuple[str, str]) -> dict[str, Sequence[Any]]:
    """Return the columns of the synthetic table."""
    return {names[0]: table.texts, names[1]: table.labels, **table.columns}


def _measure_utility(
    classifier: "LinearClassifier", written: _WrittenTables, test_table: PrivateTable
) -> "dict[str, Estimate]":
    """Return the accuracy, on private rows that were held out, of the classifier and of students of the texts."""
    from deniable.core.intervals import estimate_share

    if not len(test_table):
        return {}
    truth = test_table.labels
    with show_passes("testing the classifier"):
        codes = classifier.predict_probabilities(test_table.texts).argmax(axis=1)
    hits = sum(classifier.classes[code] == label for code, label in zip(codes, truth, strict=True))
    figures = {"classifier": estimate_share(hits, len(truth))}
    with show_passes("testing a student"):
        figures["student"] = _test_student(written.synthetic, test_table)
    if written.baseline is not None:
        with show_passes("testing the baseline"):
            figures["student of the baseline"] = _test_student(written.baseline, test_table)
    return figures


def _test_student(table: "SyntheticTable", test_table: PrivateTable) -> "Estimate":
    """Return the accuracy of a classifier that learns from synthetic texts, on private rows."""
    import numpy as np

    from deniable.core.intervals import estimate_share
    from deniable.measure.classifiers import build_classifier

    names = sorted({*table.labels, *test_table.labels})
    numbers = {name: number for number, name in enumerate(names)}
    codes = np.array([numbers[label] for label in table.labels], dtype=np.int64)
    student = build_classifier("tfidf", 0).fit(table.texts, codes, len(names))
    predicted = student.probabilities(test_table.texts).argmax(axis=1)
    hits = sum(names[code] == label for code, label in zip(predicted, test_table.labels, strict=True))
    return estimate_share(hits, len(test_table))


def _describe_utility(figures: "dict[str, Estimate]") -> list[str]:
    """Return what the owner should know of the table, in plain words."""
    if not figures:
        return ["too few rows were held out to measure an accuracy"]
    lines = [
        (
            f"on {figures['classifier'].count:,} private rows that were held out, a classifier that learns from the "
            f"synthetic texts is right in {figures['student'].format_percent()}"
        )
    ]
    if "student of the baseline" in figures:
        lines.append(
            "the same pipeline without any private record reaches "
            f"{figures['student of the baseline'].format_percent()}: only what lies above is owed to the private table"
        )
    lines.append(
        f"the private classifier beside the table is right in {figures['classifier'].format_percent()}: who needs "
        "labels, not texts, should use it"
    )
    return lines
