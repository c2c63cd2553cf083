"""Images in arrays: .npz archives, the four IDX files of MNIST and its relatives, and checks of their pixels."""

import contextlib
import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

import numpy as np
import numpy.typing as npt

from deniable.core.archives import limit_expansion, open_archive, read_array
from deniable.core.errors import InputError, shorten_text
from deniable.core.numbers import format_exact
from deniable.models.images.dataset import (
    DataDeclaration,
    ImageDataset,
    NumericArray,
    PixelRange,
    SplitArrays,
    assemble_dataset,
)

NamedPixels = tuple[str, NumericArray]
ByteArray = npt.NDArray[np.uint8]
CHANNEL_COUNTS = (1, 3)
"""Grey, and red, green and blue."""
NPZ_ARRAYS = ("x_train", "y_train", "x_test", "y_test")
_IDX_SPLITS = ("train", "t10k")
_READ_BYTES = 1 << 20


@contextmanager
def reraise_decoder_errors(file_text: str, expected: str) -> Iterator[None]:
    """Raise what a decoder raises within the block as `InputError`.

    Args:
        file_text: how the message refers to the file.
        expected: what the file should be, such as ``a whole .npz archive``.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001 - damaged bytes make zip, numpy, Pillow and zlib raise errors of any kind
        reason = shorten_text(str(error)).rstrip(".") or type(error).__name__
        raise InputError(f"{file_text} cannot be read as {expected}: {reason}.") from None


def move_channels_first(name: str, x: NumericArray) -> NumericArray:
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
    first, last = x.shape[1] in CHANNEL_COUNTS, x.shape[3] in CHANNEL_COUNTS
    if first == last:
        problem = "the second and the last axis could both be" if first else "neither the second nor the last axis is"
        raise InputError(
            f"{shape}: {problem} an axis of 1 or 3 channels. Save the images as (n, channels, height, width)."
        )
    return x if first else np.moveaxis(x, 3, 1)


def scale_both_splits(
    train: NamedPixels, test: NamedPixels, pixel_range: PixelRange | None
) -> tuple[NumericArray, NumericArray, str]:
    """Return both arrays as `scale_pixels` does, and a note on how numbers became pixels.

    Raises:
        InputError: another type than uint8 or floats, two types, a pixel outside the range, or uint8 of 0 and 1 only
            without a declared range.
    """
    names = f"{train[0]} and {test[0]}"
    kinds = [_name_pixel_type(*named) for named in (train, test)]
    if kinds[0] != kinds[1]:
        raise InputError(
            f"{train[0]} is of type {train[1].dtype} and {test[0]} of {test[1].dtype}: save both as one type."
        )
    if pixel_range is None and kinds[0] == "uint8" and max(x.max(initial=0) for _, x in (train, test)) == 1:
        raise InputError(f"{names} are uint8 of 0 and 1 only, where 255 is white: declare it by --pixel-range=0,1.")
    scaled = scale_pixels(*train, pixel_range), scale_pixels(*test, pixel_range)
    return *scaled, f"{names} are {describe_range(kinds[0], pixel_range)}"


def scale_pixels(name: str, x: NumericArray, pixel_range: PixelRange | None) -> NumericArray:
    """Return pixels as they are for uint8 without a declared range, else as float32 (x - low) / (high - low).

    The range is never inferred from the pixels: one private pixel would then change all other images. Nothing is
    clamped.

    Args:
        name: name of the array, for messages.
        x: uint8 or floats of any shape.
        pixel_range: as declared; None for [0, 1] for floats.

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
    _check_pixel_range(name, x, low, high, is_declared=pixel_range is not None)
    if (low, high) == (0, 1):
        return x.astype(np.float32)
    wide = x.astype(np.result_type(x.dtype, np.float32))
    low, high = wide.dtype.type(low), wide.dtype.type(high)
    wide -= low
    wide /= high - low
    return wide.astype(np.float32)


def describe_range(kind: str, pixel_range: PixelRange | None) -> str:
    """Return how numbers became pixels, in words."""
    if pixel_range is not None:
        return f"{kind} in [{pixel_range[0]:g}, {pixel_range[1]:g}], as declared"
    return "uint8, divided by 255" if kind == "uint8" else f"{kind} in [0, 1]"


def _name_pixel_type(name: str, x: NumericArray) -> str:
    if x.dtype == np.uint8:
        return "uint8"
    if x.dtype.kind != "f":
        raise InputError(f"{name} is of type {x.dtype}: save pixels as uint8 (0 to 255) or as floats in [0, 1].")
    return "floats"


def _check_pixel_range(name: str, x: NumericArray, low: float, high: float, *, is_declared: bool) -> None:
    """Raise `InputError` that names the first value outside [low, high]."""
    is_outside = ~((x >= low) & (x <= high))
    if is_outside.any():
        index = np.unravel_index(int(is_outside.argmax()), x.shape)
        position, value = ", ".join(map(str, index)), x[index]
        reason = "as declared by --pixel-range" if is_declared else "the range unless another is declared"
        if np.isfinite(value):
            fix = "declare the range of all pixels when training, for example --pixel-range=-1,1"
        else:
            fix = "replace it"
        raise InputError(
            f"{name}[{position}] is {value}: pixels must lie in [{format_exact(low)}, {format_exact(high)}], "
            f"{reason}. To fix it, {fix}."
        )


