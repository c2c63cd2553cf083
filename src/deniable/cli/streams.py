"""The three standard streams, whatever state the caller left them in: closed, full, or of a narrow encoding."""

import contextlib
import io
import os
import sys
from pathlib import Path
from typing import Any

from deniable.core.errors import DeniableError

_STDERR_DESCRIPTOR = 2
"""Descriptor of standard error, the largest of the three standard streams."""


class _ClosedStdout(io.RawIOBase):
    """In place of a standard output that is closed: what is written to it would be lost."""

    def writable(self) -> bool:
        return True

    def write(self, _: object, /) -> int:
        raise DeniableError("Standard output is closed, and what belongs there is lost: open it, or use /dev/null.")


class _TolerantStderr(io.FileIO):
    """Standard error: what cannot be written there is lost, and changes neither outcome nor exit code."""

    def write(self, data: Any, /) -> int:  # noqa: ANN401 - any buffer
        with contextlib.suppress(OSError):
            return super().write(data) or 0
        return len(memoryview(data))


def prepare_streams() -> None:
    """Make messages about any file name printable, and do without a stream that is closed."""
    _occupy_descriptors()
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(_ClosedStdout(), encoding="utf-8", write_through=True)
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - for the whole process
    elif sys.__stderr__ is not None and sys.stderr is sys.__stderr__:
        sys.stderr = io.TextIOWrapper(
            _TolerantStderr(sys.stderr.fileno(), "w", closefd=False), encoding=sys.stderr.encoding, write_through=True
        )
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _occupy_descriptors() -> None:
    """Let no file that is opened later take the number of a standard stream, and with it what libraries print there."""
    descriptor = os.open(os.devnull, os.O_RDWR)
    while descriptor <= _STDERR_DESCRIPTOR:
        descriptor = os.open(os.devnull, os.O_RDWR)
    os.close(descriptor)
