"""``deniable train image``: a private, certified or robust model of images, with its card."""

import dataclasses
import time
from typing import TYPE_CHECKING

import typer

from deniable.cli.commandline import option, select_given_fields
from deniable.cli.model_runs import ModelFiles, ResumableOutput, check_torch, commit_to_data, train_and_write
from deniable.cli.options import ImagesArgument
from deniable.cli.progress import LINE_SECONDS, Steps, show_passes, show_steps
from deniable.cli.value_lists import parse_distinct_names
from deniable.core.errors import InputError
from deniable.core.numbers import format_upper
from deniable.models.images.options import ImageTrainingOptions
from deniable.registry import IMAGE_TRAINERS

if TYPE_CHECKING:
    from deniable.learning.loop import Checkpoint
    from deniable.models.images.dataset import ImageDataset
    from deniable.models.images.model import ImageModel
    from deniable.models.images.training import TrainingProgress

_PROGRESS_IMAGES = 1_000
"""Test images behind the accuracy that a line of progress gives."""
_CARD_IMAGES = 200
"""Test images behind the curve of certified accuracy on the card."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ImageModelOptions:
    """Model.

    Attributes:
        kind: kind of model; docs/robust.md says what each one guarantees.
        pixel_range: pixel values of black and white; never inferred from the images.
        classes: names of all classes; those of the data are private.
        test_seed: public seed, for tests; the output is NOT private.
    """

    kind: str = dataclasses.field(metadata=option(choices=list(IMAGE_TRAINERS), metavar="KIND"))
    pixel_range: str | None = dataclasses.field(
        default=None, metadata=option(metavar="LOW,HIGH", show_default="0,255 for uint8; 0,1 for floats")
    )
    classes: str | None = dataclasses.field(
        default=None, metadata=option(metavar="A,B,...", show_default="those that occur")
    )
    test_seed: int | None = dataclasses.field(default=None, metadata=option(panel="Privacy"))

    def read(self, data: str) -> "ImageDataset":
        """The images, as they are declared.

        Raises:
            InputError: what cannot be read, or contradicts the declarations.
        """
        from deniable.models.images.reading import read_images

        pixel_range = None
        if self.pixel_range is not None:
            try:
                low, high = map(float, self.pixel_range.split(","))
            except ValueError:
                raise InputError(
                    "--pixel-range must be two numbers with a comma between them, such as -1,1. Got "
                    f"{self.pixel_range!r}."
                ) from None
            pixel_range = low, high
        classes = None if self.classes is None else parse_distinct_names("--classes", self.classes)
        return read_images(data, pixel_range=pixel_range, classes=classes)


def run_train_image(
    context: typer.Context,
    data: ImagesArgument,
    model: ImageModelOptions,
    training: ImageTrainingOptions,
    output: ResumableOutput,
) -> None:
    """Train a private, certified or robust image classifier, and write it with its model card.

    FILE.card.json and FILE.card.txt are for those who receive the model; FILE.owner.json is for its owner only. Run the
    same command again to resume an interrupted run. Requires the train extra of deniable.

    Examples:
        deniable train image mnist.npz --kind dp-sgd --epsilon 1 --delta 1e-5 --output trained.model
    """
    check_torch()
    from deniable.models.images.card import build_image_card
    from deniable.models.images.certification import certify_image_model
    from deniable.models.images.model import measure_image_accuracy
    from deniable.models.images.training import fit_image_model
    from deniable.models.tally import make_noise_generator

    trainer, seed = IMAGE_TRAINERS[model.kind], model.test_seed
    given, names = select_given_fields(context, training), {one.name: one.opts[0] for one in context.command.params}
    for field in given:
        if field not in trainer.option_names:
            used = ", ".join(sorted(names[name] for name in trainer.option_names))
            raise InputError(f"{names[field]} is not an option of {model.kind}, which takes {used}: leave it out.")
    options = trainer.choose_options(**given)
    output.check(data)
    dataset = model.read(str(data))

    def fit(checkpoint: "Checkpoint") -> "ImageModel":
        with show_steps("training") as steps:
            progress = _ImageProgress(dataset, steps)
            return fit_image_model(trainer, dataset, options, seed=seed, checkpoint=checkpoint, progress=progress)

    def describe(trained: "ImageModel") -> ModelFiles:
        with show_passes("testing the model"):
            clean_accuracy = measure_image_accuracy(trained, dataset.test)
        curve = None
        if trained.certificate is not None:
            images, labels = dataset.test.pixels[:_CARD_IMAGES], dataset.test.labels[:_CARD_IMAGES]
            generator = None if seed is None else make_noise_generator(seed)  # a run that can be repeated has one card
            with show_passes("certified accuracy"):
                curve = certify_image_model(trained, images, labels, generator=generator)
        owner_record = commit_to_data(dataset.fingerprint)
        card = build_image_card(trained, dataset, owner_record["commitment"], clean_accuracy, curve)
        return ModelFiles(trained, card, owner_record, f"clean accuracy {clean_accuracy.value:.3f}")

    train_and_write(output, fit, describe)


class _ImageProgress:
    """The steps of a run: loss, and now and then the accuracy on some test images and the epsilon spent."""

    def __init__(self, dataset: "ImageDataset", steps: Steps) -> None:
        self._test_images, self._steps, self._last_time, self._figures = dataset.test, steps, time.monotonic(), ""

    def __call__(self, status: "TrainingProgress") -> None:
        if time.monotonic() - self._last_time >= LINE_SECONDS or status.done == status.steps:
            self._figures = self._format_figures(status)
            self._last_time = time.monotonic()
        self._steps.update(status.done, status.steps, f"loss {format_upper(status.loss)}{self._figures}")

    def _format_figures(self, status: "TrainingProgress") -> str:
        accuracy = status.accuracy(
            self._test_images.pixels[:_PROGRESS_IMAGES], self._test_images.labels[:_PROGRESS_IMAGES]
        )
        spent_text = (
            ""
            if status.compute_epsilon_spent is None
            else f", epsilon {format_upper(status.compute_epsilon_spent(), 4)}"
        )
        return f", accuracy {accuracy:.3f}{spent_text}"
