"""Files and pipes: decompression, progress, and outputs that appear whole or not at all."""

import contextlib
import dataclasses
import errno
import gzip
import hashlib
import io
import itertools
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from deniable.core.errors import InputError
from deniable.core.locks import try_lock

PIPE = "-"
"""The path that means standard input or standard output."""
_PART_ENDING = re.compile(r"\.[0-9a-f]{8}\.part")
"""Behind the name of an output and a dot in front of it: the hidden file at which it is written."""


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
                import pyarrow as pa  # noqa: PLC0415 - slow to import, and only .zst needs it

                stream = stack.enter_context(pa.CompressedInputStream(pa.PythonFile(stream, mode="r"), "zstd"))
            if seekable and (path == PIPE or suffix in {".gz", ".zst"}):
                spool = stack.enter_context(tempfile.TemporaryFile())
                shutil.copyfileobj(stream, spool)
                spool.seek(0)
                stream = cast("BinaryIO", spool)
            yield stream
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise InputError(f"The input {path!r} is not valid gzip data: {error}.") from None
    except OSError as error:
        if error.errno is not None or Path(path).suffix.lower() != ".zst":
            raise
        raise InputError(f"The input {path!r} is not valid zst data: {' '.join(str(error).split())}.") from None


@dataclasses.dataclass(frozen=True)
class Seal:
    """A further output, which is a function of the others as they stand in their files.

    Attributes:
        path: of the file.
        encode: returns its content from the SHA-256 digests of the other outputs, in their order.
    """

    path: str
    encode: Callable[[Sequence[bytes]], bytes]


@dataclasses.dataclass(frozen=True)
class NoSeal:
    """Outputs without a seal: that of earlier ones is removed before any of these has its name.

    Attributes:
        path: where their seal would be.
        is_seal: returns whether the file there is a seal; any other stays.
    """

    path: str
    is_seal: Callable[[Path], bool]

    def find_stale(self) -> Path | None:
        """Return the path of the seal of earlier outputs, None where there is none."""
        path = Path(self.path)
        return path if self.is_seal(path) else None


@contextlib.contextmanager
def open_outputs(
    *paths: str, force: bool, owner_only: Collection[str] = (), seal: Seal | NoSeal | None = None
) -> Iterator[list[BinaryIO]]:
    """Open outputs that appear together, whole, when the block ends well; otherwise nothing is left.

    Args:
        paths: files, compressed by their endings, or ``-`` for standard output, which is written
            only when all is known.
        force: overwrite files that exist; a new file has the mode of the one that it replaces.
        owner_only: those of the paths that hold facts about the private text. Nobody but their owner can ever open
            them, whatever the mode of a file that they replace.
        seal: made of the outputs when they are complete; it appears together with them. Or the seal that they lack: no
            output ever stands beside that of earlier ones.

    Raises:
        InputError: a file exists and ``force`` is not set, or its folder does not exist or cannot be written.
    """
    targets = [None if path == PIPE else _check_output(path, force=force) for path in paths]
    if isinstance(seal, NoSeal) and (stale_seal := seal.find_stale()) is not None:
        _check_output(str(stale_seal), force=force)
    seal_target = _check_output(seal.path, force=force) if isinstance(seal, Seal) else None
    partial_paths = [target and _name_partial_path(target) for target in targets]
    with contextlib.ExitStack() as spool_stack, contextlib.ExitStack() as cleanup_stack:
        for partial_path, target in zip(partial_paths, targets, strict=True):
            if partial_path is not None and target is not None:
                _remove_dead_parts(target)
                cleanup_stack.callback(partial_path.unlink, missing_ok=True)
        with contextlib.ExitStack() as stack:
            streams = [
                stack.enter_context(_create_output(partial_path, target, spool_stack, owner_only=path in owner_only))
                if partial_path is not None and target is not None
                else cast("BinaryIO", spool_stack.enter_context(tempfile.TemporaryFile()))
                for path, partial_path, target in zip(paths, partial_paths, targets, strict=True)
            ]
            yield streams
        complete_files = list(zip(partial_paths, targets, strict=True))
        if isinstance(seal, Seal) and seal_target is not None:
            seal_path = _name_partial_path(seal_target)
            cleanup_stack.callback(seal_path.unlink, missing_ok=True)
            digests = [_hash_output(path, stream) for path, stream in zip(partial_paths, streams, strict=True)]
            with _create_output(seal_path, seal_target, spool_stack, owner_only=False) as seal_file:
                seal_file.write(seal.encode(digests))
            complete_files.insert(0, (seal_path, seal_target))
        spools = [stream for path, stream in zip(partial_paths, streams, strict=True) if path is None]
        _publish_outputs(complete_files, spools, seal if isinstance(seal, NoSeal) else None)


