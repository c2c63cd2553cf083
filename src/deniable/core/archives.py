"""Zip files of arrays that anybody may have written: sizes are checked before anything is read or allocated.

A few bytes of a zip file can claim, or expand to, any number of bytes. So its directory is limited before it is read,
what a member may expand to before it is opened, and an array takes no memory before the size in its header is that of
its member. Headers are matched, never evaluated as Python, and nothing is unpickled.
"""

import contextlib
import io
import math
import re
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

_END = struct.Struct("<4s4H2LH")
"""The record at the end of a zip file: signature, two disks, members here and in all, the directory's size and place,
and the length of a comment."""
_MAX_COMMENT = _MAX_COUNT = (1 << 16) - 1
_END_64, _COUNT_64 = b"PK\6\6", struct.Struct("<32xQ")
"""The record that takes its place where numbers are large: signature, and the members in all."""
_LOCATOR_BYTES = 20
_LOCATOR = b"PK\6\7"
_SMALL_FILE = 1 << 32
"""Size from which a zip file needs records of 64 bits."""
_MAX_DIRECTORY = 1 << 20
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
_FREE_BYTES, _MAX_EXPANSION = 1 << 26, 50
_FREE_TEXT_BYTES, _MAX_TEXT_EXPANSION = 1 << 20, 20
_MAX_HEADER = 1_000
_CHUNK = 1 << 20
_MAX_EMPTY_SIZE = 1 << 20
"""Product of the other axes of an array without elements, which take no bytes and can take time."""
_HEADER = re.compile(
    rb"\s*\{\s*'descr'\s*:\s*'([<>|=]?[biufSU][1-9]\d{0,7})'\s*,\s*'fortran_order'\s*:\s*(True|False)\s*,"
    rb"\s*'shape'\s*:\s*\(((?:\s*\d{1,18}\s*,)*\s*(?:\d{1,18})?)\s*\)\s*,?\s*\}\s*"
)


def limit_expansion(size: int) -> int:
    """Return how many bytes so many compressed ones may expand to: 64 MiB, or fifty times as many.

    Real arrays and images are well inside; bytes made to fill a memory expand a thousand times.
    """
    return max(_FREE_BYTES, _MAX_EXPANSION * size)


class _LimitedReader(io.RawIOBase):
    """A stream that ends in an error beyond so many bytes."""

    def __init__(self, stream: BinaryIO, limit: int) -> None:
        self._stream, self._left = stream, limit

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._stream.read(len(buffer))
        self._left -= len(data)
        if self._left < 0:
            raise EOFError("it expands to more than such files do: decompress it first")
        buffer[: len(data)] = data
        return len(data)


def limit_reader(stream: BinaryIO, size: int) -> BinaryIO:
    """Return a stream of text made of so many bytes, which raises `EOFError` beyond 1 MiB or twenty times them."""
    return io.BufferedReader(_LimitedReader(stream, max(_FREE_TEXT_BYTES, _MAX_TEXT_EXPANSION * size)), _CHUNK)


