"""``deniable rewrite``: a table in, the same table with rewritten texts and a certificate out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.cli.model_runs import check_torch, translate_memory_errors
from deniable.cli.options import DelimiterOption, FormatOption, unknown_name_error
from deniable.cli.progress import show_passes
from deniable.cli.tables import PIPE, parse_delimiter, resolve_certificate_path, resolve_format, resolve_text_columns
from deniable.cli.usable_rows import format_row_count, format_row_numbers
from deniable.core.errors import InputError, check_positive

if TYPE_CHECKING:
    from deniable.text.table_release import ReleaseFiles


def run_rewrite(
    source: Annotated[
        str, typer.Argument(metavar="INPUT", help="csv, tsv, jsonl, parquet or txt, also .gz or .zst; - is a pipe.")
    ],
    model: Annotated[
        Path, typer.Option(metavar="FILE", help="Of deniable train --task run_rewrite, trained on public texts.")
    ],
    method: Annotated[
        str,
        typer.Option(
            help="Proved: adept-gaussian, adept-l1, adept-true, dptext-fixed, tokens or tokens-mixed. "
            "Refuted, for comparison: adept and dptext, as published."
        ),
    ],
    epsilon: Annotated[float, typer.Option(help="Of each text as a whole: smaller is more private.")],
    output: Annotated[
        str, typer.Option("--output", "-o", help="The rewritten file, in the input's format; - is a pipe.")
    ],
    column: Annotated[
        list[str] | None,
        typer.Option("--column", "-c", help="Column with text; may be repeated.  [default: text]", show_default=False),
    ] = None,
    delta: Annotated[
        float | None, typer.Option(help="Of adept-gaussian, for example 1e-5.", show_default=False)
    ] = None,
    most: Annotated[
        int | None,
        typer.Option(
            "--most",
            help="Of tokens and tokens-mixed: tokens of a new text; fewer get more of epsilon each.  "
            "[default: the model's limit]",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Public seed, for tests only: the output is not private.")] = None,
    format_: FormatOption = None,
    delimiter: DelimiterOption = None,
    encoding: Annotated[str, typer.Option(help="Of the input and the output.")] = "utf-8",
    certificate: Annotated[
        str | None,
        typer.Option(help="Where the certificate goes.  [default: OUTPUT.certificate.json]", show_default=False),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite outputs that exist.")] = False,  # noqa: FBT002
) -> None:
    """Rewrite the text columns of a table, each text as a whole, under local differential privacy.

    Writes the same table with new texts, and a certificate that says what is guaranteed and what is not. An empty
    text is a text like any other and gets a new one; null stays; of a text longer than the model takes only its
    beginning enters. Every other column is copied as it is. Needs
    deniable[train].
    """
    check_torch()
    from deniable.registry.methods import REWRITING_METHODS, check_method_options  # noqa: PLC0415 - keeps --help fast
    from deniable.rewriting.model import load_rewriter  # noqa: PLC0415
    from deniable.rewriting.table import rewrite_table  # noqa: PLC0415

    if method not in REWRITING_METHODS:
        raise unknown_name_error("method", method, list(REWRITING_METHODS))
    method_options = check_method_options(method, delta=delta, max_draws=most)
    check_positive(method, "epsilon", epsilon)
    files = _build_table_files(source, output, column, certificate, (format_, delimiter, encoding), model, force=force)
    rewriting_method = REWRITING_METHODS[method](load_rewriter(model), epsilon=epsilon, seed=seed, **method_options)
    with show_passes("rewriting"), translate_memory_errors():
        release_certificate, truncated_rows = rewrite_table(files, rewriting_method)
    if not release_certificate.private:
        typer.echo(f"warning: the guarantee of {method} is refuted: {rewriting_method.guarantee.source}", err=True)
    typer.echo(release_certificate.summary(), err=True)
    if truncated_rows:
        truncation_text = f"{format_row_count(truncated_rows)} with more than {rewriting_method.model.limit:,} tokens, of which the first entered"
        owner_warning = "this tells of the private text: do not publish it"
        typer.echo(f"for you alone  {truncation_text}: {format_row_numbers(truncated_rows)}; {owner_warning}", err=True)
    typer.echo(f"wrote {output} and {files.certificate}", err=True)


def _build_table_files(
    source: str,
    output: str,
    column: list[str] | None,
    certificate: str | None,
    format_options: tuple[str | None, str | None, str],
    model_path: Path,
    *,
    force: bool,
) -> "ReleaseFiles":
    """Return what is read and written, checked before the model is read."""
    from deniable.text.table_release import ReleaseFiles, check_release_paths  # noqa: PLC0415
    from deniable.text.tables.layout import TableLayout  # noqa: PLC0415

    table_format = resolve_format(source, output, format_options[0])
    files = ReleaseFiles(
        source=source,
        target=output,
        certificate=resolve_certificate_path(output, certificate),
        table_format=table_format,
        layout=TableLayout(
            name="the input" if source == PIPE else source,
            columns=resolve_text_columns(table_format, column),
            delimiter=parse_delimiter(table_format, format_options[1]),
            encoding=format_options[2],
            replace_empty=True,
        ),
        force=force,
        input_paths=[str(model_path)],
    )
    if source != PIPE and not Path(source).is_file():
        raise InputError(f"The input {source!r} is not a file: give the path of one, or - for a pipe.")
    check_release_paths(files)
    return files
