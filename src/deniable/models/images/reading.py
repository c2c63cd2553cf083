"""Reading a data set of images: a .npz archive of four arrays, or a folder of image files by class."""

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from deniable.core.archives import open_archive, read_array
from deniable.core.errors import InputError, shorten_text
from deniable.core.numbers import format_exact
from deniable.models.images.dataset import DataDeclaration, ImageDataset, LabelledImages, PixelRange, check_classes

NumericArray = npt.NDArray[Any]
SPLITS = ("train", "test")
IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg")
MAX_IMAGE_BYTES = 1 << 26
"""Bytes of the largest file that is read as an image."""
_NPZ_ARRAYS = ("x_train", "y_train", "x_test", "y_test")
_CHANNELS_OF_MODE = {"L": 1, "RGB": 3}
_MAX_LISTED = 8
"""Classes that a message lists."""
_SUPPORTED_FORMATS = (
    "a .npz with x_train, y_train, x_test and y_test, or a folder with train/<class>/ and test/<class>/ of .png or .jpg"
)


class _Split(NamedTuple):
    """One split as read: what messages call its pixels and labels, pixels (n, ...), and labels, not yet checked."""

    images_name: str
    labels_name: str
    pixels: NumericArray
    labels: NumericArray


def read_images(
    path: str | os.PathLike[str], *, pixel_range: PixelRange | None = None, classes: Sequence[str] | None = None
) -> ImageDataset:
    """Return the data set of a .npz archive, or of a folder of image files.

    An archive has the arrays x_train, y_train, x_test and y_test: images (n, h, w), (n, h, w, c) or (n, c, h, w) of
    uint8 or floats, and integer labels from 0 upwards. A folder has .png and .jpg files of one size and mode, grey or
    RGB, at train/<class>/ and test/<class>/; they are read in the order of class and file name.

    Args:
        path: a file or folder.
        pixel_range: values of black and white, never inferred from pixels; None for (0, 255) of uint8 and (0, 1) of
            floats.
        classes: names of the classes, which need not all occur; None for those of the training images. A model's
            outputs are its classes, so that those of private images are not protected.

    Raises:
        InputError: the file cannot be read or holds no valid images and labels; the message starts with its path and
            names the array or file within, the value, and the fix.
    """
    declaration = DataDeclaration(pixel_range, None if classes is None else tuple(classes))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # decoders warn about bytes that they read anyway or then refuse
            return _read_dataset(Path(path), declaration)
    except InputError as error:
        raise InputError(f"{os.fspath(path)!r}: {error}") from None
    except MemoryError:
        raise InputError(f"{os.fspath(path)!r}: it does not fit into memory: give fewer or smaller images.") from None
    except (OSError, ValueError) as error:  # ValueError of a path with a null byte
        file_name, reason = getattr(error, "filename", None), getattr(error, "strerror", None)
        raise InputError(f"{os.fspath(path)!r}: {file_name or 'it'} cannot be read: {reason or error}.") from None


def _read_dataset(path: Path, declaration: DataDeclaration) -> ImageDataset:
    """Return the data set, its pixels as float32 in [0, 1] and its labels as 0 to K - 1."""
    if path.is_dir():
        subject, train, test = _read_folder(path)
    elif not path.exists():
        raise InputError("there is no such file or folder: check the path.")
    elif not path.is_file():
        raise InputError(f"it is neither a file nor a folder. Give {_SUPPORTED_FORMATS}.")
    elif path.suffix.lower() != ".npz":
        raise InputError(f"its suffix is unknown. Give {_SUPPORTED_FORMATS}.")
    else:
        subject, train, test = _read_npz(path)
    range_text = _check_pixel_types(train, test, declaration.pixel_range)
    train, test = (_scale_split(split, declaration.pixel_range) for split in (train, test))
    if train.pixels.shape[1:] != test.pixels.shape[1:]:
        raise InputError(
            f"The images of {train.images_name} are {_describe_shape(train.pixels)} but those of "
            f"{test.images_name} are {_describe_shape(test.pixels)}: make them the same size."
        )
    y_train, y_test, classes = _number_labels(train, test, declaration.classes)
    return ImageDataset(
        LabelledImages(torch.from_numpy(train.pixels), y_train),
        LabelledImages(torch.from_numpy(test.pixels), y_test),
        classes,
        path.resolve().name if path.is_dir() else path.name,
        f"{subject}{range_text}",
        declaration,
    )


