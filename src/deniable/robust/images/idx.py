"""Images in the four IDX files of MNIST and its relatives, plain or compressed by gzip."""

import contextlib
import gzip
from pathlib import Path
from typing import IO, cast

import numpy as np
import numpy.typing as npt

from deniable.errors import InputError
from deniable.robust.images.damage import decoding
from deniable.robust.images.dataset import Dataset, Part, assemble
from deniable.robust.images.declared import Declared
from deniable.robust.images.pixels import scale, told_range

Bytes = npt.NDArray[np.uint8]
_PARTS = ("train", "t10k")
_PIECE = 1 << 20
_DEFLATE = 1032
"""Greatest ratio by which gzip compresses: a header that claims more is wrong, and nothing is allocated for it."""


def is_idx(prefix: str) -> bool:
    """Return whether the images to train on lie at the prefix: a folder with a slash, or the start of file names."""
    return _find(prefix, "train", "images", 3) is not None


def read_idx(prefix: str, name: str, declared: Declared) -> Dataset:
    """Return the images of train-images-idx3-ubyte and the three files beside it.

    Raises:
        InputError: a file is missing, damaged, of another type, shorter or longer than its header says, or holds what
            is not as declared.
    """
    train, test = (_part(prefix, part, declared) for part in _PARTS)
    return assemble(name, train, test, f"the IDX files are {told_range('uint8', declared.pixel_range)}", declared)


def _part(prefix: str, part: str, declared: Declared) -> Part:
    images, labels = (_file(prefix, part, *kind) for kind in (("images", 3), ("labels", 1)))
    pixels = scale(images.name, _array(images, 3), declared.pixel_range)
    return Part(images.name, labels.name, pixels[:, None], _array(labels, 1))


def _find(prefix: str, part: str, what: str, axes: int) -> Path | None:
    stems = [f"{prefix}{part}-{what}{mark}idx{axes}-ubyte" for mark in "-."]
    return next((Path(stem + end) for stem in stems for end in ("", ".gz") if Path(stem + end).is_file()), None)


def _file(prefix: str, part: str, what: str, axes: int) -> Path:
    path = _find(prefix, part, what, axes)
    if path is None:
        raise InputError(f"it has no file '{part}-{what}-idx{axes}-ubyte', plain or .gz: put it beside the others.")
    return path


def _array(path: Path, axes: int) -> Bytes:
    """Return the bytes of an IDX file in the shape that its header states."""
    packed = path.suffix == ".gz"
    with contextlib.ExitStack() as stack:
        stack.enter_context(decoding(path.name, "an IDX file"))
        stream: IO[bytes] = stack.enter_context(path.open("rb"))
        if packed:
            stream = cast("IO[bytes]", stack.enter_context(gzip.GzipFile(fileobj=stream)))
        header = np.frombuffer(stream.read(4 * (1 + axes)), dtype=">u4")
        expected = 0x800 + axes  # unsigned bytes, and the number of axes
        if len(header) != 1 + axes or header[0] != expected:
            got = f"starts with {header[0]}" if len(header) else "is empty"
            raise InputError(f"{path.name} {got}: an IDX file of bytes with {axes} axes starts with {expected}.")
        shape = tuple(map(int, header[1:]))
        claimed = int(np.prod(shape, dtype=object))
        most = path.stat().st_size * (_DEFLATE if packed else 1)
        data = _read(stream, claimed) if claimed <= most else b""
    if len(data) != claimed:
        has = f"{'more' if len(data) > claimed else 'less'} than the {claimed} bytes"
        raise InputError(f"{path.name} holds {has} that its header states: fetch the file again.")
    return np.frombuffer(data, dtype=np.uint8).reshape(shape)


def _read(stream: IO[bytes], count: int) -> bytearray:
    """Return so many bytes, fewer where the stream ends, or one more where it goes on."""
    data = bytearray()
    while piece := stream.read(min(_PIECE, count + 1 - len(data))):
        data += piece
    return data
