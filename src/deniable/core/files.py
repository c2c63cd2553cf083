"""Files and pipes: decompression, progress, and outputs that appear whole or not at all."""

import contextlib
import gzip
import hashlib
import io
import os
import re
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from deniable.core.errors import InputError
from deniable.core.parts import OWNER_ONLY, Part, choose_mode, make_existence_error, open_part, publish_parts

PIPE = "-"
"""The path that means standard input or standard output."""
_STREAM_NAME = re.compile(r"/dev/(stdin|stdout|stderr|fd/\d+)|/proc/(self|thread-self|\d+)/fd/\d+")


class _CountingReader(io.RawIOBase):
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
def open_input(path: str, report: Callable[[int], None], *, seekable: bool = False) -> Iterator[BinaryIO]:
    """Open a file, or standard input for ``-``, decompressed by its ending.

    Args:
        path: the file.
        report: called with the number of bytes of every read.
        seekable: whether the reader needs to seek (parquet); a pipe is then spooled to disk.

    Raises:
        InputError: no such file, or one that cannot be read or decompressed.
    """
    if path != PIPE and not Path(path).is_file():
        problem = "is a folder" if Path(path).is_dir() else "does not exist"
        raise InputError(f"The input {path!r} {problem}: give the path of a file, or - for a pipe.")
    if path == PIPE and sys.stdin is None:
        raise InputError("Standard input is closed: give the path of a file.")
    try:
        with contextlib.ExitStack() as stack:
            raw = sys.stdin.buffer if path == PIPE else stack.enter_context(Path(path).open("rb"))
            suffix = Path(path).suffix.lower()
            stream = cast("BinaryIO", io.BufferedReader(_CountingReader(raw, report), 1 << 20))
            if suffix == ".gz":
                stream = cast("BinaryIO", stack.enter_context(gzip.GzipFile(fileobj=stream)))
            elif suffix == ".zst":
                import pyarrow as pa

                stream = stack.enter_context(pa.CompressedInputStream(pa.PythonFile(stream, mode="r"), "zstd"))
            if seekable and (path == PIPE or suffix in {".gz", ".zst"}):
                spool = stack.enter_context(tempfile.TemporaryFile())
                shutil.copyfileobj(stream, spool)
                spool.seek(0)
                stream = cast("BinaryIO", spool)
            yield stream
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise InputError(
            f"The input {path!r} is not valid gzip data: {error}. Compress it again, or rename it."
        ) from None
    except OSError as error:
        if error.errno is not None or Path(path).suffix.lower() != ".zst":
            raise
        reason = " ".join(str(error).split())
        raise InputError(
            f"The input {path!r} is not valid zst data: {reason}. Compress it again, or rename it."
        ) from None


class Outputs(list[BinaryIO]):
    """The streams of outputs that are being written, in the order of their paths; see `open_outputs`."""

    def __init__(self, streams: "Iterable[tuple[BinaryIO, Part | None]]") -> None:
        pairs = list(streams)
        super().__init__(stream for stream, _ in pairs)
        self._parts = [part for _, part in pairs]

    def hash(self, index: int) -> bytes:
        """SHA-256 of one output as it will be on disk, or go to standard output; it takes no more bytes then."""
        part = self._parts[index]
        if part is not None:
            part.complete()
            return hash_file(part.path)
        self[index].seek(0)
        return hashlib.file_digest(cast("io.BufferedRandom", self[index]), "sha256").digest()


@contextlib.contextmanager
def open_outputs(
    *paths: str, force: bool, owner_only: Collection[str] = (), remove: str | None = None, compress: bool = True
) -> Iterator[Outputs]:
    """Open outputs that appear together, whole, when the block ends well; otherwise nothing is left.

    Args:
        paths: files, in the order in which they appear, or ``-`` for standard output, which is written only when all
            is known.
        force: overwrite files that exist; a new file has the mode of the one that it replaces.
        owner_only: those of the paths that hold facts about the private text, or a key. Nobody but their owner can ever
            open them, whatever the mode of a file that they replace.
        remove: a file that must not be there beside the new ones, such as an old signature: it goes before the first
            of them appears.
        compress: outputs are compressed by their endings.

    Raises:
        InputError: a file exists and ``force`` is not set, or its folder does not exist or cannot be written.
    """
    targets = [None if path == PIPE else _check_output(path, force=force) for path in paths]
    if remove is not None:
        _check_output(remove, force=force)
    with contextlib.ExitStack() as stack:
        streams: list[tuple[BinaryIO, Part | None]] = []
        for path, target in zip(paths, targets, strict=True):
            if target is None:
                streams.append((cast("BinaryIO", stack.enter_context(tempfile.TemporaryFile())), None))
            else:
                mode = OWNER_ONLY if path in owner_only else choose_mode(target)
                streams.append(open_part(path, target, mode, stack, compress=compress))
        yield Outputs(streams)
        parts = [part for _, part in streams if part is not None]
        for part in parts:
            part.complete()
        publish_parts(parts, [stream for stream, part in streams if part is None], remove, force=force)


