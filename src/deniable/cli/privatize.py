"""``deniable privatize``: a table in, a private table and its certificate out."""

import enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.cli.options import (
    Delimiter,
    Epsilon,
    FormatName,
    Mechanism,
    MetricName,
    PriorFile,
    SpaceSource,
    build_mechanism,
    load_prior,
    read_words,
    vector_files,
)
from deniable.cli.progress import bytes_read, passes
from deniable.cli.tables import PIPE, certificate_path, delimiter_of, format_between, text_columns
from deniable.errors import InputError

if TYPE_CHECKING:
    from deniable.text.release import Tally


class UnknownChoice(enum.StrEnum):
    """What becomes of words that the vocabulary lacks."""

    DRAW = "draw"
    MASK = "mask"
    DROP = "drop"


class CaseChoice(enum.StrEnum):
    """What becomes of capitals."""

    LOWER = "lower"
    COPY = "copy"


def privatize(
    source: Annotated[
        str, typer.Argument(metavar="INPUT", help="csv, tsv, jsonl, parquet or txt, also .gz or .zst; - is a pipe.")
    ],
    epsilon: Epsilon,
    output: Annotated[
        str, typer.Option("--output", "-o", help="The private file, in the input's format; - is a pipe.")
    ],
    column: Annotated[
        list[str] | None,
        typer.Option("--column", "-c", help="Column with text; may be repeated.  [default: text]", show_default=False),
    ] = None,
    mechanism: Mechanism = "auto",
    space: SpaceSource = "glove",
    metric: MetricName = "euclidean",
    record_id: Annotated[
        str | None,
        typer.Option("--id", metavar="COLUMN", help="Column with unique record ids; by default the row number."),
    ] = None,
    key_file: Annotated[
        Path | None, typer.Option(help="Secret key from 'deniable key', for a run that can be repeated; needs --id.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Public seed, for tests only: the output is not private.")] = None,
    unknown: Annotated[
        UnknownChoice, typer.Option(help="Words that the vocabulary lacks: draw as one public word, mask, or drop.")
    ] = UnknownChoice.DRAW,
    case: Annotated[
        CaseChoice, typer.Option(help="lower, or copy the capitals of the private text, which then show.")
    ] = CaseChoice.LOWER,
    keep: Annotated[Path | None, typer.Option(help="File of public words, one a line, that pass through.")] = None,
    format_: FormatName = None,
    delimiter: Delimiter = None,
    encoding: Annotated[str, typer.Option(help="Of the input and the output.")] = "utf-8",
    workers: Annotated[
        int | None,
        typer.Option(help="Threads; the output does not depend on them.  [default: all cores]", show_default=False),
    ] = None,
    certificate: Annotated[
        str | None,
        typer.Option(help="Where the certificate goes.  [default: OUTPUT.certificate.json]", show_default=False),
    ] = None,
    prior: PriorFile = None,
    chosen_from_data: Annotated[  # noqa: FBT002 - a flag
        bool,
        typer.Option(
            "--chosen-from-data", help="Epsilon was chosen by looking at this input: the certificate says so."
        ),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite outputs that exist.")] = False,  # noqa: FBT002
) -> None:
    """Privatize the text columns of a table, word by word.

    Writes the same table with private text, and a certificate that says what is guaranteed and
    what is not. Every other column is copied as it is.
    """
    from deniable.auditing import verify  # noqa: PLC0415 - keeps --help fast
    from deniable.status import is_proved  # noqa: PLC0415
    from deniable.text.release import Release  # noqa: PLC0415
    from deniable.text.table import Files, check_paths, privatize_table  # noqa: PLC0415
    from deniable.text.tables.layout import Layout  # noqa: PLC0415

    kind = format_between(source, output, format_)
    key = _key(key_file, seed, record_id)
    if workers is not None and workers < 1:
        raise InputError(f"The 'workers' option must be an int of at least 1. Got {workers}.")
    layout = Layout(
        name="the input" if source == PIPE else source,
        columns=text_columns(kind, column, record_id),
        id_column=record_id,
        delimiter=delimiter_of(kind, delimiter),
        encoding=encoding,
    )
    files = Files(
        source=source,
        target=output,
        certificate=certificate_path(output, certificate),
        format=kind,
        layout=layout,
        force=force,
        reads=[str(path) for path in (key_file, keep, prior, vector_files(space)) if path is not None],
    )
    if source != PIPE and not Path(source).is_file():
        raise InputError(f"The input {source!r} is not a file: give the path of one, or - for a pipe.")
    check_paths(files)
    kept = read_words(keep)
    with passes("calibrating and verifying"):
        built = build_mechanism(mechanism, space, metric, epsilon)
        release = Release(built, unknown=unknown.value, case=case.value, keep=kept, key=key)
        # What the certificate will say; found before any text is read, and kept in the cache.
        frequencies = load_prior(prior, built.space)
        verdict = verify(built)
        built.expected_kept(frequencies)
    for note in built.space.notes:
        typer.echo(f"note: {note}", err=True)
    if verdict.status == "refuted":
        typer.echo(f"warning: the guarantee of {built.name} is refuted: {verdict.witness}", err=True)
    elif not is_proved(verdict.status):
        typer.echo(
            f"warning: the guarantee of {built.name} is not proved: {verdict.status}, {verdict.method}", err=True
        )
    with bytes_read("privatizing", None if source == PIPE else Path(source).stat().st_size) as report:
        proof, tally = privatize_table(
            files, release, chosen_from_data=chosen_from_data, prior=frequencies, workers=workers, report=report
        )
    typer.echo(proof.summary(), err=True)
    typer.echo(_private_lines(tally), err=True)
    typer.echo(f"wrote {output} and {files.certificate}", err=True)


def _key(key_file: Path | None, seed: int | None, record_id: str | None) -> str | bytes | None:
    """Return the key that options name, None for fresh noise.

    Raises:
        InputError: a key and a seed, a key without ids, or a file that holds none.
    """
    from deniable.keys import read_key_file  # noqa: PLC0415

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


def _private_lines(tally: "Tally") -> str:
    words = max(tally.words, 1)
    return (
        f"for you alone  {tally.changed:,} words changed ({100 * tally.changed / words:.1f} %), "
        f"{tally.unknown:,} not in the vocabulary; these figures tell of the private text: do not publish them"
    )