def _read_npz(path: Path) -> tuple[str, _Split, _Split]:
    """Return both splits of an archive, and their pixels in words; nothing in the file is unpickled."""
    expected = ", ".join(_NPZ_ARRAYS)
    with _reraise_decoder_errors("it", "a .npz archive"), path.open("rb") as stream:
        if stream.read(6) == b"\x93NUMPY":
            raise InputError(f"it is one array, not a .npz archive: save {expected} by np.savez.")
    with _reraise_decoder_errors("it", "a .npz archive"), open_archive(path) as archive:
        available = [name.removesuffix(".npy") for name in archive.namelist()]
        missing = [name for name in _NPZ_ARRAYS if name not in available]
        if missing:
            shown = ", ".join(map(repr, available[:20])) or "none"
            raise InputError(f"it has no array {missing[0]!r}: save {expected}. Its arrays: {shown}.")
        arrays = []
        for name in _NPZ_ARRAYS:
            with _reraise_decoder_errors(name, "an array of numbers"):
                arrays.append(read_array(archive, f"{name}.npy"))
    x_train, y_train, x_test, y_test = arrays
    train = _Split("x_train", "y_train", x_train, _parse_integer_labels("y_train", y_train))
    return "x_train and x_test are ", train, _Split("x_test", "y_test", x_test, _parse_integer_labels("y_test", y_test))


def _read_folder(folder: Path) -> tuple[str, _Split, _Split]:
    """Return both splits of a folder, and their pixels in words; hidden files and other folders are left out."""
    if not any((folder / split).is_dir() for split in SPLITS):
        raise InputError(f"the folder holds no data set of a known format. Give {_SUPPORTED_FORMATS}.")
    splits, first, form = [], "", ""
    for split in SPLITS:
        pictures, labels = [], []
        for label in _list_visible(folder / split):
            if not label.is_dir():
                name = label.relative_to(folder).as_posix()
                raise InputError(f"the file {name!r} is not at {split}/<class>/<image>: move or remove it.")
            for path in _list_visible(label):
                name = path.relative_to(folder).as_posix()
                pixels, picture_form = _decode_image(path, name)
                first, form = first or name, form or picture_form
                if picture_form != form:
                    raise InputError(
                        f"{name!r} is {picture_form} but {first!r} is {form}: give all images one size and mode."
                    )
                pictures.append(pixels)
                labels.append(label.name)
        if not pictures:
            raise InputError(f"it has no image at {split}/<class>/<image>.png or .jpg: add some.")
        splits.append(_Split(f"{split}/", f"{split}/", np.stack(pictures), np.array(labels)))
    return f"images of the mode {form}, ", splits[0], splits[1]


def _list_visible(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if not path.name.startswith(".")) if folder.is_dir() else []


def _decode_image(path: Path, name: str) -> tuple[NumericArray, str]:
    """Return the pixels (h, w, channels) of an image, and its mode and size in words."""
    try:
        from PIL import Image
    except ImportError:
        raise InputError("Reading .png and .jpg needs pillow, which is missing: install deniable[train].") from None
    if not path.is_file():
        raise InputError(f"{name!r} is not a regular file: remove it.")
    if path.suffix.lower() not in IMAGE_SUFFIXES:
        raise InputError(f"the file {name!r} is not a .png, .jpg or .jpeg file: convert or remove it.")
    if (size := path.stat().st_size) > MAX_IMAGE_BYTES:
        raise InputError(f"the file {name!r} has {size} bytes, more than the maximum of {MAX_IMAGE_BYTES}: remove it.")
    file_text = f"the file {name!r}"
    with (
        _reraise_decoder_errors(file_text, "a .png or .jpg image"),
        Image.open(path, formats=("PNG", "JPEG")) as image,
    ):
        mode, (width, height) = image.mode, image.size
        if mode not in _CHANNELS_OF_MODE:
            raise InputError(f"{file_text} is of the mode {mode}: convert it to grey (L) or RGB.")
        pixels = np.asarray(image)
    return pixels.reshape(height, width, _CHANNELS_OF_MODE[mode]), f"{mode} of {width} x {height} pixels"


