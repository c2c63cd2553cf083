"""``deniable train``: a private, certified or robust model of images, with its card."""

import contextlib
import dataclasses
import importlib.util
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.cli.options import unknown_name
from deniable.cli.progress import passes
from deniable.errors import DeniableError, InputError

if TYPE_CHECKING:
    from deniable.robust.certify import Curve
    from deniable.robust.fit import Status
    from deniable.robust.images import Dataset
    from deniable.robust.model import Model
    from deniable.robust.training.loop import Checkpoint

_SECONDS = 5.0
"""Least time between two lines of progress."""
_SHOWN = 1_000
"""Test images behind the accuracy that a line of progress gives."""
_CERTIFIED = 200
"""Test images behind the curve of certified accuracy on the card."""
_NO_MEMORY = ("can't allocate memory", "not enough memory", "out of memory")
_BESIDE = (".card.json", ".card.txt", ".owner.json")


def train(
    model: Annotated[
        str,
        typer.Option(
            help="dp-sgd, dp-cert, dp-adversarial, pixeldp, securesgd, securesgd-agm, adlm, dpal, "
            "dp-sgd-batch-clipped, adversarial or plain."
        ),
    ],
    data: Annotated[
        Path,
        typer.Option(
            metavar="PATH",
            help=".npz with x_train, y_train, x_test, y_test; a folder or archive of train/CLASS/*.png and "
            "test/CLASS/*.png; a folder of IDX files.",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The model; its card goes beside it.")],
    task: Annotated[str, typer.Option(help="image.")] = "image",
    epsilon: Annotated[float | None, typer.Option(help="Budget for the training records.")] = None,
    delta: Annotated[float | None, typer.Option(help="Of that budget, for example 1e-5.")] = None,
    network: Annotated[str | None, typer.Option(help="small, paper-mnist or paper-cifar10.")] = None,
    width: Annotated[float | None, typer.Option(help="Factor on the sizes of the network's layers.")] = None,
    steps: Annotated[int | None, typer.Option(help="Of the descent.")] = None,
    batch_size: Annotated[int | None, typer.Option(help="Of each step; the expected one for DP-SGD.")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Of the descent.")] = None,
    clip: Annotated[float | None, typer.Option(help="Norm to which DP-SGD clips gradients.")] = None,
    noise_multiplier: Annotated[
        float | None,
        typer.Option(help="Of DP-SGD, per unit of --clip; training ends when the budget is spent."),
    ] = None,
    average: Annotated[float | None, typer.Option(help="Decay of the running mean of parameters; 0 for none.")] = None,
    views: Annotated[int | None, typer.Option(help="Shifted copies of each example in its gradient.")] = None,
    noise: Annotated[float | None, typer.Option(help="Of a certified model, in pixels of [0, 1].")] = None,
    attack_size: Annotated[float | None, typer.Option(help="For which a model is made, in pixels of [0, 1].")] = None,
    attack_steps: Annotated[int | None, typer.Option(help="Of the attacks in training.")] = None,
    checkpoint_every: Annotated[int, typer.Option(help="Steps between checkpoints.")] = 20,
    seed: Annotated[int | None, typer.Option(help="Public seed, for tests: the noise then protects nothing.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output, and another run's checkpoint.")] = False,  # noqa: FBT002
) -> None:
    """Train a model of images, and write it with its model card.

    The card (FILE.card.json and FILE.card.txt) is for whoever is given the model; FILE.owner.json is for its owner.
    An interrupted run goes on with the same command. Needs deniable[train].
    """
    check_torch()
    from deniable.robust.card import card, commit, text  # noqa: PLC0415 - keeps --help fast
    from deniable.robust.fit import fit  # noqa: PLC0415
    from deniable.robust.images import read_images  # noqa: PLC0415
    from deniable.robust.model import accuracy, packed  # noqa: PLC0415
    from deniable.robust.systems import SYSTEMS  # noqa: PLC0415
    from deniable.robust.training.loop import Checkpoint  # noqa: PLC0415
    from deniable.text.tables.files import writing  # noqa: PLC0415

    if task != "image":
        raise unknown_name("task", task, ["image"])
    if model not in SYSTEMS:
        raise unknown_name("model", model, list(SYSTEMS))
    if checkpoint_every < 1:
        raise InputError(f"--checkpoint-every must be at least 1. Got {checkpoint_every}.")
    given = {
        "epsilon": epsilon,
        "delta": delta,
        "network": network,
        "width": width,
        "steps": steps,
        "batch_size": batch_size,
        "learning_rate": learning_rate,
        "clip": clip,
        "noise_multiplier": noise_multiplier,
        "average": average,
        "views": views,
        "noise": noise,
        "attack_size": attack_size,
        "attack_steps": attack_steps,
    }
    options = SYSTEMS[model].options(**{name: value for name, value in given.items() if value is not None})
    _check_output(output, data, force=force)
    images = read_images(data)
    parameters = {"model": model, "data": images.fingerprint, "seed": seed, **dataclasses.asdict(options)}
    checkpoint = Checkpoint(Path(f"{output}.checkpoint"), parameters, checkpoint_every)
    _take_up(checkpoint, force=force)
    with memory_told(), _resumable(checkpoint):
        found = fit(model, images, options, seed=seed, checkpoint=checkpoint, progress=_Progress(images))
        clean = accuracy(found, images.test)
        with passes("certified accuracy"):
            curve = _curve(found, images)
        owner = commit(images)
        about = card(found, images, owner["commitment"], clean, curve)
        contents = (packed(found), _json(about), text(about).encode(), _json(owner))
        with writing(*(f"{output}{ending}" for ending in ("", *_BESIDE)), force=force) as streams:
            Path(streams[-1].name).chmod(0o600)  # before there is anything in it
            for stream, content in zip(streams, contents, strict=True):
                stream.write(content)
    checkpoint.remove()
    typer.echo(text(about), err=True)
    typer.echo(f"clean accuracy {clean.value:.3f}")


def check_torch() -> None:
    """Raise `InputError` where the extra is missing."""
    for name in ("torch", "dp_accounting"):
        if importlib.util.find_spec(name) is None:
            raise InputError(f"Models of images need {name}, which is missing: install deniable[train].")


@contextlib.contextmanager
def memory_told() -> Iterator[None]:
    """Raise `MemoryError` where torch finds no memory, for which it has no error of its own."""
    try:
        yield
    except RuntimeError as error:
        if any(what in str(error) for what in _NO_MEMORY):
            raise MemoryError from None
        raise


def _check_output(output: Path, data: Path, *, force: bool) -> None:
    """Raise `InputError` now, not after hours, where the model cannot be written."""
    from deniable.text.tables.files import PIPE, check_target  # noqa: PLC0415

    if str(output) == PIPE or output.suffix.lower() in {".gz", ".zst"}:
        raise InputError(f"The output {str(output)!r} must be a file, not compressed: name it, for example, model.pt.")
    for ending in ("", *_BESIDE):
        if check_target(f"{output}{ending}", force=force).resolve() == data.resolve():
            raise InputError(f"The output {str(output)!r} would overwrite the data: choose another name.")
    if not os.access(output.parent, os.W_OK):
        raise InputError(f"The folder of the output {str(output)!r} cannot be written: choose another one.")


def _take_up(checkpoint: "Checkpoint", *, force: bool) -> None:
    """Say that a run goes on, if there is a checkpoint of it; remove one of another run where ``force`` is set."""
    try:
        checkpoint.key(b"")
    except InputError:
        if not force:
            raise
        checkpoint.remove()
    if checkpoint.path.exists():
        typer.echo(f"going on from {checkpoint.path}", err=True)


class _Progress:
    """Lines about a run, not too many: step, loss, accuracy on some test images and epsilon spent."""

    def __init__(self, data: "Dataset") -> None:
        self._test, self._last = data.test, time.monotonic()

    def __call__(self, status: "Status") -> None:
        now = time.monotonic()
        if now - self._last < _SECONDS and status.done < status.steps:
            return
        self._last = now
        share = status.accuracy(self._test.pixels[:_SHOWN], self._test.labels[:_SHOWN])
        spent = "" if status.spent is None else f"  epsilon {status.spent():.4g}"
        line = f"step {status.done}/{status.steps}  loss {status.loss:.3f}  accuracy {share:.3f}{spent}"
        typer.echo(line, err=True)


@contextlib.contextmanager
def _resumable(checkpoint: "Checkpoint") -> Iterator[None]:
    """Say, when a run is interrupted or the disk is full, that the same command goes on."""
    try:
        yield
    except (KeyboardInterrupt, OSError) as error:
        if not checkpoint.path.exists():
            raise
        what = error.strerror if isinstance(error, OSError) else "interrupted"
        raise DeniableError(f"{what}: the same command goes on from {str(checkpoint.path)!r}.") from None


def _curve(model: "Model", data: "Dataset") -> "Curve | None":
    """Return certified accuracy on some test images; None for a model that certifies nothing."""
    import torch  # noqa: PLC0415 - an extra

    from deniable.robust.certify import certify  # noqa: PLC0415

    if model.certificate is None:
        return None
    source = torch.Generator().manual_seed(0)
    return certify(model, data.test.pixels[:_CERTIFIED], data.test.labels[:_CERTIFIED], source=source)


def _json(value: object) -> bytes:
    from deniable.verdict import finite  # noqa: PLC0415

    return json.dumps(finite(value), indent=1, ensure_ascii=False).encode() + b"\n"
