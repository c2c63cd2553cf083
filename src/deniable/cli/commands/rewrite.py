"""``deniable rewrite``: a table in, the same table with rewritten texts and a certificate out."""

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.cli.charging import LedgerChoice, report_charges
from deniable.cli.choices import OverBudgetHandling, RewritingMethodName
from deniable.cli.model_runs import check_torch, translate_memory_errors
from deniable.cli.options import (
    OUTPUT_PANEL,
    PRIVACY_PANEL,
    CertificateOption,
    ChargedPersonOption,
    ChosenFromDataOption,
    CopiedColumnsOption,
    DelimiterOption,
    DropOption,
    EncodingOption,
    ForceOption,
    FormatOption,
    LedgerKeyOption,
    LedgerOption,
    OverBudgetOption,
    QuotingOption,
    SignKeyOption,
    TableArgument,
    TestSeedOption,
    TextColumnsOption,
    UnescapeOption,
    list_choices,
    make_option,
    read_optional_signing_key,
)
from deniable.cli.outcome import note_stdout
from deniable.cli.owner_remarks import get_escapes, warn_of_copied_columns, warn_owner
from deniable.cli.progress import show_passes
from deniable.cli.tables import (
    ColumnChoice,
    TableOptions,
    build_release_layout,
    check_input_file,
    resolve_certificate_path,
    resolve_format,
)
from deniable.cli.usable_rows import format_row_count, format_row_numbers
from deniable.core.errors import InputError, check_positive
from deniable.core.files import PIPE

if TYPE_CHECKING:
    from deniable.rewriting.methods.base import RewritingMethod
    from deniable.text.table_release import ReleaseFiles

RewriterArgument = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Model file written by deniable train rewriter from public texts.")
]
TextEpsilonOption = Annotated[
    float, make_option(PRIVACY_PANEL, "--epsilon", "Privacy budget for each text as a whole; smaller is more private.")
]
MethodOption = Annotated[
    RewritingMethodName,
    make_option(
        PRIVACY_PANEL,
        "--method",
        (
            f"Rewriting method: {list_choices(RewritingMethodName)}. adept and dptext are the published "
            "methods; their guarantees are refuted."
        ),
        metavar="METHOD",
    ),
]
DeltaOption = Annotated[
    float | None, make_option(PRIVACY_PANEL, "--delta", "Delta of the budget, for adept-gaussian; for example 1e-5.")
]
MaximumTokensOption = Annotated[
    int | None,
    make_option(
        PRIVACY_PANEL,
        "--max-tokens",
        (
            "Maximum number of tokens in a new text, for tokens and tokens-mixed. Fewer tokens get a larger "
            "share of epsilon each."
        ),
        default_text="limit of the model",
    ),
]
_OTHER_MODEL = (
    "Are the texts in another language, or of another kind, than those that the model learned from? "
    "Rewritten texts are in the words of the model: train one on public texts of their language with deniable train "
    "rewriter"
)
RewrittenTableOption = Annotated[
    str,
    make_option(
        OUTPUT_PANEL,
        "--output",
        "-o",
        'Rewritten table, in the format of the input; "-" writes to standard output.',
        metavar="FILE",
    ),
]


