"""``deniable privatize``: a table in, a private table and its certificate out."""

import enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.cli.options import (
    DelimiterOption,
    EpsilonOption,
    FormatOption,
    MechanismOption,
    MetricOption,
    PriorOption,
    SpaceOption,
    build_mechanism_from_options,
    find_vector_files,
    load_word_prior,
    read_word_list,
)
from deniable.cli.progress import show_bytes_read, show_passes
from deniable.cli.tables import PIPE, parse_delimiter, resolve_certificate_path, resolve_format, resolve_text_columns
from deniable.core.errors import InputError

if TYPE_CHECKING:
    from deniable.text.batches import Tally


class UnknownWordHandling(enum.StrEnum):
    """What becomes of words that the vocabulary lacks."""

    DRAW = "draw"
    MASK = "mask"
    DROP = "drop"


class CaseHandling(enum.StrEnum):
    """What becomes of capitals."""

    LOWER = "lower"
    COPY = "copy"


def run_privatize(
    source: Annotated[
        str, typer.Argument(metavar="INPUT", help="csv, tsv, jsonl, parquet or txt, also .gz or .zst; - is a pipe.")
    ],
    epsilon: EpsilonOption,
    output: Annotated[
        str, typer.Option("--output", "-o", help="The private file, in the input's format; - is a pipe.")
    ],
    column: Annotated[
        list[str] | None,
        typer.Option("--column", "-c", help="Column with text; may be repeated.  [default: text]", show_default=False),
    ] = None,
    mechanism: MechanismOption = "auto",
    space: SpaceOption = "glove",
    metric: MetricOption = "euclidean",
    record_id: Annotated[
        str | None,
        typer.Option("--id", metavar="COLUMN", help="Column with unique record ids; by default the row number."),
    ] = None,
    key_file: Annotated[
        Path | None, typer.Option(help="Secret key from 'deniable key', for a run that can be repeated; needs --id.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Public seed, for tests only: the output is not private.")] = None,
    unknown: Annotated[
        UnknownWordHandling,
        typer.Option(help="Words that the vocabulary lacks: draw as one public word, mask, or drop."),
    ] = UnknownWordHandling.DRAW,
    case: Annotated[
        CaseHandling, typer.Option(help="lower, or copy the capitals of the private text, which then show.")
    ] = CaseHandling.LOWER,
    keep: Annotated[Path | None, typer.Option(help="File of public words, one a line, that pass through.")] = None,
    format_: FormatOption = None,
    delimiter: DelimiterOption = None,
    encoding: Annotated[str, typer.Option(help="Of the input and the output.")] = "utf-8",
    workers: Annotated[
        int | None,
        typer.Option(help="Threads; the output does not depend on them.  [default: all cores]", show_default=False),
    ] = None,
    certificate: Annotated[
        str | None,
        typer.Option(help="Where the certificate goes.  [default: OUTPUT.certificate.json]", show_default=False),
    ] = None,
    prior: PriorOption = None,
    chosen_from_data: Annotated[  # noqa: FBT002 - a flag
        bool,
        typer.Option(
            "--chosen-from-data", help="EpsilonOption was chosen by looking at this input: the certificate says so."
        ),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite outputs that exist.")] = False,  # noqa: FBT002
) -> None:
    """Privatize the text columns of a table, word by word.

    Writes the same table with private text, and a certificate that says what is guaranteed and
    what is not. Every other column is copied as it is.
    """
    from deniable.auditing import verify  # noqa: PLC0415 - keeps --help fast
    from deniable.core.guarantees import is_proved  # noqa: PLC0415
    from deniable.text.release import Release  # noqa: PLC0415
    from deniable.text.table_release import ReleaseFiles, check_release_paths, privatize_table  # noqa: PLC0415
    from deniable.text.tables.layout import TableLayout  # noqa: PLC0415

    table_format = resolve_format(source, output, format_)
    key = _read_key(key_file, seed, record_id)
    if workers is not None and workers < 1:
        raise InputError(f"The 'workers' option must be an int of at least 1. Got {workers}.")
    layout = TableLayout(
        name="the input" if source == PIPE else source,
        columns=resolve_text_columns(table_format, column, record_id),
        id_column=record_id,
        delimiter=parse_delimiter(table_format, delimiter),
        encoding=encoding,
    )
    files = ReleaseFiles(
        source=source,
        target=output,
        certificate=resolve_certificate_path(output, certificate),
        table_format=table_format,
        layout=layout,
        force=force,
        input_paths=[str(path) for path in (key_file, keep, prior, find_vector_files(space)) if path is not None],
    )
    if source != PIPE and not Path(source).is_file():
        raise InputError(f"The input {source!r} is not a file: give the path of one, or - for a pipe.")
    check_release_paths(files)
    public_words = read_word_list(keep)
    with show_passes("calibrating and verifying"):
        word_mechanism = build_mechanism_from_options(mechanism, space, metric, epsilon)
        release = Release(word_mechanism, unknown=unknown.value, case=case.value, keep=public_words, key=key)
        # What the certificate will say; found before any text is read, and kept in the cache.
        word_prior = load_word_prior(prior, word_mechanism.space)
        verdict = verify(word_mechanism)
        word_mechanism.expected_kept_share(word_prior)
    for note in word_mechanism.space.notes:
        typer.echo(f"note: {note}", err=True)
    if verdict.status == "refuted":
        typer.echo(f"warning: the guarantee of {word_mechanism.name} is refuted: {verdict.witness}", err=True)
    elif not is_proved(verdict.status):
        typer.echo(
            f"warning: the guarantee of {word_mechanism.name} is not proved: {verdict.status}, {verdict.method}",
            err=True,
        )
    with show_bytes_read("privatizing", None if source == PIPE else Path(source).stat().st_size) as report:
        release_certificate, tally = privatize_table(
            files, release, chosen_from_data=chosen_from_data, prior=word_prior, workers=workers, report=report
        )
    typer.echo(release_certificate.summary(), err=True)
    typer.echo(_format_owner_figures(tally), err=True)
    typer.echo(f"wrote {output} and {files.certificate}", err=True)


def _read_key(key_file: Path | None, seed: int | None, record_id: str | None) -> str | bytes | None:
    """Return the key that options name, None for fresh noise.

    Raises:
        InputError: a key and a seed, a key without ids, or a file that holds none.
    """
    from deniable.core.keys import read_key_file  # noqa: PLC0415

    if key_file is not None and seed is not None:
        raise InputError("Give --key-file or --seed, not both.")
    if seed is not None:
        return f"seed:{seed}"
    if key_file is None:
        return None
    if record_id is None:
        raise InputError(
            "--key-file needs --id COLUMN: under one key the noise follows the record's id, and row "
            "numbers change when rows do."
        )
    return read_key_file(key_file)  # read once: a pipe gives it once


def _format_owner_figures(tally: "Tally") -> str:
    word_count = max(tally.words, 1)
    return (
        f"for you alone  {tally.changed:,} words changed ({100 * tally.changed / word_count:.1f} %), "
        f"{tally.unknown:,} not in the vocabulary; these figures tell of the private text: do not publish them"
    )