def read_npz(path: Path, declaration: DataDeclaration) -> ImageDataset:
    """Return the images of an archive with the arrays x_train, y_train, x_test and y_test.

    Pixels are uint8 or floats in the declared range; see `deniable.models.images.arrays` for their shapes and
    `deniable.models.images.dataset` for the labels. Nothing in the file is unpickled.

    Raises:
        InputError: the archive is damaged, lacks an array, or holds values that are not valid as images or labels.
    """
    expected = ", ".join(NPZ_ARRAYS)
    with reraise_decoder_errors("it", "a .npz archive"), path.open("rb") as stream:
        if stream.read(6) == b"\x93NUMPY":
            raise InputError(f"it is a single array, no .npz archive: save {expected} by np.savez.")
    arrays = {}
    with reraise_decoder_errors("it", "a .npz archive"), open_archive(path) as archive:
        available = [name.removesuffix(".npy") for name in archive.namelist()]
        missing = [name for name in NPZ_ARRAYS if name not in available]
        if missing:
            shown = ", ".join(map(repr, available[:20])) or "none"
            raise InputError(f"it has no array {missing[0]!r}: save {expected}. Its arrays: {shown}.")
        for name in NPZ_ARRAYS:
            with reraise_decoder_errors(name, "an array of numbers"):
                arrays[name] = read_array(archive, f"{name}.npy")
    named_pixels = ("x_train", arrays["x_train"]), ("x_test", arrays["x_test"])
    x_train, x_test, note = scale_both_splits(*named_pixels, declaration.pixel_range)
    return assemble_dataset(
        path.name,
        SplitArrays("x_train", "y_train", move_channels_first("x_train", x_train), arrays["y_train"]),
        SplitArrays("x_test", "y_test", move_channels_first("x_test", x_test), arrays["y_test"]),
        note,
        declaration,
    )


def is_idx_prefix(prefix: str) -> bool:
    """Return whether the training images exist at a prefix: a folder with a slash, or the start of file names."""
    return _find_idx_file(prefix, "train", "images", 3) is not None


def read_idx(prefix: str, name: str, declaration: DataDeclaration) -> ImageDataset:
    """Return the images of train-images-idx3-ubyte and the three files beside it.

    Raises:
        InputError: a file is missing, damaged, of another type, shorter or longer than its header states, or
            contradicts the declaration.
    """
    train, test = (_read_idx_split(prefix, split, declaration) for split in _IDX_SPLITS)
    return assemble_dataset(
        name, train, test, f"the IDX files are {describe_range('uint8', declaration.pixel_range)}", declaration
    )


def _read_idx_split(prefix: str, split: str, declaration: DataDeclaration) -> SplitArrays:
    images, labels = (_require_idx_file(prefix, split, *kind) for kind in (("images", 3), ("labels", 1)))
    pixels = scale_pixels(images.name, _parse_idx_file(images, 3), declaration.pixel_range)
    return SplitArrays(images.name, labels.name, pixels[:, None], _parse_idx_file(labels, 1))


def _find_idx_file(prefix: str, split: str, content: str, axes: int) -> Path | None:
    stems = [f"{prefix}{split}-{content}{mark}idx{axes}-ubyte" for mark in "-."]
    return next((Path(stem + end) for stem in stems for end in ("", ".gz") if Path(stem + end).is_file()), None)


def _require_idx_file(prefix: str, split: str, content: str, axes: int) -> Path:
    path = _find_idx_file(prefix, split, content, axes)
    if path is None:
        raise InputError(f"it has no file '{split}-{content}-idx{axes}-ubyte', plain or .gz: put it beside the others.")
    return path


def _parse_idx_file(path: Path, axes: int) -> ByteArray:
    """Return the bytes of an IDX file in the shape that its header states."""
    is_gzip = path.suffix == ".gz"
    with contextlib.ExitStack() as stack:
        stack.enter_context(reraise_decoder_errors(path.name, "an IDX file"))
        stream: IO[bytes] = stack.enter_context(path.open("rb"))
        if is_gzip:
            stream = cast("IO[bytes]", stack.enter_context(gzip.GzipFile(fileobj=stream)))
        header = np.frombuffer(stream.read(4 * (1 + axes)), dtype=">u4")
        expected = 0x800 + axes  # unsigned bytes, and the number of axes
        if len(header) != 1 + axes or header[0] != expected:
            problem = f"starts with {header[0]}" if len(header) else "is empty"
            raise InputError(f"{path.name} {problem}: an IDX file of bytes with {axes} axes starts with {expected}.")
        shape = tuple(map(int, header[1:]))
        stated_bytes = int(np.prod(shape, dtype=object))
        size = path.stat().st_size
        max_bytes = limit_expansion(size) if is_gzip else size
        data = _read_bytes(stream, stated_bytes) if stated_bytes <= max_bytes else b""
    if len(data) != stated_bytes:
        comparison = f"{'more' if len(data) > stated_bytes else 'less'} than the {stated_bytes} bytes"
        raise InputError(f"{path.name} holds {comparison} that its header states: download it again, or decompress it.")
    return np.frombuffer(data, dtype=np.uint8).reshape(shape)


def _read_bytes(stream: IO[bytes], count: int) -> bytearray:
    """Return ``count`` bytes, fewer if the stream ends before, or one more if it continues."""
    data = bytearray()
    while chunk := stream.read(min(_READ_BYTES, count + 1 - len(data))):
        data += chunk
    return data
