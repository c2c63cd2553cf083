"""Files and pipes: decompression, progress, and outputs that appear whole or not at all."""

import contextlib
import gzip
import io
import os
import secrets
import shutil
import sys
import tempfile
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
    try:
        with contextlib.ExitStack() as stack:
            raw = sys.stdin.buffer if path == PIPE else stack.enter_context(Path(path).open("rb"))
            suffix = Path(path).suffix.lower()
            stream: BinaryIO = raw
            if not seekable or suffix in {".gz", ".zst"} or path == PIPE:
                stream = cast("BinaryIO", io.BufferedReader(_Counted(raw, report), 1 << 20))
            if suffix == ".gz":
                stream = cast("BinaryIO", stack.enter_context(gzip.GzipFile(fileobj=stream)))
            elif suffix == ".zst":
                stream = stack.enter_context(pa.CompressedInputStream(pa.PythonFile(stream, mode="r"), "zstd"))
            if seekable and stream is not raw:
                spool = stack.enter_context(tempfile.TemporaryFile())
                shutil.copyfileobj(stream, spool)
                spool.seek(0)
                stream = cast("BinaryIO", spool)
            yield stream
    except (gzip.BadGzipFile, EOFError) as error:
        raise InputError(f"The input {path!r} is not whole gzip data: {error}.") from None


@contextlib.contextmanager
def writing(path: str, *, force: bool) -> Iterator[BinaryIO]:
    """Open a file, or standard output for ``-``, compressed by its ending.

    The file appears under its name only when the block ends well; standard output is written only
    then. Otherwise nothing is left.

    Raises:
        InputError: the file exists and ``force`` is not set, or its folder does not exist.
    """
    if path == PIPE:
        with tempfile.TemporaryFile() as spool:
            yield cast("BinaryIO", spool)
            spool.seek(0)
            shutil.copyfileobj(spool, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        return
    target = check_target(path, force=force)
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as raw:
            with _compressed(raw, target.suffix.lower()) as stream:
                yield stream
            raw.flush()
            os.fsync(raw.fileno())
        part.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink()
        raise


@contextlib.contextmanager
def _compressed(raw: BinaryIO, suffix: str) -> Iterator[BinaryIO]:
    if suffix == ".gz":
        with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as stream:
            yield cast("BinaryIO", stream)
    elif suffix == ".zst":
        with pa.CompressedOutputStream(pa.PythonFile(raw, mode="w"), "zstd") as stream:
            yield stream
    else:
        yield raw


def check_target(path: str, *, force: bool) -> Path:
    """Return the path of an output that may be written, else raise `InputError`."""
    target = Path(path)
    if target.is_dir():
        raise InputError(f"The output {path!r} is a folder: give the path of a file.")
    if not target.parent.is_dir():
        raise InputError(f"The folder of the output {path!r} does not exist: create {str(target.parent)!r} first.")
    if target.exists() and not force:
        raise InputError(f"The output {path!r} exists: choose another name, or overwrite it with --force.")
    return target