def _publish_outputs(
    complete_files: Sequence[tuple[Path | None, Path | None]], spools: Sequence[BinaryIO], unsealed: NoSeal | None
) -> None:
    """Send what waits for standard output, then give the complete files their names.

    Args:
        complete_files: partial path and final path of each file; None for standard output.
        spools: what waits for standard output.
        unsealed: the seal that the files lack.
    """
    for spool in spools:
        spool.seek(0)
        shutil.copyfileobj(spool, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    if unsealed is not None and (stale_seal := unsealed.find_stale()) is not None:
        stale_seal.unlink()
    folders: dict[Path, None] = {}
    for partial_path, target in complete_files:
        if partial_path is not None and target is not None:
            partial_path.replace(target)
            folders[target.parent] = None
    for folder in folders:
        sync_folder(folder)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder safe on disk, where the system can."""
    with contextlib.suppress(PermissionError):  # Windows opens no folders
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # a file system that does not sync folders
                raise
        finally:
            os.close(descriptor)


def _remove_dead_parts(target: Path) -> None:
    """Remove what runs that were killed have left of an output: files whose writers no longer hold their locks."""
    prefix = f".{target.name}"
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(target.parent)):
            is_part = entry.name.startswith(prefix) and _PART_ENDING.fullmatch(entry.name, len(prefix))
            if is_part and entry.is_file(follow_symlinks=False):
                _remove_if_dead(Path(entry.path))


def _remove_if_dead(part: Path) -> None:
    """Remove a file unless another process holds its lock, or nobody can tell."""
    with contextlib.suppress(OSError):
        descriptor = os.open(part, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        try:
            if try_lock(descriptor):
                part.unlink()
        finally:
            os.close(descriptor)


def _create_part(part: Path, mode: int, lock_stack: contextlib.ExitStack) -> int:
    """Return the descriptor of a new file under a lock, by which no other run takes it for one of a dead run.

    Args:
        part: where it is written.
        mode: of the file, before the umask.
        lock_stack: holds the lock, until the file has its final name.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    while True:
        descriptor = os.open(part, flags, mode)
        is_locked = try_lock(descriptor)
        if is_locked is None:
            return descriptor
        if is_locked and os.fstat(descriptor).st_nlink:
            lock_stack.callback(os.close, os.dup(descriptor))  # both descriptors share the lock
            return descriptor
        os.close(descriptor)  # another run took it for a dead one before it was locked
        part.unlink(missing_ok=True)


def _name_partial_path(target: Path) -> Path:
    """Return the hidden path beside an output at which it is written."""
    return target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")


def _hash_output(partial_path: Path | None, stream: BinaryIO) -> bytes:
    """Return SHA-256 of a complete output: of its file, compressed as it is, or of what waits for standard output."""
    if partial_path is not None:
        return hash_file(partial_path)
    stream.seek(0)
    return hashlib.file_digest(cast("io.BufferedRandom", stream), "sha256").digest()


def hash_file(path: Path) -> bytes:
    """Return SHA-256 of a file's bytes.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


@contextlib.contextmanager
def _create_output(
    partial_path: Path, target: Path, lock_stack: contextlib.ExitStack, *, owner_only: bool
) -> Iterator[BinaryIO]:
    """Open a new file for writing, compressed by the suffix of its final name, safe on disk at the end."""
    mode = stat.S_IMODE(target.stat().st_mode) & 0o777 if target.exists() and not owner_only else None
    # Whoever opens a file while its mode is wide can read on when it no longer is.
    is_restricted = owner_only or mode is not None
    with contextlib.ExitStack() as stack:
        descriptor = _create_part(partial_path, 0o600 if is_restricted else 0o666, lock_stack)
        raw = stack.enter_context(open(descriptor, "wb"))  # noqa: PTH123
        if target.suffix.lower() == ".gz":
            yield cast("BinaryIO", stack.enter_context(gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0)))
        elif target.suffix.lower() == ".zst":
            import pyarrow as pa  # noqa: PLC0415 - slow to import, and only .zst needs it

            yield stack.enter_context(pa.CompressedOutputStream(pa.PythonFile(raw, mode="w"), "zstd"))
        else:
            yield raw
    with partial_path.open("rb+") as written_file:
        os.fsync(written_file.fileno())
    if mode is not None:
        partial_path.chmod(mode)


def find_free_path(path: str) -> str:
    """Return a path at which nothing is: the path itself, or one with a number before its endings, from 2 on."""
    if not os.path.lexists(path):
        return path
    target = Path(path)
    stem, dot, endings = target.name.partition(".") if not target.name.startswith(".") else (target.name, "", "")
    candidates = (target.with_name(f"{stem}-{number}{dot}{endings}") for number in itertools.count(2))
    return next(str(candidate) for candidate in candidates if not os.path.lexists(candidate))


def check_outputs(
    outputs: Iterable[str | Path],
    inputs: Iterable[str | Path | None] = (),
    *,
    force: bool,
    intermediates: Iterable[str | Path] = (),
) -> None:
    """Raise `InputError` where outputs cannot be written or would destroy what is read, before any work is done.

    Two paths are one file if they are the same behind all symbolic links, or have one device and inode (hard links).

    Args:
        outputs: paths; ``-`` is standard output.
        inputs: everything that the run reads: files, and folders with all that is in them; ``-`` is standard input,
            None an option that was not given.
        force: overwrite outputs that exist.
        intermediates: files that the run keeps until it is done, which may exist.

    Raises:
        InputError: an output exists and ``force`` is not set, is no regular file, its folder is missing or cannot be
            written, two outputs are one file, or an output is read.
    """
    label_of_output: dict[_Identity, str] = {}
    for path in map(str, outputs):
        if path != PIPE:
            _check_output(path, force=force)
        identities = _identify_file(path, sys.stdout)
        label = "standard output" if path == PIPE else repr(path)
        for identity in identities & label_of_output.keys():
            raise InputError(f"The outputs {label_of_output[identity]} and {label} are one file: name another.")
        label_of_output |= dict.fromkeys(identities, label)
    for path in map(str, intermediates):
        label_of_output |= dict.fromkeys(_identify_file(path, None), repr(path))
    for path in [str(path) for path in inputs if path is not None]:
        identities = _identify_folder(path) if path != PIPE and Path(path).is_dir() else _identify_file(path, sys.stdin)
        label = "standard input" if path == PIPE else repr(path)
        for identity in identities & label_of_output.keys():
            clarification = "" if label_of_output[identity] == label else f", as {label}"
            raise InputError(
                f"The output {label_of_output[identity]} is a file that is read{clarification}: choose another name."
            )


_Identity = Path | tuple[int, int]


def _identify_file(path: str, standard_stream: TextIO | None) -> set[_Identity]:
    """Return what a file is known by: its path behind all links, and where it exists device and inode.

    Args:
        path: a path, or ``-`` for a standard stream.
        standard_stream: that stream; it may be a file too.
    """
    identities: set[_Identity] = set() if path == PIPE else {Path(os.path.realpath(path))}
    with contextlib.suppress(OSError, ValueError, AttributeError):  # no such file, or a stream that is none
        file_stat = Path(path).stat() if path != PIPE else os.fstat(cast("TextIO", standard_stream).fileno())
        if stat.S_ISREG(file_stat.st_mode):
            identities.add((file_stat.st_dev, file_stat.st_ino))
    return identities


def _identify_folder(folder: str) -> set[_Identity]:
    """Return device and inode of every file in a folder and in those below it, behind links too."""
    identities: set[_Identity] = set()
    visited: set[tuple[int, int]] = set()
    for root, folders, names in os.walk(folder, followlinks=True):
        folder_stat = Path(root).stat()
        if (folder_stat.st_dev, folder_stat.st_ino) in visited:  # links may go in circles
            folders.clear()
            continue
        visited.add((folder_stat.st_dev, folder_stat.st_ino))
        for name in names:
            identities |= {
                identity for identity in _identify_file(str(Path(root, name)), None) if isinstance(identity, tuple)
            }
    return identities


def _check_output(path: str, *, force: bool) -> Path:
    """Return the path of an output that may be written, behind links, else raise `InputError`."""
    target = Path(path)
    if target.is_symlink():
        target = Path(os.path.realpath(target))
    if target.is_dir():
        raise InputError(f"The output {path!r} is a folder: give the path of a file.")
    if target.exists() and not target.is_file():
        raise InputError(f"The output {path!r} is no regular file: give the path of a file, or - for a pipe.")
    if not target.parent.is_dir():
        raise InputError(f"The folder of the output {path!r} does not exist: create {str(target.parent)!r} first.")
    if target.exists() and not force:
        raise InputError(f"The output {path!r} exists: choose another name, or overwrite it with --force.")
    if not os.access(target.parent, os.W_OK):
        raise InputError(f"The folder of the output {path!r} cannot be written: choose another one.")
    return target
