"""Reading images for commands about image models."""

from pathlib import Path
from typing import TYPE_CHECKING

from deniable.cli.options import format_names
from deniable.core.errors import InputError

if TYPE_CHECKING:
    from deniable.models.images.dataset import LabelledImages
    from deniable.models.images.model import ImageModel


def read_test_images(data: Path, model: "ImageModel", limit: int | None) -> "LabelledImages":
    """Return the first test images of a data set, read as the model's training images were.

    Raises:
        InputError: they are not of the model's shape and classes.
    """
    from deniable.models.images.dataset import LabelledImages
    from deniable.models.images.reading import read_images

    declaration = model.declaration
    dataset = read_images(data, pixel_range=declaration.pixel_range, classes=declaration.classes)
    shape, expected_shape = tuple(dataset.test.pixels.shape[1:]), model.architecture.shape
    if shape != expected_shape:
        raise InputError(
            f"The model takes images of shape {expected_shape}. Got {shape}: name the data it was trained for."
        )
    names = model.facts.get("classes")
    if len(dataset.classes) != model.architecture.classes or names not in (None, list(dataset.classes)):
        known = f"the classes {format_names(names)}" if names else f"{model.architecture.classes} classes"
        raise InputError(
            f"The model knows {known}. Got {format_names(dataset.classes)}: name the data it was trained for."
        )
    return LabelledImages(dataset.test.pixels[:limit], dataset.test.labels[:limit])
