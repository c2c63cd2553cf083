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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from deniable.core.contents import GZIP_MAGIC, START_BYTES, ZSTD_MAGIC, describe_content
from deniable.core.errors import InputError
from deniable.core.locks import try_lock

_PUBLISHED: ContextVar[list[str] | None] = ContextVar("published", default=None)

PIPE = "-"
"""The path that means standard input or standard output."""
_STREAM_NAME = re.compile(r"/dev/(stdin|stdout|stderr|fd/\d+)|/proc/(self|thread-self|\d+)/fd/\d+")
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
            _check_compression(path, suffix)
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
        raise InputError(f"The input {path!r} is not valid gzip data: {error}. Compress it again.") from None
    except OSError as error:
        if error.errno is not None or Path(path).suffix.lower() != ".zst":
            raise
        raise InputError(
            f"The input {path!r} is not valid zst data: {' '.join(str(error).split())}. Compress it again."
        ) from None


def _check_compression(path: str, suffix: str) -> None:
    """Raise `InputError` for a file that is not compressed as its name says."""
    magic = {".gz": GZIP_MAGIC, ".zst": ZSTD_MAGIC}.get(suffix)
    if magic is None or path == PIPE:
        return
    with Path(path).open("rb") as file:
        start = file.read(START_BYTES)
    content = None if start.startswith(magic) else describe_content(start)
    if content is not None:
        kind = suffix.removeprefix(".").replace("gz", "gzip")
        raise InputError(
            f"The input {path!r} is not valid {kind} data: it holds {content[0]}. Rename it as what it is."
        )


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
                cleanup_stack.callback(_remove_file, partial_path)
        with contextlib.ExitStack() as stack:
            streams = [
                stack.enter_context(_create_output(partial_path, target.suffix, spool_stack))
                if partial_path is not None and target is not None
                else cast("BinaryIO", spool_stack.enter_context(tempfile.TemporaryFile()))
                for partial_path, target in zip(partial_paths, targets, strict=True)
            ]
            yield streams
        complete_files = [
            _CompleteFile(path, partial_path, target, _choose_mode(target, owner_only=path in owner_only))
            for path, partial_path, target in zip(paths, partial_paths, targets, strict=True)
            if partial_path is not None and target is not None
        ]
        if isinstance(seal, Seal) and seal_target is not None:
            seal_path = _name_partial_path(seal_target)
            cleanup_stack.callback(_remove_file, seal_path)
            digests = [_hash_output(path, stream) for path, stream in zip(partial_paths, streams, strict=True)]
            with _create_output(seal_path, seal_target.suffix, spool_stack) as seal_file:
                seal_file.write(seal.encode(digests))
            mode = _choose_mode(seal_target, owner_only=False)
            complete_files.insert(0, _CompleteFile(seal.path, seal_path, seal_target, mode))
        spools = [stream for path, stream in zip(partial_paths, streams, strict=True) if path is None]
        _publish_outputs(complete_files, spools, seal if isinstance(seal, NoSeal) else None, spool_stack)


@dataclasses.dataclass(frozen=True)
class _CompleteFile:
    """An output that is written, and waits for its name.

    Attributes:
        path: as it was given.
        partial_path: where it is.
        target: where it goes.
        mode: who can open it, once it is there.
    """

    path: str
    partial_path: Path
    target: Path
    mode: int


@contextlib.contextmanager
def record_published(paths: list[str]) -> Iterator[None]:
    """Within this context a list gets the path of every output at the moment when it is there for good."""
    token = _PUBLISHED.set(paths)
    try:
        yield
    finally:
        _PUBLISHED.reset(token)


