"""``deniable certify``: how far the predictions of a model hold under attack, proved one by one."""

import enum
from pathlib import Path
from typing import Annotated

import typer

from deniable.cli.certify.image import run_certify_image
from deniable.cli.certify.text import run_certify_text
from deniable.cli.labelled_tables import build_labelled_table
from deniable.cli.model_runs import CertifyOptions, check_torch
from deniable.cli.options import (
    DelimiterOption,
    FormatOption,
    MetricOption,
    SpaceOption,
    check_task_options,
    find_vector_files,
    none_if_default,
)
from deniable.cli.tables import TableFormat
from deniable.core.errors import InputError

_IMAGE_PANEL, _TEXT_PANEL = "Images", "Texts"
_DEFAULT_DRAWS = {"image": 1_000, "text": 10_000}


class SmoothingNoise(enum.StrEnum):
    """Of the noise that smooths a deterministic model."""

    GAUSSIAN = "gaussian"
    LAPLACE = "laplace"


def run_certify(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="What deniable train wrote.")],
    data: Annotated[
        Path,
        typer.Option(metavar="PATH", help="Images, of which the test half is used, or a table; as for deniable train."),
    ],
    limit: Annotated[int | None, typer.Option(help="Test images or rows, the first ones; all by default.")] = None,
    draws: Annotated[
        int | None,
        typer.Option(help="Of the noise for each image or text.  [default: 1000 and 10000]", show_default=False),
    ] = None,
    alpha: Annotated[
        float, typer.Option(help="Chance, at most, that the certificate of one of them is wrong.")
    ] = 0.001,
    attack: Annotated[
        int, typer.Option(metavar="N", help="Certified images or texts to attack, to refute the certificate.")
    ] = 0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="JSON with every image or text.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the noise; the numbers follow from it.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output.")] = False,  # noqa: FBT002 - a flag
    radius: Annotated[
        float | None,
        typer.Option(
            help="Size of the attack, in the norm of the certificate and pixels of [0, 1].",
            rich_help_panel=_IMAGE_PANEL,
        ),
    ] = None,
    noise: Annotated[
        float | None, typer.Option(help="Smooths a model that has no noise of its own.", rich_help_panel=_IMAGE_PANEL)
    ] = None,
    law: Annotated[
        SmoothingNoise | None,
        typer.Option(
            help="Of that noise: gaussian certifies in l2, laplace in l1.  [default: gaussian]",
            show_default=False,
            rich_help_panel=_IMAGE_PANEL,
        ),
    ] = None,
    label: Annotated[str | None, typer.Option(help="Column with classes.", rich_help_panel=_TEXT_PANEL)] = None,
    column: Annotated[
        str, typer.Option("--column", "-c", help="Column with text.", rich_help_panel=_TEXT_PANEL)
    ] = "text",
    premise: Annotated[
        str | None, typer.Option(help="Column with the first text of a pair, which stays.", rich_help_panel=_TEXT_PANEL)
    ] = None,
    substitutions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="JSON of word: [substitute, ...]: which words an attack may use. Alone: certified by interval bounds.",
            rich_help_panel=_TEXT_PANEL,
        ),
    ] = None,
    mechanism: Annotated[
        str | None,
        typer.Option(help="Smooths the model: every word is drawn anew, with --epsilon.", rich_help_panel=_TEXT_PANEL),
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="Of the mechanism.", rich_help_panel=_TEXT_PANEL)] = None,
    space: SpaceOption = "glove",
    metric: MetricOption = "euclidean",
    format_: FormatOption = None,
    delimiter: DelimiterOption = None,
    encoding: Annotated[str, typer.Option(help="Of the table.")] = "utf-8",
) -> None:
    """Certify the predictions of a model on test images or on the texts of a table.

    Prints the share that is right and certified beyond each size of attack. Exit code 1 if an attack inside what is
    certified refutes a certificate that is said to be proved.
    """
    check_torch()
    from deniable.core.errors import check_positive  # noqa: PLC0415 - keeps --help fast
    from deniable.core.files import check_outputs  # noqa: PLC0415
    from deniable.learning.artifact import read_artifact  # noqa: PLC0415

    check_positive("a certificate", "alpha", alpha, 1.0)
    minimums = {"--limit": (limit, 1), "--draws": (draws, 1), "--attack": (attack, 0), "--radius": (radius, 0)}
    for name, (value, minimum) in minimums.items():
        if value is not None and not value >= minimum:
            raise InputError(f"{name} must be at least {minimum}. Got {value}.")
    if output is not None:
        check_outputs([output], [model, data, substitutions, find_vector_files(space)], force=force)
    task = "text" if read_artifact(model).kind == "text model" else "image"
    image_options = {"radius": radius, "noise": noise, "law": law}
    text_options = {
        "label": label,
        "premise": premise,
        "substitutions": substitutions,
        "mechanism": mechanism,
        "epsilon": epsilon,
        "column": none_if_default("text", column),
        "space": none_if_default("glove", space),
        "metric": none_if_default("euclidean", metric),
        "format": format_,
        "delimiter": delimiter,
        "encoding": none_if_default("utf-8", encoding),
    }
    check_task_options(task, {"image": image_options, "text": text_options})
    certify_options = CertifyOptions(draws or _DEFAULT_DRAWS[task], alpha, attack, seed)
    if task == "image":
        is_refuted = run_certify_image(
            model,
            data,
            certify_options,
            limit=limit,
            radius=radius,
            noise=noise,
            law=None if law is None else law.value,
            output=output,
            force=force,
        )
    else:
        labelled_table = build_labelled_table(
            label, column, premise, TableFormat(format_, delimiter, encoding), space, metric
        )
        is_refuted = run_certify_text(
            model,
            str(data),
            certify_options,
            labelled_table,
            limit=limit,
            substitutions=substitutions,
            mechanism=mechanism,
            epsilon=epsilon,
            output=output,
            force=force,
        )
    if is_refuted:
        raise typer.Exit(1)