def run_rewrite(
    model: RewriterArgument,
    source: TableArgument,
    *,
    epsilon: TextEpsilonOption,
    method: MethodOption,
    delta: DeltaOption = None,
    maximum_tokens: MaximumTokensOption = None,
    ledger: LedgerOption = None,
    key_file: LedgerKeyOption = None,
    over_budget: OverBudgetOption = OverBudgetHandling.REFUSE,
    chosen_from_data: ChosenFromDataOption = False,
    test_seed: TestSeedOption = None,
    column: TextColumnsOption = None,
    person: ChargedPersonOption = None,
    drop: DropOption = None,
    columns: CopiedColumnsOption = None,
    unescape: UnescapeOption = None,
    format_: FormatOption = None,
    delimiter: DelimiterOption = None,
    quoting: QuotingOption = None,
    encoding: EncodingOption = "utf-8",
    output: RewrittenTableOption,
    certificate: CertificateOption = None,
    sign_key: SignKeyOption = None,
    force: ForceOption = False,
) -> None:
    """Rewrite the text columns of a table, each text as a whole.

    Writes the same table with new texts, and a certificate that states what is guaranteed and what is not. Each text,
    an empty one included, is hidden as a whole under local differential privacy; null stays null, and of a text longer
    than the model takes only the beginning is used. All other columns are copied unchanged, but for those left out by
    --drop or --columns. Requires the train extra of deniable.
    """
    check_torch()
    from deniable.registry.methods import REWRITING_METHODS, check_method_options
    from deniable.rewriting.model import load_rewriter
    from deniable.rewriting.table import rewrite_table
    from deniable.text.remarks import describe_markup, describe_unknown_words

    method_options = check_method_options(method.value, delta=delta, max_draws=maximum_tokens)
    check_positive(method.value, "epsilon", epsilon)
    ledger_choice = LedgerChoice(ledger, key_file, over_budget)
    if ledger is not None and test_seed is not None:
        raise InputError("--test-seed hides nothing, and --ledger counts what is hidden: leave out one of them.")
    table_format = TableOptions(format_, delimiter, encoding, quoting)
    column_choice = ColumnChoice(column, None, drop, columns, person)
    paths = (source, output, certificate, sign_key)
    read_paths: list[str | Path] = [model, *ledger_choice.list_files()]
    files = _build_table_files(paths, column_choice, table_format, read_paths, force=force)
    ledger_choice.require_persons(person, files.table_format)
    opened_ledger = ledger_choice.open()
    rewriter = load_rewriter(model)
    if maximum_tokens is not None and not 1 <= maximum_tokens <= rewriter.limit:
        raise InputError(f"--max-tokens must be from 1 to {rewriter.limit}, the model's limit. Got {maximum_tokens}.")
    rewriting_method = REWRITING_METHODS[method](rewriter, epsilon=epsilon, seed=test_seed, **method_options)
    with show_passes("rewriting"), translate_memory_errors():
        release_certificate, findings = rewrite_table(
            files,
            rewriting_method,
            unescape=get_escapes(unescape),
            ledger=opened_ledger,
            over_budget=over_budget.value,
            chosen_from_data=chosen_from_data,
        )
    if not release_certificate.private:
        typer.echo(f"warning: the guarantee of {method} is refuted: {rewriting_method.guarantee.source}", err=True)
    typer.echo(release_certificate.summary(), err=True)
    if ledger is not None:
        report_charges(findings.charges)
    _report_truncated_rows(findings.truncated_rows, rewriting_method)
    unknown_words = describe_unknown_words(findings.unknown_words, findings.words, _OTHER_MODEL)
    warn_owner([*files.layout.remarks, *unknown_words, *describe_markup(findings.markup)])
    typer.echo(f"wrote {' and '.join(files.outputs)}", err=True)


def _report_truncated_rows(rows: list[int], method: "RewritingMethod") -> None:
    """Say, for the owner only, of which texts only the beginning was used."""
    if rows:
        typer.echo(
            f"for you only   {format_row_count(rows)} with more than {method.model.limit:,} tokens, of which only the "
            f"first were used: {format_row_numbers(rows)}; this depends on the private text: do not publish it",
            err=True,
        )


def _build_table_files(
    paths: tuple[str, str, str | None, Path | None],
    columns: ColumnChoice,
    table_format: TableOptions,
    read_paths: Sequence[str | Path],
    *,
    force: bool,
) -> "ReleaseFiles":
    """Return what is read and written, checked before the model is read.

    Args:
        paths: of the input, the output, the certificate (None: beside the output) and the signing key (None: none).
        columns: which hold texts, and which are left out.
        table_format: how the table is written, as the options say.
        read_paths: of the model, and of what else is read.
        force: overwrite what exists.
    """
    from deniable.text.table_release import ReleaseFiles

    source, output, certificate, sign_key = paths
    format_name = resolve_format(source, output, table_format.format)
    layout = build_release_layout(source, format_name, columns, table_format, replace_empty=True)
    files = ReleaseFiles(
        source=source,
        target=output,
        certificate=resolve_certificate_path(output, certificate),
        table_format=format_name,
        layout=layout,
        force=force,
        input_paths=[str(path) for path in (*read_paths, sign_key) if path is not None],
        signing_key=read_optional_signing_key(sign_key),
        see_copied=functools.partial(warn_of_copied_columns, layout),
    )
    check_input_file(source)
    files.check_paths()
    if output == PIPE:
        note_stdout()
    return files