def _publish_outputs(
    files: Sequence[_CompleteFile],
    spools: Sequence[BinaryIO],
    unsealed: NoSeal | None,
    lock_stack: contextlib.ExitStack,
) -> None:
    """Give complete files their names, all of them or none, and send what waits for standard output.

    What stands in the place of one of several files is put aside before, the last one first, and so is a seal of what
    stood there: whenever the process ends, no old table or seal is there beside a new certificate.

    Args:
        files: in the order in which they appear.
        spools: what waits for standard output.
        unsealed: the seal that the files lack.
        lock_stack: holds the locks of what is put aside, which no other run then takes for what a dead run has left.
    """
    stale_seal = None if unsealed is None else unsealed.find_stale()
    is_single = len(files) + len(spools) == 1 and stale_seal is None
    replaced = [file.target for file in files if not is_single and file.target.exists()]
    replaced += [] if stale_seal is None else [stale_seal]
    backups = {target: _name_partial_path(target) for target in replaced}
    published, paths = _PUBLISHED.get(), [file.path for file in files]
    published = [] if published is None else published
    try:
        for target in backups:
            _lock_file(target, lock_stack)
        _move_into_place(files, backups)
        for spool in spools:
            spool.seek(0)
            shutil.copyfileobj(spool, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        published += paths  # from here on they are there for good
    except BaseException:
        if is_single:
            published += [file.path for file in files if not os.path.lexists(file.partial_path)]
        elif published[-len(paths) :] != paths or not paths:
            _withdraw_outputs(files, backups)
        raise
    finally:
        if published[-len(paths) :] == paths:
            _remove_files(backups.values())


def _lock_file(path: Path, lock_stack: contextlib.ExitStack) -> None:
    """Lock a file, where that can be done, whatever name it gets."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        lock_stack.callback(os.close, descriptor)
        try_lock(descriptor)


def _move_into_place(files: Sequence[_CompleteFile], backups: Mapping[Path, Path]) -> None:
    """Put aside what stands in the way, the last one first, and give files their names, safe on disk."""
    for target, backup in reversed(list(backups.items())):
        target.replace(backup)
    for file in files:
        file.partial_path.replace(file.target)
    for file in files:
        if stat.S_IMODE(file.target.stat().st_mode) != file.mode:
            file.target.chmod(file.mode)
    for folder in dict.fromkeys(file.target.parent for file in files):
        sync_folder(folder)


def _withdraw_outputs(files: Sequence[_CompleteFile], backups: Mapping[Path, Path]) -> None:
    """Remove files that have appeared, the last one first, and put back what stood there, the first one first.

    What cannot be put back stays in its backup.
    """
    for file in reversed(files):
        is_replaced = file.target not in backups or os.path.lexists(backups[file.target])
        if is_replaced and not os.path.lexists(file.partial_path):
            _remove_file(file.target)
    for target, backup in backups.items():
        with contextlib.suppress(OSError):
            backup.replace(target)
        if os.path.lexists(backup):
            with contextlib.suppress(OSError):  # a link may succeed where a new name is refused
                os.link(backup, target)
                backup.unlink()


def _remove_file(path: Path) -> None:
    """Remove a file, where it is there and can be removed."""
    with contextlib.suppress(OSError):
        path.unlink()


def _remove_files(paths: Iterable[Path]) -> None:
    """Remove files, also where an interruption comes between two of them."""
    with contextlib.ExitStack() as stack:
        for path in paths:
            stack.callback(_remove_file, path)


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
def _create_output(partial_path: Path, suffix: str, lock_stack: contextlib.ExitStack) -> Iterator[BinaryIO]:
    """Open a new file for writing, compressed by the suffix of its final name, safe on disk at the end.

    Nobody but its owner can open it: it is not yet what others may read, and whoever opens a file while its mode is
    wide can read on when it no longer is.
    """
    with contextlib.ExitStack() as stack:
        raw = stack.enter_context(open(_create_part(partial_path, 0o600, lock_stack), "wb"))
        if suffix.lower() == ".gz":
            yield cast("BinaryIO", stack.enter_context(gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0)))
        elif suffix.lower() == ".zst":
            import pyarrow as pa  # noqa: PLC0415 - slow to import, and only .zst needs it

            yield stack.enter_context(pa.CompressedOutputStream(pa.PythonFile(raw, mode="w"), "zstd"))
        else:
            yield raw
    with partial_path.open("rb+") as written_file:
        os.fsync(written_file.fileno())


def _choose_mode(target: Path, *, owner_only: bool) -> int:
    """Return who can open an output: its owner alone, whoever can open what it replaces, or whom the umask allows."""
    if owner_only:
        return 0o600
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode) & 0o777
    umask = os.umask(0o077)
    os.umask(umask)
    return 0o666 & ~umask


@dataclasses.dataclass(frozen=True)
class NewFile:
    """A small file that does not exist yet.

    Attributes:
        path: of the file.
        content: of it.
        mode: who can open it, where the umask allows that; nobody but its owner by default.
    """

    path: Path
    content: bytes
    mode: int = 0o600


def create_files(*files: NewFile) -> None:
    """Write files that do not exist yet, all of them or none, each whole whenever the process ends.

    Raises:
        FileExistsError: one exists.
        OSError: one cannot be written.
    """
    for file in files:
        if os.path.lexists(file.path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(file.path))
    partial_paths = [_name_partial_path(file.path) for file in files]
    published, paths = _PUBLISHED.get(), [str(file.path) for file in files]
    published = [] if published is None else published
    try:
        for partial_path, file in zip(partial_paths, files, strict=True):
            _write_new_file(partial_path, file)
        for partial_path, file in zip(partial_paths, files, strict=True):
            _give_free_name(partial_path, file.path)
        published += paths
    except BaseException:
        if published[-len(paths) :] != paths:
            _remove_named_files(partial_paths, files)
        raise
    finally:
        _remove_files(partial_paths)


def _write_new_file(partial_path: Path, file: NewFile) -> None:
    """Write the content of a file, safe on disk at the end."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with open(os.open(partial_path, flags, file.mode), "wb") as stream:  # noqa: PTH123 - a descriptor
        stream.write(file.content)
        stream.flush()
        os.fsync(stream.fileno())


def _give_free_name(partial_path: Path, path: Path) -> None:
    """Give a file a name that is not taken, else raise `FileExistsError`."""
    try:
        os.link(partial_path, path)  # which fails where the name is taken, unlike a replacement
    except FileExistsError as error:
        raise FileExistsError(error.errno, error.strerror, str(path)) from None
    except OSError:  # a file system without links
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            partial_path.replace(path)
        except BaseException:
            _remove_file(path)
            raise


def _remove_named_files(partial_paths: Sequence[Path], files: Sequence[NewFile]) -> None:
    """Remove those files that have got their names."""
    for partial_path, file in zip(partial_paths, files, strict=True):
        with contextlib.suppress(OSError):
            if not os.path.lexists(partial_path) or file.path.samefile(partial_path):
                file.path.unlink()


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
        raise InputError(f"The output {path!r} is no regular file: give the path of a file, or - for a pipe.")
    if not target.parent.is_dir():
        raise InputError(f"The folder of the output {path!r} does not exist: create {str(target.parent)!r} first.")
    if target.exists() and not force:
        raise InputError(f"The output {path!r} exists: choose another name, or overwrite it with --force.")
    if not os.access(target.parent, os.W_OK):
        raise InputError(f"The folder of the output {path!r} cannot be written: choose another one.")
    return target
