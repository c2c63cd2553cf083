"""Files and pipes: decompression, progress, and outputs that appear whole or not at all."""

import contextlib
import gzip
import io
import os
import secrets
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa

from deniable.errors import InputError

PIPE = "-"


class _Counted(io.RawIOBase):
    """A readable stream that reports how many bytes have been read."""

    def __init__(self, stream: BinaryIO, report: Callable[[int], None]) -> None:
        self._stream = stream
        self._report = report

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._stream.seekable()

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        self._report(len(data))
        return len(data)


@contextlib.contextmanager
def reading(path: str, report: Callable[[int], None], *, seekable: bool = False) -> Iterator[BinaryIO]:
    """Open a file, or standard input for ``-``, decompressed by its ending.

    Args:
        path: the file.
        report: called with the number of bytes of every read.
        seekable: whether the reader needs to seek (parquet); a pipe is then spooled to disk.

    Raises:
        InputError: no such file, or one that cannot be read or decompressed.
    """
    if path != PIPE and not Path(path).is_file():
        what = "is a folder" if Path(path).is_dir() else "does not exist"
        raise InputError(f"The input {path!r} {what}: give the path of a file, or - for a pipe.")
    if path == PIPE and sys.stdin is None:
        raise InputError("Standard input is closed: give the path of a file.")
    try:
        with contextlib.ExitStack() as stack:
            raw = sys.stdin.buffer if path == PIPE else stack.enter_context(Path(path).open("rb"))
            suffix = Path(path).suffix.lower()
            stream = cast("BinaryIO", io.BufferedReader(_Counted(raw, report), 1 << 20))
            if suffix == ".gz":
                stream = cast("BinaryIO", stack.enter_context(gzip.GzipFile(fileobj=stream)))
            elif suffix == ".zst":
                stream = stack.enter_context(pa.CompressedInputStream(pa.PythonFile(stream, mode="r"), "zstd"))
            if seekable and (path == PIPE or suffix in {".gz", ".zst"}):
                spool = stack.enter_context(tempfile.TemporaryFile())
                shutil.copyfileobj(stream, spool)
                spool.seek(0)
                stream = cast("BinaryIO", spool)
            yield stream
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise InputError(f"The input {path!r} is not whole gzip data: {error}.") from None
    except OSError as error:
        if error.errno is not None or Path(path).suffix.lower() != ".zst":
            raise
        raise InputError(f"The input {path!r} is not whole zst data: {' '.join(str(error).split())}.") from None


@contextlib.contextmanager
def writing(*paths: str, force: bool) -> Iterator[list[BinaryIO]]:
    """Open outputs that appear together, whole, when the block ends well; otherwise nothing is left.

    Args:
        paths: files, compressed by their endings, or ``-`` for standard output, which is written
            only when all is known.
        force: overwrite files that exist.

    Raises:
        InputError: a file exists and ``force`` is not set, or its folder does not exist.
    """
    targets = [None if path == PIPE else check_target(path, force=force) for path in paths]
    parts = [target and target.with_name(f".{target.name}.{secrets.token_hex(4)}.part") for target in targets]
    with contextlib.ExitStack() as spools, contextlib.ExitStack() as cleanup:
        for part in parts:
            if part is not None:
                cleanup.callback(part.unlink, missing_ok=True)
        with contextlib.ExitStack() as stack:
            streams = [
                stack.enter_context(_compressed(part, target.suffix.lower()))
                if part is not None and target is not None
                else cast("BinaryIO", spools.enter_context(tempfile.TemporaryFile()))
                for part, target in zip(parts, targets, strict=True)
            ]
            yield streams
        for part, stream in zip(parts, streams, strict=True):
            if part is None:
                stream.seek(0)
                shutil.copyfileobj(stream, sys.stdout.buffer)
                sys.stdout.buffer.flush()
        for part, target in zip(parts, targets, strict=True):
            if part is not None and target is not None:
                part.replace(target)


@contextlib.contextmanager
def _compressed(part: Path, suffix: str) -> Iterator[BinaryIO]:
    """Open a new file for writing, compressed by the suffix of its final name, safe on disk at the end."""
    with contextlib.ExitStack() as stack:
        raw = stack.enter_context(part.open("xb"))
        if suffix == ".gz":
            yield cast("BinaryIO", stack.enter_context(gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0)))
        elif suffix == ".zst":
            yield stack.enter_context(pa.CompressedOutputStream(pa.PythonFile(raw, mode="w"), "zstd"))
        else:
            yield raw
    with part.open("rb+") as written:
        os.fsync(written.fileno())


def check_target(path: str, *, force: bool) -> Path:
    """Return the path of an output that may be written, else raise `InputError`."""
    target = Path(path)
    if target.is_symlink():
        target = target.resolve()
    if target.is_dir():
        raise InputError(f"The output {path!r} is a folder: give the path of a file.")
    if target.exists() and not target.is_file():
        raise InputError(f"The output {path!r} is no regular file: give the path of a file, or - for a pipe.")
    if not target.parent.is_dir():
        raise InputError(f"The folder of the output {path!r} does not exist: create {str(target.parent)!r} first.")
    if target.exists() and not force:
        raise InputError(f"The output {path!r} exists: choose another name, or overwrite it with --force.")
    return target
