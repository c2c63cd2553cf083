"""A data set of labelled images in memory, as every reader gives it."""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from deniable.errors import InputError
from deniable.robust.images.declared import NO_DECLARATION, DataDeclaration
from deniable.robust.images.labels import number_labels

NumberArray = npt.NDArray[Any]
EMPTY_LABEL = -1
"""Label of an empty record: whatever its pixels are, its gradient is 0."""


@dataclass(frozen=True, eq=False)
class LabelledImages:
    """Labelled images.

    Attributes:
        pixels: float32 (n, channels, height, width) in [0, 1].
        labels: int64 (n,), numbers of classes; `EMPTY_LABEL` for an empty record, which no file holds: the neighbours of a
            data set, in the guarantee of DP-SGD, have one in the place of a record.
    """

    pixels: Tensor
    labels: Tensor

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, eq=False)
class ImageDataset:
    """Images to train on and images to test on.

    Attributes:
        train: images to train on, of every class where classes are not declared.
        test: images of the same shape, of no other class.
        classes: name of each label's class.
        name: of the file or folder read.
        note: how the file's numbers became pixels.
        declaration: what was said of the data before they were read.
    """

    train: LabelledImages
    test: LabelledImages
    classes: tuple[str, ...]
    name: str
    note: str
    declaration: DataDeclaration = NO_DECLARATION

    @property
    def fingerprint(self) -> str:
        """BLAKE2b of pixels, labels and names, 32 hexadecimal digits.

        Equal whatever kind of file holds them, different after any change of order or value.
        """
        digest = hashlib.blake2b(repr(self.classes).encode(), digest_size=16)
        for images in (self.train, self.test):
            digest.update(repr(tuple(images.pixels.shape)).encode())
            for tensor in (images.pixels, images.labels):
                array = np.ascontiguousarray(tensor.cpu().numpy())
                digest.update(array.astype(array.dtype.newbyteorder("<"), copy=False).data)
        return digest.hexdigest()


@dataclass(frozen=True)
class SplitArrays:
    """What a file holds of one half of a data set, and what messages call its two arrays.

    Attributes:
        images_name: name of the pixels.
        labels_name: name of the labels.
        pixels: (n, channels, height, width), uint8, or float32 in [0, 1].
        labels: whatever was read as labels.
    """

    images_name: str
    labels_name: str
    pixels: NumberArray
    labels: NumberArray


def assemble_dataset(
    name: str,
    train: SplitArrays,
    test: SplitArrays,
    note: str,
    declaration: DataDeclaration,
    folders: tuple[str, ...] | None = None,
) -> ImageDataset:
    """Return the data set, its pixels as float32 in [0, 1] and its labels as 0 to K - 1.

    Args:
        name: of the data set.
        train: the images to train on.
        test: the images to test on.
        note: how the file's numbers became pixels.
        declaration: what the owner says of the data.
        folders: names of the classes that the labels 0 to K - 1 stand for; None where labels are those of a file.

    Raises:
        InputError: a part is empty, its arrays differ in length, the parts differ in shape, or labels are unfit.
    """
    for part in (train, test):
        if not part.pixels.size:
            raise InputError(f"{part.images_name} has no images: give at least one.")
        labels = len(np.atleast_1d(part.labels))
        if len(part.pixels) != labels:
            raise InputError(
                f"{part.images_name} has {len(part.pixels)} images but {part.labels} has {labels} labels: "
                "give one label for each image."
            )
    if train.pixels.shape[1:] != test.pixels.shape[1:]:
        raise InputError(
            f"The images of {train.images_name} are {_describe_shape(train.pixels)} but those of {test.images_name} are {_describe_shape(test.pixels)}: "
            "make them of one size."
        )
    if folders is None:
        y_train, y_test, classes = number_labels(
            (train.labels_name, train.labels), (test.labels_name, test.labels), declaration.classes
        )
    else:
        y_train, y_test, classes = train.labels, test.labels, folders
    splits = (
        LabelledImages(_scale_to_unit(train.pixels), torch.from_numpy(y_train)),
        LabelledImages(_scale_to_unit(test.pixels), torch.from_numpy(y_test)),
    )
    return ImageDataset(*splits, classes, name, note, declaration)


def _describe_shape(pixels: NumberArray) -> str:
    return "{} channels of {} x {} pixels".format(*pixels.shape[1:])


def _scale_to_unit(x: NumberArray) -> Tensor:
    """Return pixels as contiguous float32 in [0, 1]."""
    pixels = torch.from_numpy(np.ascontiguousarray(x, dtype=np.float32))
    return pixels.div_(255) if x.dtype == np.uint8 else pixels
