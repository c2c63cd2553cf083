"""A data set of labelled images in memory: what is declared of it, its pixels, labels and classes."""

import dataclasses
import hashlib
import math

import numpy as np
from torch import Tensor

from deniable.core.errors import InputError
from deniable.core.numbers import format_exact

PixelRange = tuple[float, float]
"""Values of black and white."""
_MIN_CLASSES = 2


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
            check_classes("The declaration", self.classes)
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
        got = f"only the class {names[0]}" if names else "no class"
        raise InputError(f"{where} holds {got}: a classifier needs two or more.")


NO_DECLARATION = DataDeclaration()
"""Nothing is declared: the defaults apply."""


@dataclasses.dataclass(frozen=True, eq=False)
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


@dataclasses.dataclass(frozen=True, eq=False)
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
