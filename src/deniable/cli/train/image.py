"""``deniable train --task image``: a private, certified or robust model of images, with its card."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from deniable.cli.model_runs import (
    check_model_outputs,
    explain_resumption,
    resume_run,
    translate_memory_errors,
    write_model_files,
)
from deniable.cli.options import unknown_name_error
from deniable.cli.progress import show_passes
from deniable.core.errors import InputError

if TYPE_CHECKING:
    from deniable.models.images.certification import CertifiedAccuracyCurve
    from deniable.models.images.dataset import ImageDataset
    from deniable.models.images.model import ImageModel
    from deniable.models.images.training.fitting import TrainingProgress

_IMAGE_PROGRESS_SECONDS = 5.0
"""Least time between two lines of progress."""
_PROGRESS_IMAGES = 1_000
"""Test images behind the accuracy that a line of progress gives."""
_CARD_IMAGES = 200
"""Test images behind the curve of certified accuracy on the card."""


def run_train_image(
    kind: str,
    data_path: Path,
    output: Path,
    given_options: dict[str, Any],
    *,
    pixel_range: str | None,
    classes: str | None,
    checkpoint_steps: int,
    seed: int | None,
    force: bool,
) -> None:
    """Train a model of images, and write it with its card.

    Args:
        kind: one of `deniable.registry.trainers.IMAGE_TRAINERS`.
        data_path: images.
        output: where the model goes.
        given_options: options of the system.
        pixel_range: declared values of black and white, with a comma between them.
        classes: declared names of the classes, with commas between them.
        checkpoint_steps: steps between checkpoints.
        seed: public; None for a fresh key.
        force: overwrite what exists.
    """
    from deniable.learning.card import commit_to_data  # noqa: PLC0415 - keeps --help fast
    from deniable.learning.loop import Checkpoint  # noqa: PLC0415
    from deniable.models.images.card import build_image_card  # noqa: PLC0415
    from deniable.models.images.model import measure_image_accuracy  # noqa: PLC0415
    from deniable.models.images.reading import read_images  # noqa: PLC0415
    from deniable.models.images.training.fitting import describe_image_run, fit_image_model  # noqa: PLC0415
    from deniable.registry.trainers import IMAGE_TRAINERS  # noqa: PLC0415

    if kind not in IMAGE_TRAINERS:
        raise unknown_name_error("model", kind, list(IMAGE_TRAINERS))
    trainer = IMAGE_TRAINERS[kind]
    options = trainer.choose_options(**given_options)
    check_model_outputs(output, data_path, force=force)
    dataset = read_images(data_path, pixel_range=_parse_pixel_range(pixel_range), classes=_parse_classes(classes))
    checkpoint = Checkpoint(
        Path(f"{output}.checkpoint"), describe_image_run(trainer, dataset, options, seed), checkpoint_steps
    )
    resume_run(checkpoint, force=force)
    with translate_memory_errors(), explain_resumption(checkpoint):
        image_model = fit_image_model(
            trainer, dataset, options, seed=seed, checkpoint=checkpoint, progress=_ImageProgress(dataset)
        )
        clean_accuracy = measure_image_accuracy(image_model, dataset.test)
        with show_passes("certified accuracy"):
            curve = _certify_card_images(image_model, dataset)
        owner_record = commit_to_data(dataset.fingerprint)
        model_card = build_image_card(image_model, dataset, owner_record["commitment"], clean_accuracy, curve)
        write_model_files(output, image_model, model_card, owner_record, force=force)
    checkpoint.remove()
    typer.echo(model_card.to_text(), err=True)
    typer.echo(f"clean accuracy {clean_accuracy.value:.3f}")


def _parse_pixel_range(text: str | None) -> tuple[float, float] | None:
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


class _ImageProgress:
    """Lines about a run, not too many: step, loss, accuracy on some test images and epsilon spent."""

    def __init__(self, dataset: "ImageDataset") -> None:
        self._test_images, self._last_time = dataset.test, time.monotonic()

    def __call__(self, status: "TrainingProgress") -> None:
        now = time.monotonic()
        if now - self._last_time < _IMAGE_PROGRESS_SECONDS and status.done < status.steps:
            return
        self._last_time = now
        accuracy = status.accuracy(
            self._test_images.pixels[:_PROGRESS_IMAGES], self._test_images.labels[:_PROGRESS_IMAGES]
        )
        spent_text = "" if status.compute_epsilon_spent is None else f"  epsilon {status.compute_epsilon_spent():.4g}"
        line = f"step {status.done}/{status.steps}  loss {status.loss:.3f}  accuracy {accuracy:.3f}{spent_text}"
        typer.echo(line, err=True)


def _certify_card_images(model: "ImageModel", dataset: "ImageDataset") -> "CertifiedAccuracyCurve | None":
    """Return certified accuracy on some test images; None for a model that certifies nothing."""
    import torch  # noqa: PLC0415 - an extra

    from deniable.models.images.certification import certify_image_model  # noqa: PLC0415

    if model.certificate is None:
        return None
    generator = torch.Generator().manual_seed(0)
    return certify_image_model(
        model, dataset.test.pixels[:_CARD_IMAGES], dataset.test.labels[:_CARD_IMAGES], generator=generator
    )
