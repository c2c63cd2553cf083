"""``deniable study``: a published figure, run again."""

from pathlib import Path
from typing import Annotated

import typer

from deniable.cli.options import unknown_name_error
from deniable.cli.progress import show_passes
from deniable.core.errors import DeniableError, InputError


def run_study(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="A run_study; --list shows them.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="Folder for NAME.json, NAME.png and NAME.md.")
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="Show the studies and exit.")] = False,  # noqa: FBT002 - a flag
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder with data sets, for studies that need one.")
    ] = None,
    quick: Annotated[  # noqa: FBT002 - a flag
        bool, typer.Option("--quick", help="Smaller sizes: a few minutes.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")] = False,  # noqa: FBT002
    seed: Annotated[int, typer.Option(help="Public seed; the numbers follow from it.")] = 0,
) -> None:
    """Run a published figure again, and set what the paper says beside what comes out.

    Writes the numbers, the figure and the table. Needs matplotlib: deniable[plot].
    """
    from deniable.studies import STUDIES, Setting, conduct, unfinished  # noqa: PLC0415 - keeps --help fast

    if list_:
        for known_study in STUDIES.values():
            typer.echo(f"{known_study.name:<20}{known_study.summary}")
        return
    if name is None:
        raise InputError(f"Name a study: {', '.join(STUDIES)}.")
    study_name = name.replace("_", "-")
    if study_name not in STUDIES:
        raise unknown_name_error("study", name, list(STUDIES))
    if output is None:
        raise InputError(f"The study needs a folder for its files: deniable study {study_name} --output DIR")
    unfinished_path = unfinished(study_name, output)
    if unfinished_path.is_file() and not force:
        typer.echo(f"going on with the unfinished run in {unfinished_path}", err=True)
    try:
        with show_passes(study_name):
            report = conduct(STUDIES[study_name], output, Setting(seed, data), quick=quick, force=force)
    except KeyboardInterrupt:
        if not unfinished_path.is_file():
            raise
        raise DeniableError(
            f"interrupted: the same command goes on from what is kept in {str(unfinished_path)!r}."
        ) from None
    for line in report.result.findings:
        typer.echo(line)
    typer.echo(f"table: {report.table}")