def hash_file(path: Path) -> bytes:
    """Return SHA-256 of a file's bytes.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def check_outputs(
    outputs: Iterable[str | Path],
    inputs: Iterable[str | Path | None] = (),
    *,
    force: bool,
    intermediates: Iterable[str | Path] = (),
) -> None:
    """Raise `InputError` where outputs cannot be written or would destroy what is read, before any work is done.

    Two paths are one file if they are the same behind all links.

    Args:
        outputs: paths; ``-`` is standard output.
        inputs: everything that the run reads: files, and folders with all that is in them; ``-`` is standard input,
            None an option that was not given.
        force: overwrite outputs that exist.
        intermediates: files that the run keeps until it is done, which may exist.

    Raises:
        InputError: an output exists and ``force`` is not set, is not a regular file, its folder is missing or cannot be
            written, two outputs are one file, or an output is read.
    """
    label_of_output: dict[object, str] = {}
    written_paths: dict[Path, str] = {}
    for path in map(str, outputs):
        if path != PIPE:
            _check_output(path, force=force)
        label, identity = "standard output" if path == PIPE else repr(path), _identify_file(path, sys.stdout)
        if identity in label_of_output:
            raise InputError(f"The outputs {label_of_output[identity]} and {label} are the same file: name another.")
        if identity is not None:
            label_of_output[identity] = label
        written_paths[Path(os.path.realpath(path))] = label
    for path in map(str, intermediates):
        label_of_output[_identify_file(path, None)] = written_paths[Path(os.path.realpath(path))] = repr(path)
    for path in [str(path) for path in inputs if path is not None]:
        read_label, folder = "standard input" if path == PIPE else repr(path), Path(os.path.realpath(path))
        read = [label_of_output.get(_identify_file(path, sys.stdin))]
        if path != PIPE and folder.is_dir():
            read += [label for file, label in written_paths.items() if folder in file.parents and file.exists()]
        for label in filter(None, read):
            clarification = "" if label == read_label else f", as {read_label}"
            raise InputError(f"The output {label} is a file that is read{clarification}: choose another name.")


def _identify_file(path: str, standard_stream: TextIO | None) -> object:
    """What a file is known by behind all links: device and inode, its path where there is none; None for a pipe.

    Args:
        path: a path, or ``-`` for a standard stream.
        standard_stream: that stream; it may be a file too.
    """
    with contextlib.suppress(OSError, ValueError, AttributeError):  # no such file, or a stream that is none
        status = Path(path).stat() if path != PIPE else os.fstat(cast("TextIO", standard_stream).fileno())
        if stat.S_ISREG(status.st_mode):
            return status.st_dev, status.st_ino
    return None if path == PIPE else os.path.realpath(path)


def check_stream_name(path: str) -> None:
    """Raise `InputError` for an output that names a stream of the process, which nothing replaces as a whole."""
    if _STREAM_NAME.fullmatch(os.path.normpath(path)):
        raise InputError(
            f"The output {path!r} is a stream, and outputs appear whole: give - for standard output, or the path of a "
            "file."
        )


def _check_output(path: str, *, force: bool) -> Path:
    """Return the path of an output that may be written, behind links, else raise `InputError`."""
    check_stream_name(path)
    target = Path(path)
    if target.is_symlink():
        target = Path(os.path.realpath(target))
    if target.is_dir():
        raise InputError(f"The output {path!r} is a folder: give the path of a file.")
    if target.exists() and not target.is_file():
        raise InputError(f"The output {path!r} is not a regular file: give the path of a file, or - for a pipe.")
    if not target.parent.is_dir():
        raise InputError(f"The folder of the output {path!r} does not exist: create {str(target.parent)!r} first.")
    if target.exists() and not force:
        raise make_existence_error(path)
    if not os.access(target.parent, os.W_OK):
        raise InputError(f"The folder of the output {path!r} cannot be written: choose another folder.")
    return target
