"""Images in the four IDX files of MNIST and its relatives, plain or compressed by gzip."""

import contextlib
import gzip
from pathlib import Path
from typing import IO, cast

import numpy as np
import numpy.typing as npt

from deniable.errors import InputError
from deniable.robust.images.damage import reraise_decoder_errors
from deniable.robust.images.dataset import ImageDataset, SplitArrays, assemble_dataset
from deniable.robust.images.declared import DataDeclaration
from deniable.robust.images.pixels import describe_range, scale_pixels

ByteArray = npt.NDArray[np.uint8]
_IDX_SPLITS = ("train", "t10k")
_READ_BYTES = 1 << 20
_MAX_GZIP_RATIO = 1032
"""Greatest ratio by which gzip compresses: a header that claims more is wrong, and nothing is allocated for it."""


def is_idx_prefix(prefix: str) -> bool:
    """Return whether the images to train on lie at the prefix: a folder with a slash, or the start of file names."""
    return _find_idx_file(prefix, "train", "images", 3) is not None


def read_idx(prefix: str, name: str, declaration: DataDeclaration) -> ImageDataset:
    """Return the images of train-images-idx3-ubyte and the three files beside it.

    Raises:
        InputError: a file is missing, damaged, of another type, shorter or longer than its header says, or holds what
            is not as declared.
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
        max_bytes = path.stat().st_size * (_MAX_GZIP_RATIO if is_gzip else 1)
        data = _read_bytes(stream, stated_bytes) if stated_bytes <= max_bytes else b""
    if len(data) != stated_bytes:
        comparison = f"{'more' if len(data) > stated_bytes else 'less'} than the {stated_bytes} bytes"
        raise InputError(f"{path.name} holds {comparison} that its header states: fetch the file again.")
    return np.frombuffer(data, dtype=np.uint8).reshape(shape)


def _read_bytes(stream: IO[bytes], count: int) -> bytearray:
    """Return so many bytes, fewer where the stream ends, or one more where it goes on."""
    data = bytearray()
    while chunk := stream.read(min(_READ_BYTES, count + 1 - len(data))):
        data += chunk
    return data
