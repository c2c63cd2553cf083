"""``deniable train --task image``: a private, certified or robust model of images, with its card."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from deniable.cli.options import unknown_name
from deniable.cli.progress import passes
from deniable.cli.runs import check_model_outputs, memory_told, resumable, take_up, write_model
from deniable.errors import InputError

if TYPE_CHECKING:
    from deniable.robust.certify import Curve
    from deniable.robust.fit import Status
    from deniable.robust.images import Dataset
    from deniable.robust.model import Model

_SECONDS = 5.0
"""Least time between two lines of progress."""
_SHOWN = 1_000
"""Test images behind the accuracy that a line of progress gives."""
_CERTIFIED = 200
"""Test images behind the curve of certified accuracy on the card."""


def train_image(
    model: str,
    data: Path,
    output: Path,
    given: dict[str, Any],
    *,
    pixel_range: str | None,
    classes: str | None,
    every: int,
    seed: int | None,
    force: bool,
) -> None:
    """Train a model of images, and write it with its card.

    Args:
        model: one of `deniable.robust.systems.SYSTEMS`.
        data: images.
        output: where the model goes.
        given: options of the system.
        pixel_range: declared values of black and white, with a comma between them.
        classes: declared names of the classes, with commas between them.
        every: steps between checkpoints.
        seed: public; None for a fresh key.
        force: overwrite what exists.
    """
    from deniable.learning.commitment import commit  # noqa: PLC0415 - keeps --help fast
    from deniable.learning.loop import Checkpoint  # noqa: PLC0415
    from deniable.robust.card import card, text  # noqa: PLC0415
    from deniable.robust.fit import describe_run, fit  # noqa: PLC0415
    from deniable.robust.images import read_images  # noqa: PLC0415
    from deniable.robust.model import accuracy, packed  # noqa: PLC0415
    from deniable.robust.systems import SYSTEMS  # noqa: PLC0415

    if model not in SYSTEMS:
        raise unknown_name("model", model, list(SYSTEMS))
    options = SYSTEMS[model].options(**given)
    check_model_outputs(output, data, force=force)
    images = read_images(data, pixel_range=_parse_range(pixel_range), classes=_parse_classes(classes))
    checkpoint = Checkpoint(Path(f"{output}.checkpoint"), describe_run(model, images, options, seed), every)
    take_up(checkpoint, force=force)
    with memory_told(), resumable(checkpoint):
        found = fit(model, images, options, seed=seed, checkpoint=checkpoint, progress=_Progress(images))
        clean = accuracy(found, images.test)
        with passes("certified accuracy"):
            curve = _curve(found, images)
        owner = commit(images.fingerprint)
        about = card(found, images, owner["commitment"], clean, curve)
        write_model(output, packed(found), about, text(about), owner, force=force)
    checkpoint.remove()
    typer.echo(text(about), err=True)
    typer.echo(f"clean accuracy {clean.value:.3f}")


def _parse_range(text: str | None) -> tuple[float, float] | None:
    """Return two numbers with a comma between them; None for None.

    Raises:
        InputError: anything else.
    """
    if text is None:
        return None
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise InputError(
            f"--range must be two numbers with a comma between them, such as -1,1. Got {text!r}."
        ) from None
    return low, high


def _parse_classes(text: str | None) -> list[str] | None:
    """Return names with commas between them; None for None."""
    return None if text is None else [name.strip() for name in text.split(",")]


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


def _curve(model: "Model", data: "Dataset") -> "Curve | None":
    """Return certified accuracy on some test images; None for a model that certifies nothing."""
    import torch  # noqa: PLC0415 - an extra

    from deniable.robust.certify import certify  # noqa: PLC0415

    if model.certificate is None:
        return None
    source = torch.Generator().manual_seed(0)
    return certify(model, data.test.pixels[:_CERTIFIED], data.test.labels[:_CERTIFIED], source=source)