@contextmanager
def _reraise_decoder_errors(file_text: str, expected: str) -> Iterator[None]:
    """Raise what a decoder raises within the block as `InputError`.

    Args:
        file_text: how the message refers to the file.
        expected: what the file should be, such as ``a .npz archive``.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001 - damaged bytes make zip, numpy, Pillow and zlib raise errors of any kind
        reason = shorten_text(str(error)).rstrip(".") or type(error).__name__
        raise InputError(f"{file_text} cannot be read as {expected}: {reason}.") from None


def _check_pixel_types(train: _Split, test: _Split, pixel_range: PixelRange | None) -> str:
    """Return how numbers become pixels, in words.

    Raises:
        InputError: another type than uint8 or floats, two types, or uint8 of 0 and 1 only without a declared range.
    """
    for split in (train, test):
        if split.pixels.dtype != np.uint8 and split.pixels.dtype.kind != "f":
            raise InputError(
                f"{split.images_name} is of type {split.pixels.dtype}: save pixels as uint8 (0 to 255) or as floats in "
                "[0, 1]."
            )
    kind = "uint8" if train.pixels.dtype == np.uint8 else "floats"
    if train.pixels.dtype.kind != test.pixels.dtype.kind:
        raise InputError(
            f"{train.images_name} is of type {train.pixels.dtype} and {test.images_name} of {test.pixels.dtype}: save "
            "both as one type."
        )
    if pixel_range is not None:
        return f"{kind} in [{pixel_range[0]:g}, {pixel_range[1]:g}], as declared"
    if kind == "floats":
        return "floats in [0, 1]"
    if max(split.pixels.max(initial=0) for split in (train, test)) == 1:
        raise InputError(
            f"{train.images_name} and {test.images_name} are uint8 but hold only 0 and 1, where white is 255: if "
            "white is 1 here, declare --pixel-range=0,1."
        )
    return "uint8, divided by 255"


def _scale_split(split: _Split, pixel_range: PixelRange | None) -> _Split:
    """Return a split with its pixels as contiguous float32 (n, c, h, w), (x - low) / (high - low).

    The range is never inferred from the pixels: one private pixel would then change all other images. Nothing is
    clamped.

    Raises:
        InputError: a split without images, with more or fewer labels, or as `_scale_pixels` and `_move_channels_first`.
    """
    pixels = _move_channels_first(split.images_name, _scale_pixels(split.images_name, split.pixels, pixel_range))
    if not pixels.size:
        raise InputError(f"{split.images_name} has no images: give at least one.")
    if len(pixels) != len(split.labels):
        raise InputError(
            f"{split.images_name} has {len(pixels)} images but {split.labels_name} has {len(split.labels)} labels: "
            "give one label for each image."
        )
    scaled = np.ascontiguousarray(pixels, dtype=np.float32)
    if pixels.dtype == np.uint8:
        scaled /= 255
    return split._replace(pixels=scaled)


def _scale_pixels(name: str, x: NumericArray, pixel_range: PixelRange | None) -> NumericArray:
    """Return pixels as they are for uint8 without a declared range, else as float32 in [0, 1].

    Raises:
        InputError: a pixel outside the range, or a range that the type of the pixels cannot represent.
    """
    if pixel_range is None and x.dtype == np.uint8:
        return x
    low, high = pixel_range or (0.0, 1.0)
    if x.dtype.kind == "f":  # the range rounded to the type, as pixels at its ends are
        low, high = x.dtype.type(low), x.dtype.type(high)
        if not (np.isfinite([low, high]).all() and low < high):
            raise InputError(
                f"{name} is of type {x.dtype}, which cannot represent the declared range: declare another."
            )
    is_outside = ~((x >= low) & (x <= high))
    if is_outside.any():
        index = np.unravel_index(int(is_outside.argmax()), x.shape)
        reason = "the range unless another is declared" if pixel_range is None else "as declared by --pixel-range"
        fix = "declare the range of all pixels when training, for example --pixel-range=-1,1"
        raise InputError(
            f"{name}[{', '.join(map(str, index))}] is {x[index]}: pixels must lie in [{format_exact(low)}, "
            f"{format_exact(high)}], {reason}. To fix it, {fix if np.isfinite(x[index]) else 'replace it'}."
        )
    if (low, high) == (0, 1):
        return x.astype(np.float32)
    wide = x.astype(np.result_type(x.dtype, np.float32))
    low, high = wide.dtype.type(low), wide.dtype.type(high)
    wide -= low
    wide /= high - low
    return wide.astype(np.float32)


def _move_channels_first(name: str, x: NumericArray) -> NumericArray:
    """Return images (n, h, w), (n, h, w, c) or (n, c, h, w) as (n, c, h, w); c is the axis of size 1 or 3.

    Raises:
        InputError: another number of axes, or none or two that could be the axis of channels.
    """
    shape = f"{name} has the shape {x.shape}"
    if x.ndim == 2:  # noqa: PLR2004 - (n, pixels)
        raise InputError(f"{shape}, flat images: save {name}.reshape(n, channels, height, width) instead.")
    if x.ndim == 3:  # noqa: PLR2004 - (n, h, w)
        return x[:, None]
    if x.ndim != 4:  # noqa: PLR2004 - (n, h, w, c)
        raise InputError(f"{shape}: images must have (n, height, width), with an axis of 1 or 3 channels or none.")
    first, last = x.shape[1] in (1, 3), x.shape[3] in (1, 3)
    if first == last:
        problem = "the second and the last axis could both be" if first else "neither the second nor the last axis is"
        raise InputError(
            f"{shape}: {problem} an axis of 1 or 3 channels. Save the images as (n, channels, height, width)."
        )
    return x if first else np.moveaxis(x, 3, 1)


def _describe_shape(pixels: NumericArray) -> str:
    return "{} channels of {} x {} pixels".format(*pixels.shape[1:])


def _parse_integer_labels(name: str, y: NumericArray) -> NumericArray:
    """Return labels (n,) or (n, 1) of an array as int64 (n,)."""
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


def _number_labels(
    train: _Split, test: _Split, declared_classes: tuple[str, ...] | None
) -> tuple[torch.Tensor, torch.Tensor, tuple[str, ...]]:
    """Return the labels of both splits as 0 to K - 1, and the name of each class: its label in the file.

    Args:
        train: with integers or names as labels.
        test: the same.
        declared_classes: names of the classes in order, which need not all occur; None for the distinct labels of
            ``train`` in ascending order, with or without gaps.

    Raises:
        InputError: fewer than two classes, a label that is not declared, or a class that the training split lacks.
    """
    if declared_classes is None:
        train_classes = np.unique(train.labels)
        classes = tuple(map(str, train_classes.tolist()))
        check_classes(train.labels_name, classes)
    else:
        classes = declared_classes
    class_numbers = {label: number for number, label in enumerate(classes)}
    numbered = []
    for name, labels in ((train.labels_name, train.labels), (test.labels_name, test.labels)):
        distinct_labels, inverse = np.unique(labels, return_inverse=True)
        numbers = np.array([class_numbers.get(str(label), -1) for label in distinct_labels], dtype=np.int64)[inverse]
        unknown_rows = np.flatnonzero(numbers < 0)
        if len(unknown_rows):
            known = "training" if declared_classes is None else "declared"
            shown = ", ".join(classes[:_MAX_LISTED]) + (", ..." if len(classes) > _MAX_LISTED else "")
            raise InputError(
                f"{name}[{unknown_rows[0]}] is {labels[unknown_rows[0]].item()!r}, which is not one of the {known} "
                f"classes {shown}: declare it too, or leave the image out."
            )
        numbered.append(torch.from_numpy(numbers))
    return numbered[0], numbered[1], classes
