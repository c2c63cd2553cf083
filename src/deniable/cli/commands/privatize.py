"""``deniable privatize``: a table in, a private table and its certificate out."""

import dataclasses
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.cli.building import (
    build_space,
    build_word_mechanism,
    check_mechanism_epsilon,
    find_word_files,
    load_word_prior,
    read_word_list,
)
from deniable.cli.charging import LedgerChoice, report_charges
from deniable.cli.choices import CaseHandling, MechanismName, MetricName, OverBudgetHandling, UnknownWordHandling
from deniable.cli.entities import EntitiesOption, find_entity_file, open_entity_source
from deniable.cli.options import (
    DATA_PANEL,
    HIDE_DEFAULT,
    OUTPUT_PANEL,
    PRIVACY_PANEL,
    CaseOption,
    CertificateOption,
    ChosenFromDataOption,
    CopiedColumnsOption,
    DelimiterOption,
    DropOption,
    EncodingOption,
    EpsilonOption,
    ForceOption,
    FormatOption,
    HideOption,
    KeepOption,
    LedgerOption,
    MechanismOption,
    MetricOption,
    OverBudgetOption,
    PriorOption,
    QuotingOption,
    RecordIdOption,
    SignKeyOption,
    SpaceOption,
    TableArgument,
    TestSeedOption,
    TextColumnsOption,
    UnescapeOption,
    UnknownOption,
    make_option,
    read_optional_signing_key,
)
from deniable.cli.outcome import note_stdout
from deniable.cli.owner_remarks import get_escapes, warn_of_copied_columns, warn_owner
from deniable.cli.progress import show_bytes_read, show_passes
from deniable.cli.tables import (
    ColumnChoice,
    TableOptions,
    build_release_layout,
    check_input_file,
    resolve_certificate_path,
    resolve_format,
)
from deniable.core.errors import InputError
from deniable.core.files import PIPE
from deniable.core.parallel import expect_passes

if TYPE_CHECKING:
    from deniable.core.guarantees import Verdict
    from deniable.text.table_release import ReleaseFiles
    from deniable.words import WordMechanism

KeyFileOption = Annotated[
    Path | None,
    make_option(
        PRIVACY_PANEL,
        "--key-file",
        "Secret key, for a repeatable run; needs --id. With --ledger, the key of the ledger.",
        metavar="FILE",
    ),
]
PersonReportOption = Annotated[
    str | None,
    make_option(
        DATA_PANEL,
        "--person",
        "Whose record it is, for --ledger and epsilon of a person.",
        metavar="COLUMN",
    ),
]
PrivateTableOption = Annotated[
    str,
    make_option(
        OUTPUT_PANEL,
        "--output",
        "-o",
        'Private table, in the format of the input; "-" writes to standard output.',
        metavar="FILE",
    ),
]
ResumeOption = Annotated[
    bool,
    make_option(
        OUTPUT_PANEL,
        "--resume",
        "Keep the run's key in a journal; take that of a killed run.",
    ),
]
WorkersOption = Annotated[
    int | None,
    make_option(
        OUTPUT_PANEL,
        "--workers",
        "Number of threads; the output does not depend on it.",
        min=1,
        metavar="COUNT",
        default_text="all cores",
    ),
]


def run_privatize(
    source: TableArgument,
    *,
    epsilon: EpsilonOption,
    mechanism: MechanismOption = MechanismName.AUTO,
    unknown: UnknownOption = UnknownWordHandling.DRAW,
    case: CaseOption = CaseHandling.LOWER,
    keep: KeepOption = None,
    key_file: KeyFileOption = None,
    ledger: LedgerOption = None,
    over_budget: OverBudgetOption = OverBudgetHandling.REFUSE,
    chosen_from_data: ChosenFromDataOption = False,
    test_seed: TestSeedOption = None,
    column: TextColumnsOption = None,
    record_id: RecordIdOption = None,
    person: PersonReportOption = None,
    drop: DropOption = None,
    columns: CopiedColumnsOption = None,
    entities: EntitiesOption = None,
    unescape: UnescapeOption = None,
    space: SpaceOption = "glove",
    metric: MetricOption = MetricName.STEPS,
    hide: HideOption = HIDE_DEFAULT,
    prior: PriorOption = None,
    format_: FormatOption = None,
    delimiter: DelimiterOption = None,
    quoting: QuotingOption = None,
    encoding: EncodingOption = "utf-8",
    output: PrivateTableOption,
    certificate: CertificateOption = None,
    sign_key: SignKeyOption = None,
    force: ForceOption = False,
    resume: ResumeOption = False,
    workers: WorkersOption = None,
) -> None:
    """Privatize the text columns of a table, word by word.

    Writes the same table with private text, and a certificate that states what is guaranteed and what is not. All other
    columns are copied unchanged, but for those left out by --drop or --columns.
    """
    from deniable.auditing import verify
    from deniable.measure.entities.tally import EntityWatcher
    from deniable.text.release import Release
    from deniable.text.table_release import privatize_table

    ledger_choice = LedgerChoice(ledger, None if ledger is None else key_file, over_budget)
    other_inputs = [key_file, sign_key, keep, prior, *find_word_files(space, hide), find_entity_file(entities)]
    files = _build_files(
        (source, output, certificate, sign_key),
        TableOptions(format_, delimiter, encoding, quoting),
        ColumnChoice(column, record_id, drop, columns, person),
        [*other_inputs, *ledger_choice.list_files()],
        force=force,
        resume=resume,
    )
    ledger_choice.require_persons(person, files.table_format)
    if ledger is not None:
        _check_ledger_options(record_id, test_seed)
    opened_ledger = ledger_choice.open()
    key = None if ledger is not None else _read_key(key_file, test_seed, record_id, files.table_format)
    entity_source = None if entities is None else open_entity_source(entities)
    if entity_source is not None and entity_source.needs_every_row and ledger_choice.drops_rows:
        raise InputError(
            f"{entities} labels rows of the whole table, of which --over-budget drop may leave some out: leave out one "
            "of them, or count a list of words or what a detector finds."
        )
    public_words = read_word_list(keep)
    check_mechanism_epsilon(mechanism, epsilon)
    word_space = build_space(space, metric, hide)
    word_prior = load_word_prior(prior, word_space)
    with show_passes("calibrating and verifying"), expect_passes(0):
        with expect_passes(1):
            word_mechanism = build_word_mechanism(word_space, mechanism, epsilon)
            release = Release(
                word_mechanism,
                unknown=unknown.value,
                case=case.value,
                keep=public_words,
                unescape=get_escapes(unescape),
                key=key,
                ledger=opened_ledger,
            )
            verdict = verify(word_mechanism)
        # What the certificate will say; found before any text is read, and kept in the cache.
        word_mechanism.expected_kept_share(word_prior)
    watcher = None
    if entity_source is not None:
        watcher = EntityWatcher(entity_source, release, files.layout.columns, has_ids=record_id is not None)
    _warn_of_notes_and_verdict(word_mechanism, verdict)
    input_bytes = None if source == PIPE else Path(source).stat().st_size
    with show_bytes_read("privatizing", input_bytes) as report:
        release_certificate, counts = privatize_table(
            dataclasses.replace(files, report=report),
            release,
            chosen_from_data=chosen_from_data,
            prior=word_prior,
            workers=workers,
            watcher=watcher,
            over_budget=over_budget.value,
        )
    typer.echo(release_certificate.summary(), err=True)
    typer.echo(counts.tally.summary(), err=True)
    warn_owner(files.layout.remarks)
    if ledger is not None:
        report_charges(counts.charges)
    if counts.persons is not None:
        for line in counts.persons.describe(word_mechanism, release_certificate.guarantee["status"]):
            typer.echo(line, err=True)
    if watcher is not None:
        typer.echo(watcher.tally.summary(), err=True)
        warn_owner([] if entity_source is None else entity_source.remarks)
    typer.echo(f"wrote {' and '.join(files.outputs)}", err=True)


