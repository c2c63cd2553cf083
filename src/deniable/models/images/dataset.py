"""A data set of labelled images in memory: what is declared of it, its pixels, labels and classes."""

import dataclasses
import hashlib
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from deniable.core.errors import InputError
from deniable.core.numbers import format_exact

PixelRange = tuple[float, float]
"""Values of black and white."""
NumericArray = npt.NDArray[Any]
LabelNumbers = npt.NDArray[np.int64]
NamedLabels = tuple[str, NumericArray]
_MIN_CLASSES = 2
_MAX_LISTED = 8
"""Classes that a message lists."""


@dataclasses.dataclass(frozen=True)
class DataDeclaration:
    """What the owner of a data set declares about it.

    Attributes:
        pixel_range: values of black and white; None for 0 and 255 of uint8, and for 0 and 1 of floats.
        classes: names of the classes in the order of the model's outputs; None to take those of the training images,
            which the model then reveals.

    Raises:
        InputError: a range that is empty or not finite, fewer than two classes, or one of them twice.
    """

    pixel_range: PixelRange | None = None
    classes: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.pixel_range is not None:
            low, high = self.pixel_range
            if not (low < high and math.isfinite(low) and math.isfinite(high)):
                raise InputError(
                    "The range of pixels must be two finite numbers, black and white, the first below the second. "
                    f"Got {format_exact(low)} and {format_exact(high)}: declare, for example, -1,1."
                )
        if self.classes is not None:
            check_classes("What is declared", self.classes)
            duplicates = [name for name in self.classes if self.classes.count(name) > 1]
            if duplicates:
                raise InputError(f"The declared classes hold {duplicates[0]!r} twice: name each once.")


def check_classes(where: str, names: tuple[str, ...]) -> None:
    """Raise `InputError` where there are fewer than two classes.

    Args:
        where: subject of the message, such as ``y_train``.
        names: names of the classes.
    """
    if len(names) < _MIN_CLASSES:
        got = f"the one class {names[0]}" if names else "no class"
        raise InputError(f"{where} holds {got}: a classifier needs two or more.")


NO_DECLARATION = DataDeclaration()
"""Nothing is declared: the defaults apply."""


def number_labels(
    train: NamedLabels, test: NamedLabels, declared_classes: tuple[str, ...] | None
) -> tuple[LabelNumbers, LabelNumbers, tuple[str, ...]]:
    """Return the labels of both splits as 0 to K - 1, and the name of each class: its label in the file.

    Args:
        train: name and labels (n,) or (n, 1), which must be integers of at least 0.
        test: the same for the other split.
        declared_classes: names of the classes in order, which need not all occur; None for the distinct labels of
            ``train`` in ascending order, with or without gaps.

    Raises:
        InputError: labels of another form, fewer than two classes, a label that is not declared, or a class of the test
            split that the training split lacks.
    """
    y_train, y_test = _parse_integer_labels(*train), _parse_integer_labels(*test)
    if declared_classes is not None:
        return (
            _number_declared_labels(train[0], y_train, declared_classes),
            _number_declared_labels(test[0], y_test, declared_classes),
            declared_classes,
        )
    train_classes = np.unique(y_train)
    names = tuple(str(label) for label in train_classes)
    check_classes(train[0], names)
    unknown_classes = np.setdiff1d(y_test, train_classes)
    if len(unknown_classes):
        raise InputError(
            f"{test[0]} holds the class {unknown_classes[0]}, which {train[0]} does not: "
            f"it has {_list_names(names)}. Remove these images, or add such images to the training split."
        )
    return np.searchsorted(train_classes, y_train), np.searchsorted(train_classes, y_test), names


def _number_declared_labels(name: str, y: LabelNumbers, declared_classes: tuple[str, ...]) -> LabelNumbers:
    """Return the indices of labels among the declared classes."""
    class_numbers = {label: number for number, label in enumerate(declared_classes)}
    distinct_labels, inverse = np.unique(y, return_inverse=True)
    codes = np.array([class_numbers.get(str(label), -1) for label in distinct_labels], dtype=np.int64)[inverse]
    undeclared_rows = np.flatnonzero(codes < 0)
    if len(undeclared_rows):
        raise InputError(
            f"{name}[{undeclared_rows[0]}] is {y[undeclared_rows[0]]}, which is none of the declared classes "
            f"{_list_names(declared_classes)}: declare it too, or leave the image out."
        )
    return codes


