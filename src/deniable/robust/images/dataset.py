"""A data set of labelled images in memory, as every reader gives it."""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from deniable.errors import InputError
from deniable.robust.images.declared import UNDECLARED, Declared
from deniable.robust.images.labels import number_labels

Array = npt.NDArray[Any]
EMPTY = -1
"""Label of an empty record: whatever its pixels are, its gradient is 0."""


@dataclass(frozen=True, eq=False)
class Images:
    """Labelled images.

    Attributes:
        pixels: float32 (n, channels, height, width) in [0, 1].
        labels: int64 (n,), numbers of classes; `EMPTY` for an empty record, which no file holds: the neighbours of a
            data set, in the guarantee of DP-SGD, have one in the place of a record.
    """

    pixels: Tensor
    labels: Tensor

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Images to train on and images to test on.

    Attributes:
        train: images to train on, of every class where classes are not declared.
        test: images of the same shape, of no other class.
        classes: name of each label's class.
        name: of the file or folder read.
        note: how the file's numbers became pixels.
        declared: what was said of the data before they were read.
    """

    train: Images
    test: Images
    classes: tuple[str, ...]
    name: str
    note: str
    declared: Declared = UNDECLARED

    @property
    def fingerprint(self) -> str:
        """BLAKE2b of pixels, labels and names, 32 hexadecimal digits.

        Equal whatever kind of file holds them, different after any change of order or value.
        """
        digest = hashlib.blake2b(repr(self.classes).encode(), digest_size=16)
        for half in (self.train, self.test):
            digest.update(repr(tuple(half.pixels.shape)).encode())
            for tensor in (half.pixels, half.labels):
                array = np.ascontiguousarray(tensor.cpu().numpy())
                digest.update(array.astype(array.dtype.newbyteorder("<"), copy=False).data)
        return digest.hexdigest()


@dataclass(frozen=True)
class Part:
    """What a file holds of one half of a data set, and what messages call its two arrays.

    Attributes:
        images: name of the pixels.
        labels: name of the labels.
        x: (n, channels, height, width), uint8, or float32 in [0, 1].
        y: whatever was read as labels.
    """

    images: str
    labels: str
    x: Array
    y: Array


def assemble(
    name: str, train: Part, test: Part, note: str, declared: Declared, folders: tuple[str, ...] | None = None
) -> Dataset:
    """Return the data set, its pixels as float32 in [0, 1] and its labels as 0 to K - 1.

    Args:
        name: of the data set.
        train: the images to train on.
        test: the images to test on.
        note: how the file's numbers became pixels.
        declared: what the owner says of the data.
        folders: names of the classes that the labels 0 to K - 1 stand for; None where labels are those of a file.

    Raises:
        InputError: a part is empty, its arrays differ in length, the parts differ in shape, or labels are unfit.
    """
    for part in (train, test):
        if not part.x.size:
            raise InputError(f"{part.images} has no images: give at least one.")
        labels = len(np.atleast_1d(part.y))
        if len(part.x) != labels:
            raise InputError(
                f"{part.images} has {len(part.x)} images but {part.labels} has {labels} labels: "
                "give one label for each image."
            )
    if train.x.shape[1:] != test.x.shape[1:]:
        raise InputError(
            f"The images of {train.images} are {_shape(train.x)} but those of {test.images} are {_shape(test.x)}: "
            "make them of one size."
        )
    if folders is None:
        y_train, y_test, classes = number_labels((train.labels, train.y), (test.labels, test.y), declared.classes)
    else:
        y_train, y_test, classes = train.y, test.y, folders
    halves = (Images(_unit(train.x), torch.from_numpy(y_train)), Images(_unit(test.x), torch.from_numpy(y_test)))
    return Dataset(*halves, classes, name, note, declared)


def _shape(x: Array) -> str:
    return "{} channels of {} x {} pixels".format(*x.shape[1:])


def _unit(x: Array) -> Tensor:
    """Return pixels as contiguous float32 in [0, 1]."""
    pixels = torch.from_numpy(np.ascontiguousarray(x, dtype=np.float32))
    return pixels.div_(255) if x.dtype == np.uint8 else pixels
