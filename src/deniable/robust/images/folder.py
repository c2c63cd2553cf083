"""Images as .png and .jpg files in a folder or archive, one folder for each class."""

import io
import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.errors import InputError
from deniable.robust.images.damage import reraise_decoder_errors
from deniable.robust.images.dataset import ImageDataset, SplitArrays, assemble_dataset
from deniable.robust.images.declared import DataDeclaration, PixelRange, check_classes
from deniable.robust.images.members import SPLITS, ImageFile
from deniable.robust.images.pixels import describe_range, scale_pixels

PixelArray = npt.NDArray[np.uint8]
_CHANNELS_OF_MODE = {"L": 1, "RGB": 3}


def read_image_files(members: Iterable[ImageFile], name: str, declaration: DataDeclaration) -> ImageDataset:
    """Return the images of train/<class>/ and test/<class>/, in the order of class and file name.

    The classes are the declared ones, or the folders' names, sorted. Images are decoded as they come, so that the
    memory needed is that of the pixels.

    Raises:
        InputError: an image is damaged, or of another size or mode than the first; a part or class is missing.
    """
    pictures: dict[str, list[tuple[str, str, PixelArray]]] = {split: [] for split in SPLITS}
    first: tuple[str, str] | None = None
    for member in members:
        picture, form = _decode_image(member)
        if first is None:
            first = member.path, form
        elif form != first[1]:
            raise InputError(f"{member.path!r} is {form} but {first[0]!r} is {first[1]}: make all images alike.")
        pictures[member.split].append((member.label, member.file, picture))
    for split in SPLITS:
        if not pictures[split]:
            raise InputError(f"it has no image at {split}/<class>/<image>.png or .jpg: put some there.")
        pictures[split].sort(key=lambda item: item[:2])
        for first_item, second_item in itertools.pairwise(pictures[split]):
            if first_item[:2] == second_item[:2]:
                raise InputError(f"it holds two files {split}/{first_item[0]}/{first_item[1]}: remove one.")
    classes = _list_classes(pictures, declaration.classes)
    train, test = (_assemble_split(split, pictures.pop(split), classes, declaration.pixel_range) for split in SPLITS)
    range_text = describe_range("uint8", declaration.pixel_range)
    return assemble_dataset(
        name, train, test, f"images of the mode {first and first[1]}, {range_text}", declaration, classes
    )


def _list_classes(
    pictures: Mapping[str, list[tuple[str, str, PixelArray]]], declared_classes: tuple[str, ...] | None
) -> tuple[str, ...]:
    """Return the names of the classes."""
    train_labels, test_labels = ({label for label, _, _ in pictures[split]} for split in SPLITS)
    if declared_classes is not None:
        for split, labels in zip(SPLITS, (train_labels, test_labels), strict=True):
            for label in sorted(labels.difference(declared_classes)):
                raise InputError(
                    f"{split}/ holds the class {label!r}, which is not declared: declare it, or remove it."
                )
        return declared_classes
    classes = tuple(sorted(train_labels))
    check_classes("train/", classes)
    for label in sorted(test_labels.difference(classes)):
        raise InputError(f"test/ holds the class {label!r}, which train/ does not: test on classes of train/.")
    return classes


def _assemble_split(
    split: str, pictures: list[tuple[str, str, PixelArray]], classes: tuple[str, ...], pixel_range: PixelRange | None
) -> SplitArrays:
    class_numbers = {label: number for number, label in enumerate(classes)}
    labels = np.array([class_numbers[label] for label, _, _ in pictures], dtype=np.int64)
    pixels = np.stack([scale_pixels(f"{split}/{label}/{file}", x, pixel_range) for label, file, x in pictures])
    return SplitArrays(f"{split}/", f"{split}/", np.ascontiguousarray(np.moveaxis(pixels, 3, 1)), labels)


def _decode_image(member: ImageFile) -> tuple[PixelArray, str]:
    """Return the pixels (h, w, channels) of an image, and its size and mode in words."""
    pillow = _import_pillow()
    file_text, stream = f"the file {member.path!r}", io.BytesIO(member.data)
    with (
        reraise_decoder_errors(file_text, "a .png or .jpg image"),
        pillow.open(stream, formats=("PNG", "JPEG")) as image,
    ):
        mode, (width, height) = image.mode, image.size
        if mode not in _CHANNELS_OF_MODE:
            raise InputError(f"{file_text} is of the mode {mode}: convert it to grey (L) or RGB.")
        pixels = np.asarray(image)
    return pixels.reshape(height, width, _CHANNELS_OF_MODE[mode]), f"{mode} of {width} x {height} pixels"


def _import_pillow() -> Any:  # noqa: ANN401 - a module
    try:
        from PIL import Image  # noqa: PLC0415 - an extra
    except ImportError:
        raise InputError("Reading .png and .jpg needs pillow, which is missing: install deniable[train].") from None
    return Image