def _parse_integer_labels(name: str, y: NumericArray) -> LabelNumbers:
    if y.ndim == 2 and y.shape[1] > 1:  # noqa: PLR2004 - (n, K)
        raise InputError(f"{name} has the shape {y.shape}, apparently one-hot: save {name}.argmax(1) instead.")
    if y.ndim != 1 and (y.ndim != 2 or y.shape[1] != 1):  # noqa: PLR2004 - (n, 1)
        raise InputError(f"{name} has the shape {y.shape}: labels must have the shape (n,).")
    if y.dtype.kind not in "iu":
        raise InputError(f"{name} is of type {y.dtype}: save the labels as integers, such as int64, from 0 upwards.")
    y = y.reshape(-1)
    invalid_rows = np.flatnonzero((y < 0) | (y > np.iinfo(np.int64).max))
    if len(invalid_rows):
        raise InputError(f"{name}[{invalid_rows[0]}] is {y[invalid_rows[0]]}: labels must be integers from 0 upwards.")
    return y.astype(np.int64)


def _list_names(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:_MAX_LISTED])
    return shown if len(names) <= _MAX_LISTED else f"{shown} and {len(names) - _MAX_LISTED} more"


@dataclass(frozen=True, eq=False)
class LabelledImages:
    """Labelled images.

    Attributes:
        pixels: float32 (n, channels, height, width) in [0, 1].
        labels: int64 (n,), indices of classes. `EMPTY_LABEL` marks an empty record, which no file holds: in the
            guarantee of DP-SGD, a neighbouring data set has one in place of a record.
    """

    pixels: Tensor
    labels: Tensor

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, eq=False)
class ImageDataset:
    """Images to train on and images to test on.

    Attributes:
        train: images to train on; unless classes are declared, of every class.
        test: images of the same shape and the same classes.
        classes: names of the classes 0 to K - 1.
        name: name of the file or folder read.
        note: how the file's numbers became pixels.
        declaration: what was declared before the data were read.
    """

    train: LabelledImages
    test: LabelledImages
    classes: tuple[str, ...]
    name: str
    note: str
    declaration: DataDeclaration = NO_DECLARATION

    @property
    def fingerprint(self) -> str:
        """BLAKE2b of pixels, labels and class names, 32 hexadecimal digits.

        It does not depend on the file format, and changes with any order or value.
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
    """The pixels and labels of one split as read from a file, and what messages call them.

    Attributes:
        images_name: name of the pixels.
        labels_name: name of the labels.
        pixels: (n, channels, height, width), uint8, or float32 in [0, 1].
        labels: as read, not yet checked.
    """

    images_name: str
    labels_name: str
    pixels: NumericArray
    labels: NumericArray


def assemble_dataset(
    name: str,
    train: SplitArrays,
    test: SplitArrays,
    note: str,
    declaration: DataDeclaration,
    classes: tuple[str, ...] | None = None,
) -> ImageDataset:
    """Return the data set, its pixels as float32 in [0, 1] and its labels as 0 to K - 1.

    Args:
        name: name of the data set.
        train: the images to train on.
        test: the images to test on.
        note: how the file's numbers became pixels.
        declaration: what the owner declares about the data.
        classes: names of the classes if labels are already 0 to K - 1; None to number the labels here.

    Raises:
        InputError: a split is empty, its arrays differ in length, the splits differ in shape, or labels are invalid.
    """
    for part in (train, test):
        if not part.pixels.size:
            raise InputError(f"{part.images_name} has no images: give at least one.")
        labels = len(np.atleast_1d(part.labels))
        if len(part.pixels) != labels:
            raise InputError(
                f"{part.images_name} has {len(part.pixels)} images but {part.labels_name} has {labels} labels: "
                "give one label for each image."
            )
    if train.pixels.shape[1:] != test.pixels.shape[1:]:
        raise InputError(
            f"The images of {train.images_name} are {_describe_shape(train.pixels)} but those of "
            f"{test.images_name} are {_describe_shape(test.pixels)}: make them of one size."
        )
    if classes is None:
        y_train, y_test, classes = number_labels(
            (train.labels_name, train.labels), (test.labels_name, test.labels), declaration.classes
        )
    else:
        y_train, y_test = train.labels, test.labels
    splits = (
        LabelledImages(_scale_to_unit(train.pixels), torch.from_numpy(y_train)),
        LabelledImages(_scale_to_unit(test.pixels), torch.from_numpy(y_test)),
    )
    return ImageDataset(*splits, classes, name, note, declaration)


def _describe_shape(pixels: NumericArray) -> str:
    return "{} channels of {} x {} pixels".format(*pixels.shape[1:])


def _scale_to_unit(x: NumericArray) -> Tensor:
    """Return pixels as contiguous float32 in [0, 1]."""
    pixels = torch.from_numpy(np.ascontiguousarray(x, dtype=np.float32))
    return pixels.div_(255) if x.dtype == np.uint8 else pixels