@contextlib.contextmanager
def open_archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open a zip file whose members have different names and together expand to at most what `limit_expansion` says.

    Raises:
        OSError: it cannot be read.
        zipfile.BadZipFile: it is not such a file, or more than that.
    """
    with path.open("rb") as stream:
        _check_end(stream)
        with zipfile.ZipFile(stream) as archive:
            check_member_count(archive, stream)
            _check_members(archive, stream.seek(0, 2))
            yield archive


def _check_end(stream: BinaryIO) -> None:
    """Raise `zipfile.BadZipFile` unless a file ends in the record of a directory of at most a megabyte."""
    size = stream.seek(0, 2)
    stream.seek(max(size - _END.size - _LOCATOR_BYTES, 0))
    tail = stream.read()
    if len(tail) < _END.size:
        raise zipfile.BadZipFile("it is not a whole zip file")
    signature, _, _, _, _, directory_size, _, comment_length = _END.unpack(tail[-_END.size :])
    if signature != b"PK\5\6" or comment_length:
        raise zipfile.BadZipFile("it is not a whole zip file")
    if directory_size > _MAX_DIRECTORY or (tail.startswith(_LOCATOR) and size < _SMALL_FILE):
        raise zipfile.BadZipFile("its directory is larger than a file of arrays needs")


def check_member_count(archive: zipfile.ZipFile, stream: BinaryIO) -> None:
    """Raise `zipfile.BadZipFile` unless the directory lists as many members as the end of the file says.

    `zipfile` does not compare: a changed length in the directory hides the members that follow.
    """
    size = stream.seek(0, 2)
    stream.seek(max(size - _END.size - _MAX_COMMENT - _LOCATOR_BYTES - _COUNT_64.size, 0))
    tail = stream.read()
    count = _END.unpack_from(tail, tail.rindex(b"PK\5\6"))[4]
    if count == _MAX_COUNT and _END_64 in tail:
        count = _COUNT_64.unpack_from(tail, tail.rindex(_END_64))[0]
    if count != len(archive.infolist()):
        raise zipfile.BadZipFile(f"its directory lists {len(archive.infolist()):,} members, and its end says {count:,}")


def _check_members(archive: zipfile.ZipFile, size: int) -> None:
    members = archive.infolist()
    if len({member.filename for member in members}) < len(members):
        raise zipfile.BadZipFile("two of its members have one name")
    if any(member.flag_bits & 1 or member.compress_type not in _METHODS for member in members):
        raise zipfile.BadZipFile("a member is encrypted, or compressed in another way than numpy does")
    if sum(member.compress_size for member in members) > size:
        raise zipfile.BadZipFile("its members overlap")
    expanded = sum(member.file_size for member in members)
    if expanded > limit_expansion(size):
        raise zipfile.BadZipFile(f"its {size:,} bytes expand to {expanded:,}: write such arrays without compression")


def read_member(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return the bytes of a member, no more than the directory says.

    Raises:
        KeyError: there is no such member.
        zipfile.BadZipFile, zlib.error, EOFError: it is damaged.
    """
    member = archive.getinfo(name)
    with archive.open(member) as stream:
        content = stream.read(member.file_size)
    if len(content) < member.file_size:
        raise EOFError(f"{name} is shorter than the directory says")
    return content


def read_array(archive: zipfile.ZipFile, name: str) -> np.ndarray[Any, Any]:
    """Return an array of numbers or texts, in C order.

    Args:
        archive: of `open_archive`.
        name: of the member, such as ``words.npy``.

    Raises:
        KeyError: there is no such member.
        ValueError: it is not an array of numbers or texts, or of another size than its header says.
        zipfile.BadZipFile, zlib.error, EOFError: it is damaged.
    """
    member = archive.getinfo(name)
    with archive.open(member) as stream:
        dtype, shape, is_fortran, header_bytes = _read_header(stream, name)
        size = math.prod(shape) * dtype.itemsize
        if not size and math.prod(filter(None, shape)) > _MAX_EMPTY_SIZE:
            raise ValueError(f"{name} is an empty array with axes too long for any")
        if size != member.file_size - header_bytes:
            raise ValueError(f"the header of {name} says {size:,} bytes, which is not how many follow")
        buffer = np.empty(size, dtype=np.uint8)
        for start in range(0, size, _CHUNK):
            chunk = stream.read(min(_CHUNK, size - start))
            buffer[start : start + len(chunk)] = np.frombuffer(chunk, dtype=np.uint8)
            if len(chunk) < min(_CHUNK, size - start):
                raise EOFError(f"{name} is shorter than the directory says")
    array = np.ndarray(shape, dtype, buffer, order="F" if is_fortran else "C")
    return np.ascontiguousarray(array).reshape(shape)  # which would make a row of a single number


def _read_header(stream: Any, name: str) -> tuple[np.dtype[Any], tuple[int, ...], bool, int]:  # noqa: ANN401 - readable
    """Return type, shape and order of an array, and how many bytes say so."""
    magic = stream.read(8)
    length_bytes = 2 if magic[6:7] == b"\x01" else 4
    if magic[:6] != b"\x93NUMPY" or magic[6:] not in {b"\x01\0", b"\x02\0", b"\x03\0"}:
        raise ValueError(f"{name} is not an array of numpy")
    length = int.from_bytes(stream.read(length_bytes), "little")
    match = _HEADER.fullmatch(stream.read(length)) if length <= _MAX_HEADER else None
    if match is None:
        raise ValueError(f"{name} is not an array of numbers or texts: save one with allow_pickle=False")
    shape = tuple(int(size) for size in match[3].split(b",") if size.strip())
    return np.dtype(match[1].decode()), shape, match[2] == b"True", 8 + length_bytes + length
