"""``deniable train``: a private, certified or robust model of images or of texts, with its card."""

from pathlib import Path
from typing import Annotated

import typer

from deniable.cli.options import Delimiter, FormatName, MetricName, SpaceSource, check_task, given, unknown_name, unless
from deniable.cli.runs import check_torch
from deniable.cli.tables import Form
from deniable.cli.texts import table_of
from deniable.cli.train_image import train_image
from deniable.cli.train_text import train_text
from deniable.errors import InputError

_TASKS = ("image", "text")
_IMAGE, _TEXT = "Images", "Texts"


def train(
    model: Annotated[
        str,
        typer.Option(
            help="Images: dp-sgd, dp-cert, dp-adversarial, pixeldp, securesgd, securesgd-agm, adlm, dpal, "
            "dp-sgd-batch-clipped, adversarial or plain. Texts: cnn, bow, attention or fasttext."
        ),
    ],
    data: Annotated[
        Path,
        typer.Option(
            metavar="PATH",
            help="Images: .npz with x_train, y_train, x_test, y_test; a folder or archive of train/CLASS/*.png and "
            "test/CLASS/*.png; a folder of IDX files. Texts: csv, tsv, jsonl or parquet.",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The model; its card goes beside it.")],
    task: Annotated[str, typer.Option(help="image or text.")] = "image",
    epsilon: Annotated[
        float | None, typer.Option(help="Images: budget for the training records. Texts: of --mechanism.")
    ] = None,
    batch_size: Annotated[int | None, typer.Option(help="Of each step; the expected one for DP-SGD.")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Of the descent.")] = None,
    clip: Annotated[float | None, typer.Option(help="Norm to which gradients are clipped.")] = None,
    checkpoint_every: Annotated[int, typer.Option(help="Steps between checkpoints.")] = 20,
    seed: Annotated[int | None, typer.Option(help="Public seed, for tests: the noise then protects nothing.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output, and another run's checkpoint.")] = False,  # noqa: FBT002
    delta: Annotated[
        float | None, typer.Option(help="Of the budget, for example 1e-5.", rich_help_panel=_IMAGE)
    ] = None,
    network: Annotated[
        str | None, typer.Option(help="small, paper-mnist or paper-cifar10.", rich_help_panel=_IMAGE)
    ] = None,
    width: Annotated[
        float | None, typer.Option(help="Factor on the sizes of the network's layers.", rich_help_panel=_IMAGE)
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Of the descent.", rich_help_panel=_IMAGE)] = None,
    noise_multiplier: Annotated[
        float | None,
        typer.Option(
            help="Of DP-SGD, per unit of --clip; training ends when the budget is spent.", rich_help_panel=_IMAGE
        ),
    ] = None,
    average: Annotated[
        float | None, typer.Option(help="Decay of the running mean of parameters; 0 for none.", rich_help_panel=_IMAGE)
    ] = None,
    views: Annotated[
        int | None, typer.Option(help="Shifted copies of each example in its gradient.", rich_help_panel=_IMAGE)
    ] = None,
    noise: Annotated[
        float | None, typer.Option(help="Of a certified model, in pixels of [0, 1].", rich_help_panel=_IMAGE)
    ] = None,
    attack_size: Annotated[
        float | None, typer.Option(help="For which a model is made, in pixels of [0, 1].", rich_help_panel=_IMAGE)
    ] = None,
    attack_steps: Annotated[
        int | None, typer.Option(help="Of the attacks in training.", rich_help_panel=_IMAGE)
    ] = None,
    column: Annotated[str, typer.Option("--column", "-c", help="Column with text.", rich_help_panel=_TEXT)] = "text",
    label: Annotated[
        str | None, typer.Option(help="Column with classes.", show_default=False, rich_help_panel=_TEXT)
    ] = None,
    premise: Annotated[
        str | None,
        typer.Option(help="Column with the first text of a pair, for bow and attention.", rich_help_panel=_TEXT),
    ] = None,
    test: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH", help="Table to test on; by default a tenth of --data is held out.", rich_help_panel=_TEXT
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(help="normal, ibp (certified training) or augmented.  [default: normal]", rich_help_panel=_TEXT),
    ] = None,
    substitutions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="JSON of word: [substitute, ...], for ibp or augmented.", rich_help_panel=_TEXT
        ),
    ] = None,
    mechanism: Annotated[
        str | None,
        typer.Option(help="Of augmented, with --epsilon: as for deniable privatize.", rich_help_panel=_TEXT),
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="Passes over the texts.", rich_help_panel=_TEXT)] = None,
    copies: Annotated[int | None, typer.Option(help="Of each text, for augmented.", rich_help_panel=_TEXT)] = None,
    kappa: Annotated[
        float | None, typer.Option(help="Weight of the worst case at the end of ibp.", rich_help_panel=_TEXT)
    ] = None,
    ramp: Annotated[
        float | None, typer.Option(help="Share of ibp over which the worst case grows.", rich_help_panel=_TEXT)
    ] = None,
    space: SpaceSource = "glove",
    metric: MetricName = "euclidean",
    format_: FormatName = None,
    delimiter: Delimiter = None,
    encoding: Annotated[str, typer.Option(help="Of the tables.")] = "utf-8",
) -> None:
    """Train a model of images or texts, and write it with its model card.

    The card (FILE.card.json and FILE.card.txt) is for whoever is given the model; FILE.owner.json is for its owner.
    An interrupted run goes on with the same command. Needs deniable[train].
    """
    check_torch()
    if task not in _TASKS:
        raise unknown_name("task", task, _TASKS)
    if checkpoint_every < 1:
        raise InputError(f"--checkpoint-every must be at least 1. Got {checkpoint_every}.")
    shared = {"batch_size": batch_size, "learning_rate": learning_rate, "clip": clip}
    image = {
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
    text = {"method": method, "epochs": epochs, "copies": copies, "kappa": kappa, "ramp": ramp}
    named = {
        "label": label,
        "premise": premise,
        "test": test,
        "substitutions": substitutions,
        "mechanism": mechanism,
        "column": unless("text", column),
        "space": unless("glove", space),
        "metric": unless("euclidean", metric),
        "format": format_,
        "delimiter": delimiter,
        "encoding": unless("utf-8", encoding),
    }
    check_task(task, image if task == "text" else {**text, **named})
    if task == "image":
        chosen = given({"epsilon": epsilon, **shared, **image})
        train_image(model, data, output, chosen, every=checkpoint_every, seed=seed, force=force)
        return
    table = table_of(label, column, premise, Form(format_, delimiter, encoding), space, metric)
    train_text(
        model,
        data,
        test,
        table,
        output,
        given({**shared, **text}),
        substitutions=substitutions,
        mechanism=mechanism,
        epsilon=epsilon,
        every=checkpoint_every,
        seed=seed,
        force=force,
    )
