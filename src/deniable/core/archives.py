"""Zip files of arrays that anybody may have written: sizes are checked before anything is read or allocated.

A few bytes of a zip file can claim, or expand to, any number of bytes. So its directory is limited before it is read,
what a member may expand to before it is opened, and an array takes no memory before the size in its header is that of
its member. Nothing is unpickled.

JSON that anybody may have written: read by the letter, and within limits.
"""

import contextlib
import dataclasses
import io
import json
import math
import struct
import tokenize
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np

from deniable.core.errors import shorten_text

_END = struct.Struct("<4s4H2LH")
"""The record at the end of a zip file: signature, two disks, members here and in all, the directory's size and place,
and the length of a comment."""
_MAX_COMMENT = _MANY = (1 << 16) - 1
_LOCATOR, _LOCATOR_BYTES = b"PK\6\7", 20
"""In front of it, where numbers are so large that another record holds them."""
_SMALL_FILE = 1 << 32
"""Size from which a zip file needs that record."""
_MAX_DIRECTORY = 1 << 20
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
_FREE_BYTES, _MAX_EXPANSION = 1 << 26, 50
_FREE_TEXT_BYTES, _MAX_TEXT_EXPANSION = 1 << 20, 20
_CHUNK = 1 << 20
_MAX_EMPTY_SIZE = 1 << 20
"""Product of the other axes of an array without elements, which take no bytes and can take time."""
_MAX_HEADER = 1_000
_HEADER_READERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def limit_expansion(size: int) -> int:
    """How many bytes so many compressed ones may expand to: 64 MiB, or fifty times as many.

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
    """A stream of text made of so many bytes, which raises `EOFError` beyond 1 MiB or twenty times them."""
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
    signature, _, _, _, _, directory_size, _, comment_length = _END.unpack(tail[-_END.size :].rjust(_END.size))
    if signature != b"PK\5\6" or comment_length:
        raise zipfile.BadZipFile("it is not a whole zip file")
    if directory_size > _MAX_DIRECTORY or (tail.startswith(_LOCATOR) and size < _SMALL_FILE):
        raise zipfile.BadZipFile("its directory is larger than a file of arrays needs")


def check_member_count(archive: zipfile.ZipFile, stream: BinaryIO) -> None:
    """Raise `zipfile.BadZipFile` unless the directory lists as many members as the end of the file says.

    `zipfile` does not compare: a changed length in the directory hides the members that follow.
    """
    size = stream.seek(0, 2)
    stream.seek(max(size - _END.size - _MAX_COMMENT, 0))
    tail = stream.read()
    count = _END.unpack_from(tail, tail.rindex(b"PK\5\6"))[4]
    if count not in {len(archive.infolist()), _MANY}:
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
    """The bytes of a member, no more than the directory says.

    Raises:
        KeyError: there is no such member.
        zipfile.BadZipFile, zlib.error, EOFError: it is damaged.
    """
    with archive.open(name) as stream:
        return _read_exactly(stream, archive.getinfo(name).file_size, name)


def read_array(archive: zipfile.ZipFile, name: str) -> np.ndarray[Any, Any]:
    """An array of numbers or texts, in C order.

    Args:
        archive: of `open_archive`.
        name: of the member, such as ``words.npy``.

    Raises:
        KeyError: there is no such member.
        ValueError: it is not an array of numbers or texts, or of another size than its header says.
        zipfile.BadZipFile, zlib.error, EOFError: it is damaged.
    """
    with archive.open(name) as stream:
        try:
            read_header = _HEADER_READERS[np.lib.format.read_magic(stream)]
            shape, is_fortran, dtype = read_header(stream, max_header_size=_MAX_HEADER)
        except (ValueError, KeyError, TypeError, RecursionError, MemoryError, tokenize.TokenError, Warning):
            dtype = np.dtype(object)
        if dtype.kind not in "biufSU":
            raise ValueError(f"{name} is not an array of numbers or texts: save one with allow_pickle=False")
        size = math.prod(shape) * dtype.itemsize
        if not size and math.prod(filter(None, shape)) > _MAX_EMPTY_SIZE:
            raise ValueError(f"{name} is an empty array with axes too long for any")
        if size != archive.getinfo(name).file_size - stream.tell():
            raise ValueError(f"the header of {name} says {size:,} bytes, which is not how many follow")
        content = _read_exactly(stream, size, name)
    return np.array(np.ndarray(shape, dtype, content, order="F" if is_fortran else "C"), order="C")


def _read_exactly(stream: IO[bytes], size: int, name: str) -> bytes:
    content = stream.read(size)
    if len(content) < size:
        raise EOFError(f"{name} is shorter than the directory says")
    return content


MAX_INTEGER = 1 << 62


@dataclasses.dataclass(frozen=True)
class JsonLimits:
    """How large a document may be.

    Attributes:
        size: bytes.
        depth: objects and arrays inside each other.
        members: of all objects and arrays together, counted by commas and opening brackets, in texts too: Python takes
            seconds and much memory to make millions of lists.
        name_length: characters of a field's name.
    """

    size: int
    depth: int
    members: int
    name_length: int = 200


def parse_strict_json(content: bytes, limits: JsonLimits) -> Any:  # noqa: ANN401 - any JSON value
    """The value of a JSON document.

    Args:
        content: UTF-8.
        limits: of the document.

    Raises:
        ValueError: it is not JSON, exceeds a limit, or holds a name twice, a number that is not finite or an integer
            beyond 2^62. The message continues a sentence that begins with what the document is.
    """
    if len(content) > limits.size:
        raise ValueError(f"has more than {limits.size:,} bytes")
    if sum(content.count(mark) for mark in (b",", b"[", b"{")) > limits.members:
        raise ValueError(f"holds more than {limits.members:,} values")
    try:
        value = json.loads(
            content.decode("utf-8"),
            object_pairs_hook=lambda members: _build_object(members, limits.name_length),
            parse_constant=_refuse_constant,
            parse_float=_parse_float,
            parse_int=_parse_int,
        )
        is_too_deep = _measure_depth(value) > limits.depth
    except UnicodeDecodeError:
        raise ValueError("is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"is not JSON ({error.msg}, line {error.lineno})") from None
    except RecursionError:
        is_too_deep = True
    if is_too_deep:
        raise ValueError(f"holds values nested more than {limits.depth} deep")
    return value


def _build_object(members: list[tuple[str, Any]], name_length: int) -> dict[str, Any]:
    fields = dict(members)
    if any(len(name) > name_length for name in fields):
        raise ValueError(f"has a field whose name is longer than {name_length} characters")
    if len(fields) < len(members):
        repeated_name = Counter(name for name, _ in members).most_common(1)[0][0]
        raise ValueError(f"has the field {shorten_text(repr(repeated_name))} twice, which programs read differently")
    return fields


def _refuse_constant(name: str) -> float:
    raise ValueError(f"holds {name}, which is not a JSON number")


def _parse_float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"holds the number {shorten_text(digits)}, which is not finite")
    return number


def _parse_int(digits: str) -> int:
    number = int(digits) if len(digits) <= len(str(MAX_INTEGER)) + 1 else MAX_INTEGER + 1
    if abs(number) > MAX_INTEGER:
        raise ValueError(f"holds an integer of {len(digits):,} digits")
    return number


def _measure_depth(value: Any) -> int:  # noqa: ANN401 - any JSON value
    members = value.values() if isinstance(value, dict) else value
    return 1 + max(map(_measure_depth, members), default=0) if isinstance(value, dict | list) else 0
