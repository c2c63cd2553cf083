"""``deniable rewrite``: a table in, the same table with rewritten texts and a certificate out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.cli.left_out import count_rows, name_rows
from deniable.cli.options import Delimiter, FormatName, unknown_name
from deniable.cli.progress import passes
from deniable.cli.runs import check_torch, memory_told
from deniable.cli.tables import PIPE, certificate_path, delimiter_of, format_between, text_columns
from deniable.errors import InputError, positive

if TYPE_CHECKING:
    from deniable.text.table import Files


def rewrite(
    source: Annotated[
        str, typer.Argument(metavar="INPUT", help="csv, tsv, jsonl, parquet or txt, also .gz or .zst; - is a pipe.")
    ],
    model: Annotated[
        Path, typer.Option(metavar="FILE", help="Of deniable train --task rewrite, trained on public texts.")
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
    format_: FormatName = None,
    delimiter: Delimiter = None,
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
    from deniable.rewrite.methods import METHODS, check_options  # noqa: PLC0415 - keeps --help fast
    from deniable.rewrite.model import load_rewriter  # noqa: PLC0415
    from deniable.rewrite.table import rewrite_table  # noqa: PLC0415

    if method not in METHODS:
        raise unknown_name("method", method, list(METHODS))
    options = check_options(method, delta=delta, most=most)
    positive(method, "epsilon", epsilon)
    files = _files(source, output, column, certificate, (format_, delimiter, encoding), model, force=force)
    built = METHODS[method](load_rewriter(model), epsilon=epsilon, seed=seed, **options)
    with passes("rewriting"), memory_told():
        proof, truncated = rewrite_table(files, built)
    if not proof.private:
        typer.echo(f"warning: the guarantee of {method} is refuted: {built.guarantee.source}", err=True)
    typer.echo(proof.summary(), err=True)
    if truncated:
        told = f"{count_rows(truncated)} with more than {built.model.limit:,} tokens, of which the first entered"
        alone = "this tells of the private text: do not publish it"
        typer.echo(f"for you alone  {told}: {name_rows(truncated)}; {alone}", err=True)
    typer.echo(f"wrote {output} and {files.certificate}", err=True)


def _files(
    source: str,
    output: str,
    column: list[str] | None,
    certificate: str | None,
    form: tuple[str | None, str | None, str],
    model: Path,
    *,
    force: bool,
) -> "Files":
    """Return what is read and written, checked before the model is read."""
    from deniable.text.table import Files, check_paths  # noqa: PLC0415
    from deniable.text.tables.layout import Layout  # noqa: PLC0415

    kind = format_between(source, output, form[0])
    files = Files(
        source=source,
        target=output,
        certificate=certificate_path(output, certificate),
        format=kind,
        layout=Layout(
            name="the input" if source == PIPE else source,
            columns=text_columns(kind, column),
            delimiter=delimiter_of(kind, form[1]),
            encoding=form[2],
            empty=True,
        ),
        force=force,
        reads=[str(model)],
    )
    if source != PIPE and not Path(source).is_file():
        raise InputError(f"The input {source!r} is not a file: give the path of one, or - for a pipe.")
    check_paths(files)
    return files