def _build_files(
    paths: tuple[str, str, str | None, Path | None],
    table_format: TableOptions,
    columns: ColumnChoice,
    other_inputs: list[Path | str | None],
    *,
    force: bool,
    resume: bool,
) -> "ReleaseFiles":
    """Return what is read and written, checked before anything that takes long.

    Args:
        paths: of the input, the output, the certificate (None: beside the output) and the signing key (None: none).
        table_format: how the table is written, as the options say.
        columns: which hold texts and ids, and which are left out.
        other_inputs: paths that the run reads besides.
        force: overwrite what exists.
        resume: whether a run with fresh noise keeps its key in a journal, or takes one that is there.
    """
    from deniable.text.table_release import ReleaseFiles, name_journal

    source, output, certificate, sign_key = paths
    format_name = resolve_format(source, output, table_format.format)
    layout = build_release_layout(source, format_name, columns, table_format)
    files = ReleaseFiles(
        source=source,
        target=output,
        certificate=resolve_certificate_path(output, certificate),
        table_format=format_name,
        layout=layout,
        force=force,
        input_paths=[str(path) for path in other_inputs if path is not None],
        signing_key=read_optional_signing_key(sign_key),
        see_copied=functools.partial(warn_of_copied_columns, layout),
        resume=resume,
    )
    check_input_file(source)
    files.check_paths()
    if resume and name_journal(output).exists():
        typer.echo(f"resuming from {name_journal(output)}", err=True)
    if output == PIPE:
        note_stdout()
    return files


def _warn_of_notes_and_verdict(mechanism: "WordMechanism", verdict: "Verdict") -> None:
    """Print remarks about the space, and a warning where the guarantee is not proved."""
    from deniable.core.guarantees import is_proved

    for note in mechanism.space.notes:
        typer.echo(f"note: {note}", err=True)
    if verdict.status == "refuted":
        typer.echo(f"warning: the guarantee of {mechanism.name} is refuted: {verdict.witness}", err=True)
    elif not is_proved(verdict.status):
        typer.echo(
            f"warning: the guarantee of {mechanism.name} is not proved: {verdict.status}, {verdict.method}", err=True
        )


def _check_ledger_options(record_id: str | None, test_seed: int | None) -> None:
    """Raise `InputError` where a release with a ledger would not be a function of its records."""
    if test_seed is not None:
        raise InputError("With --ledger noise follows from the ledger's key: leave out --test-seed.")
    if record_id is None:
        raise InputError(
            "--ledger needs --id COLUMN: a text that was charged before is known by its record's id, and row numbers "
            "change when rows do."
        )


def _read_key(
    key_file: Path | None, test_seed: int | None, record_id: str | None, format_name: str
) -> str | bytes | None:
    """Return the key that options name, None for fresh noise.

    Raises:
        InputError: a key and a seed, a key without ids, or a file that holds none.
    """
    from deniable.core.keys import read_key_file

    if key_file is not None and test_seed is not None:
        raise InputError("Give --key-file or --test-seed, not both.")
    if test_seed is not None:
        return f"seed:{test_seed}"
    if key_file is None:
        return None
    if format_name == "txt":
        raise InputError(
            "--key-file needs a column of record ids, and a txt file has none: leave it out, or give a csv, tsv, jsonl "
            "or parquet."
        )
    if record_id is None:
        raise InputError(
            "--key-file needs --id COLUMN: under one key the noise follows the record's id, and row "
            "numbers change when rows do."
        )
    return read_key_file(key_file)  # read once: a pipe gives it once
