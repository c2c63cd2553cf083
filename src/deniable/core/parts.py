"""The hidden files at which outputs are written, until all of them get their names or none does."""

import contextlib
import dataclasses
import errno
import glob
import gzip
import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO, cast

from deniable.core.errors import InputError

_PART_NAME = re.compile(r"\.(\d{1,9})\.[0-9a-f]{8}\.part")
"""Suffix of the hidden temporary file of an output, with the process that writes it: .NAME.<process>.<8 hex>.part."""
OWNER_ONLY = 0o600
_PUBLISHED: ContextVar[list[str] | None] = ContextVar("published", default=None)


@dataclasses.dataclass(frozen=True, eq=False)
class Part:
    """The hidden file beside an output at which it is written.

    Attributes:
        name: path of the output, as it was given.
        target: the same behind links.
        path: of the hidden file.
        mode: who can open the output.
        identity: device and inode of the file.
        closing: closes the stream and what it writes to.
    """

    name: str
    target: Path
    path: Path
    mode: int
    identity: tuple[int, int]
    closing: contextlib.ExitStack

    def complete(self) -> None:
        """Close the stream, and make the file safe on disk."""
        self.closing.close()
        with self.path.open("rb+") as file:
            os.fsync(file.fileno())

    def give_name(self, *, force: bool) -> None:
        """Give the file its final name; without force it takes no name that another one has got by now."""
        if not force:
            try:
                os.link(self.path, self.target)
            except FileExistsError:
                raise make_existence_error(self.name) from None
            except OSError:  # a file system without links
                force = True
        if force:
            self.path.replace(self.target)
        if self.mode != OWNER_ONLY:
            self.target.chmod(self.mode)

    def withdraw(self) -> None:
        """Take the final name away again, where the file has it."""
        if self.has_name():
            _remove_file(self.target)

    def has_name(self) -> bool:
        """Whether the file is there under its final name."""
        try:
            status = self.target.lstat()
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self.identity


def open_part(
    name: str, target: Path, mode: int, stack: contextlib.ExitStack, *, compress: bool
) -> tuple[BinaryIO, Part]:
    """The stream of an output and its hidden file, which is gone when a stack ends."""
    _remove_dead_parts(target)
    path = _hide_path(target)
    stack.callback(_remove_file, path)
    closing = stack.enter_context(contextlib.ExitStack())
    raw = closing.enter_context(_create_file(path))
    status = os.fstat(raw.fileno())
    part = Part(name, target, path, mode, (status.st_dev, status.st_ino), closing)
    suffix = target.suffix.lower() if compress else ""
    if suffix == ".gz":
        zipped = closing.enter_context(gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0))
        return cast("BinaryIO", zipped), part
    if suffix == ".zst":
        import pyarrow as pa

        return closing.enter_context(pa.CompressedOutputStream(pa.PythonFile(raw, mode="w"), "zstd")), part
    return raw, part


def publish_parts(parts: Sequence[Part], spools: Sequence[BinaryIO], remove: str | None, *, force: bool) -> None:
    """Give complete outputs their names, all of them or none, and send what waits for standard output.

    What several files replace is put aside before, the last one first: whenever the process ends, no old table or
    signature is there beside a new certificate. A single file replaces the old one in one step.
    """
    stale = [] if remove is None else [Path(remove)]
    is_single = len(parts) + len(spools) + len(stale) == 1
    old = [*stale, *(part.target for part in reversed(parts))] if force and not is_single else []
    asides = {path: _hide_path(path, ".old") for path in old if os.path.lexists(path)}
    try:
        with contextlib.ExitStack() as undo:
            for path, aside in asides.items():
                undo.callback(_rename_back, aside, path)
                path.replace(aside)
            for part in parts:
                if not is_single:
                    undo.callback(part.withdraw)
                part.give_name(force=force)
            for folder in {part.target.parent for part in parts}:
                _sync_folder(folder)
            for spool in spools:
                spool.seek(0)
                shutil.copyfileobj(spool, sys.stdout.buffer)
                sys.stdout.buffer.flush()
            undo.pop_all()
    finally:
        published = _PUBLISHED.get()
        if published is not None:
            published += [part.name for part in parts if part.has_name()]
    with contextlib.ExitStack() as cleanup:  # which goes on where an interruption comes between two of them
        for aside in asides.values():
            cleanup.callback(_remove_file, aside)


def _rename_back(aside: Path, path: Path) -> None:
    """Put back what was put aside; where that fails it stays in its hidden file."""
    with contextlib.suppress(OSError):
        aside.replace(path)


@contextlib.contextmanager
def record_published(paths: list[str]) -> Iterator[None]:
    """Within this context a list gets the path of every output that is there for good."""
    token = _PUBLISHED.set(paths)
    try:
        yield
    finally:
        _PUBLISHED.reset(token)


def write_whole(path: Path, *pieces: bytes | memoryview) -> None:
    """Write a file that nobody but its owner can open, in place of what is there, whole or not at all.

    Raises:
        OSError: it cannot be written.
    """
    part = _hide_path(path)
    try:
        with _create_file(part) as stream:
            stream.writelines(pieces)
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(path)
        _sync_folder(path.parent)
    finally:
        _remove_file(part)


def _hide_path(target: Path, mark: str = "") -> Path:
    """A hidden path beside a file: that of its temporary file, or of the file that is put aside for it."""
    return target.with_name(f".{target.name}.{os.getpid()}.{secrets.token_hex(4)}{mark}.part")


def _create_file(path: Path) -> BinaryIO:
    """A new file, open for writing.

    Nobody but its owner can open it: it is not yet what others may read, and whoever opens a file while its mode is
    wide can read on when it no longer is.
    """
    return open(path, "xb", opener=lambda name, flags: os.open(name, flags, OWNER_ONLY))


def choose_mode(target: Path) -> int:
    """Who can open an output: whoever can open what it replaces, or whom the umask allows."""
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode) & 0o777
    umask = os.umask(0o077)
    os.umask(umask)
    return 0o666 & ~umask


def _remove_file(path: Path) -> None:
    """Remove a file, where it is there and can be removed."""
    with contextlib.suppress(OSError):
        path.unlink()


def _remove_dead_parts(target: Path) -> None:
    """Remove what killed runs have left of an output: temporary files whose processes have ended, on this machine."""
    for part in target.parent.glob(f".{glob.escape(target.name)}.*.part"):
        match = _PART_NAME.fullmatch(part.name, len(target.name) + 1)
        if match is not None and os.name == "posix":
            try:
                os.kill(int(match[1]), 0)
            except ProcessLookupError:
                _remove_file(part)
            except PermissionError:
                pass  # it belongs to another user


def _sync_folder(folder: Path) -> None:
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


def make_existence_error(path: str) -> InputError:
    """The error for an output that exists, and is not to be replaced."""
    return InputError(f"The output {path!r} exists: choose another name, or overwrite it with --force.")
