"""``deniable train``: a model of images, of texts or that rewrites texts, with its card."""

from pathlib import Path
from typing import Annotated

import typer

from deniable.cli.labelled_tables import build_labelled_table
from deniable.cli.model_runs import check_torch
from deniable.cli.options import (
    DelimiterOption,
    FormatOption,
    MetricOption,
    SpaceOption,
    check_task_options,
    none_if_default,
    select_given,
    unknown_name_error,
)
from deniable.cli.tables import TableFormat
from deniable.cli.train.corpus import RewritingCorpus
from deniable.cli.train.image import run_train_image
from deniable.cli.train.rewriter import FineTuning, run_train_rewriter
from deniable.cli.train.text import run_train_text
from deniable.core.errors import InputError

_TASK_NAMES = ("image", "text", "rewrite")
_IMAGE_PANEL, _TEXT_PANEL, _REWRITER_PANEL = "Images", "Texts", "Rewriting"


def run_train(
    data: Annotated[
        Path,
        typer.Option(
            metavar="PATH",
            help="Images: .npz with x_train, y_train, x_test, y_test; a folder or archive of run_train/CLASS/*.png and "
            "test/CLASS/*.png; a folder of IDX files. Texts and rewriting: csv, tsv, jsonl or parquet.",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The model; its card goes beside it.")],
    task: Annotated[str, typer.Option(help="image, text or rewrite.")] = "image",
    model: Annotated[
        str | None,
        typer.Option(
            help="Images: dp-sgd, dp-cert, dp-adversarial, pixeldp, securesgd, securesgd-agm, adlm, dpal, "
            "dp-sgd-batch-clipped, adversarial or plain. Texts: cnn, bow, attention or fasttext. Rewriting: "
            "autoencoder, which need not be named.",
            show_default=False,
        ),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(help="Images: budget for the training records. Texts: of --mechanism. Rewriting: of --method."),
    ] = None,
    batch_size: Annotated[int | None, typer.Option(help="Of each step; the expected one for DP-SGD.")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Of the descent.")] = None,
    clip: Annotated[float | None, typer.Option(help="Norm to which gradients are clipped.")] = None,
    checkpoint_every: Annotated[int, typer.Option(help="Steps between checkpoints.")] = 20,
    seed: Annotated[int | None, typer.Option(help="Public seed, for tests: the noise then protects nothing.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output, and another run's checkpoint.")] = False,  # noqa: FBT002
    delta: Annotated[
        float | None,
        typer.Option(
            help="Of the budget, or of --method adept-gaussian; for example 1e-5.", rich_help_panel=_IMAGE_PANEL
        ),
    ] = None,
    network: Annotated[
        str | None, typer.Option(help="small, paper-mnist or paper-cifar10.", rich_help_panel=_IMAGE_PANEL)
    ] = None,
    width: Annotated[
        float | None, typer.Option(help="Factor on the sizes of the network's layers.", rich_help_panel=_IMAGE_PANEL)
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Of the descent.", rich_help_panel=_IMAGE_PANEL)] = None,
    noise_multiplier: Annotated[
        float | None,
        typer.Option(
            help="Of DP-SGD, per unit of --clip; training ends when the budget is spent.", rich_help_panel=_IMAGE_PANEL
        ),
    ] = None,
    average: Annotated[
        float | None,
        typer.Option(help="Decay of the running mean of parameters; 0 for none.", rich_help_panel=_IMAGE_PANEL),
    ] = None,
    views: Annotated[
        int | None, typer.Option(help="Shifted copies of each example in its gradient.", rich_help_panel=_IMAGE_PANEL)
    ] = None,
    noise: Annotated[
        float | None, typer.Option(help="Of a certified model, in pixels of [0, 1].", rich_help_panel=_IMAGE_PANEL)
    ] = None,
    attack_size: Annotated[
        float | None, typer.Option(help="For which a model is made, in pixels of [0, 1].", rich_help_panel=_IMAGE_PANEL)
    ] = None,
    attack_steps: Annotated[
        int | None, typer.Option(help="Of the attacks in training.", rich_help_panel=_IMAGE_PANEL)
    ] = None,
    pixel_range: Annotated[
        str | None,
        typer.Option(
            "--range",
            metavar="LOW,HIGH",
            help="Values of black and white, which are never inferred from the images.  [default: 0,255 of uint8, 0,1 "
            "of floats]",
            show_default=False,
            rich_help_panel=_IMAGE_PANEL,
        ),
    ] = None,
    classes: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="Names of all classes.  [default: those of the training images, which the model then shows]",
            show_default=False,
            rich_help_panel=_IMAGE_PANEL,
        ),
    ] = None,
    column: Annotated[
        str, typer.Option("--column", "-c", help="Column with text.", rich_help_panel=_TEXT_PANEL)
    ] = "text",
    label: Annotated[
        str | None, typer.Option(help="Column with classes.", show_default=False, rich_help_panel=_TEXT_PANEL)
    ] = None,
    premise: Annotated[
        str | None,
        typer.Option(help="Column with the first text of a pair, for bow and attention.", rich_help_panel=_TEXT_PANEL),
    ] = None,
    test: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Table to test on; by default a tenth of --data is held out.",
            rich_help_panel=_TEXT_PANEL,
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="Texts: normal, ibp (certified training) or augmented.  [default: normal]  Rewriting: adept, "
            "adept-l1, adept-true, adept-gaussian or dptext-fixed, whose noise --start is trained with.",
            rich_help_panel=_TEXT_PANEL,
        ),
    ] = None,
    substitutions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="JSON of word: [substitute, ...], for ibp or augmented.", rich_help_panel=_TEXT_PANEL
        ),
    ] = None,
    mechanism: Annotated[
        str | None,
        typer.Option(help="Of augmented, with --epsilon: as for deniable privatize.", rich_help_panel=_TEXT_PANEL),
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="Passes over the texts.", rich_help_panel=_TEXT_PANEL)] = None,
    copies: Annotated[
        int | None, typer.Option(help="Of each text, for augmented.", rich_help_panel=_TEXT_PANEL)
    ] = None,
    kappa: Annotated[
        float | None, typer.Option(help="Weight of the worst case at the end of ibp.", rich_help_panel=_TEXT_PANEL)
    ] = None,
    ramp: Annotated[
        float | None, typer.Option(help="Share of ibp over which the worst case grows.", rich_help_panel=_TEXT_PANEL)
    ] = None,
    quick: Annotated[  # noqa: FBT002 - a flag
        bool,
        typer.Option(
            "--quick", help="A small network and a short run, for trying out.", rich_help_panel=_REWRITER_PANEL
        ),
    ] = False,
    latent: Annotated[
        int | None, typer.Option(help="Coordinates of a text's vector.  [default: 64]", rich_help_panel=_REWRITER_PANEL)
    ] = None,
    limit: Annotated[
        int | None, typer.Option(help="Most tokens of a text.  [default: 64]", rich_help_panel=_REWRITER_PANEL)
    ] = None,
    start: Annotated[
        Path | None,
        typer.Option(metavar="MODEL", help="Model to go on from, of the same task.", rich_help_panel=_REWRITER_PANEL),
    ] = None,
    space: SpaceOption = "glove",
    metric: MetricOption = "euclidean",
    format_: FormatOption = None,
    delimiter: DelimiterOption = None,
    encoding: Annotated[str, typer.Option(help="Of the tables.")] = "utf-8",
) -> None:
    """Train a model of images or texts, or one that rewrites texts, and write it with its model card.

    The card (FILE.card.json and FILE.card.txt) is for whoever is given the model; FILE.owner.json is for its owner.
    An interrupted run goes on with the same command. Needs deniable[train].
    """
    check_torch()
    if task not in _TASK_NAMES:
        raise unknown_name_error("task", task, _TASK_NAMES)
    if checkpoint_every < 1:
        raise InputError(f"--checkpoint-every must be at least 1. Got {checkpoint_every}.")
    shared_options = {"batch_size": batch_size, "learning_rate": learning_rate, "clip": clip}
    image_options = {
        "delta": delta,
        "network": network,
        "width": width,
        "steps": steps,
        "noise_multiplier": noise_multiplier,
        "average": average,
        "views": views,
        "noise": noise,
        "attack_size": attack_size,
        "attack_steps": attack_steps,
    }
    text_options = {"method": method, "epochs": epochs, "copies": copies, "kappa": kappa, "ramp": ramp}
    table_options = {
        "test": test,
        "column": none_if_default("text", column),
        "format": format_,
        "delimiter": delimiter,
        "encoding": none_if_default("utf-8", encoding),
    }
    word_options = {
        "label": label,
        "premise": premise,
        "substitutions": substitutions,
        "mechanism": mechanism,
        "space": none_if_default("glove", space),
        "metric": none_if_default("euclidean", metric),
    }
    rewriter_options = {"epochs": epochs, "latent": latent}
    fine_tuning_options = {"method": method, "delta": delta, "quick": quick or None, "limit": limit, "start": start}
    declared_options = {"range": pixel_range, "classes": classes}
    check_task_options(
        task,
        {
            "image": {**declared_options, **image_options},
            "text": {**text_options, **table_options, **word_options},
            "rewrite": {**rewriter_options, **fine_tuning_options, **table_options},
        },
    )
    table_format = TableFormat(format_, delimiter, encoding)
    if task == "rewrite":
        run_train_rewriter(
            model,
            RewritingCorpus(data, test, column, table_format),
            output,
            select_given({**shared_options, **rewriter_options}),
            FineTuning(start, method, epsilon, delta),
            quick=quick,
            maximum_tokens=limit,
            checkpoint_steps=checkpoint_every,
            seed=seed,
            force=force,
        )
        return
    if model is None:
        raise InputError("Missing option '--model': name the kind of model.")
    if task == "image":
        given_options = select_given({"epsilon": epsilon, **shared_options, **image_options})
        run_train_image(
            model,
            data,
            output,
            given_options,
            pixel_range=pixel_range,
            classes=classes,
            checkpoint_steps=checkpoint_every,
            seed=seed,
            force=force,
        )
        return
    run_train_text(
        model,
        data,
        test,
        build_labelled_table(label, column, premise, table_format, space, metric),
        output,
        select_given({**shared_options, **text_options}),
        substitutions=substitutions,
        mechanism=mechanism,
        epsilon=epsilon,
        checkpoint_steps=checkpoint_every,
        seed=seed,
        force=force,
    )
