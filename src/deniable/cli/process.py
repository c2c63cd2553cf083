"""The process of a command: standard streams, memory, and what every end of it says and returns.

Exit codes: 0, 1 (a claim is refuted, or a budget exceeded) and 2 (could not run, with one line on standard error that
says what is wrong and how to fix it).
"""

import contextlib
import ctypes
import errno
import io
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from deniable.cli.terminal import say
from deniable.core.errors import BudgetExceeded, DeniableError, InputError, escape_unprintable, is_interruption

EXIT_REFUTED = 1
"""A claim is refuted, or a budget exceeded."""
EXIT_COULD_NOT_RUN = 2

_INTERRUPTED = 130
"""What typer returns in place of a KeyboardInterrupt."""
_BROKEN_PIPE = 1
"""With what typer exits where the reader of standard output went away."""
_READER_LEFT = "the reader of the output went away."
_STDERR_DESCRIPTOR = 2
"""Descriptor of standard error, the largest of the three standard streams."""
_BASE_MEGABYTES, _MEGABYTES_PER_CORE = 2_000, 250
"""Address space of the interpreter with its libraries, and of the threads that these start."""
_ARENA_MAX = -8
"""Option of glibc's `mallopt`: in how many places threads keep what they have freed."""
_MEMORY_SIGNS = (
    "can't start new thread",
    "failed to map segment",
    "cannot allocate memory",
    "can't allocate memory",
    "unable to allocate",
    "out of memory",
    "not enough memory",
)
"""What errors of other kinds say where memory is meant."""
_USAGE_WORDINGS = (
    ("Value error, ", ""),
    (r"'([^' ]+)' / '[^' ]+'", r"'\1'"),  # the short name of an option
    (r"^No such option: (\S+) \(Possible options: (.+)\)$", r"There is no option \1. Did you mean \2?"),
    (r"^No such option: (\S+)$", r"There is no option \1: leave it out, or correct it"),
    (r"^No such command '(\S+)'$", r"There is no command '\1': correct it"),
    (r"^No such command ", "There is no command "),
    (r"^Missing (?:option|argument) '(\S+)'$", r"\1 is missing: give it"),
    (r"^Missing (?:option|argument) '(\S+)'\. Choose from:\s*", r"\1 is missing: give one of "),
    (r"^Got unexpected extra arguments?(?:\(s\))? \((.+)\)$", r"There is no place for \1: leave it out"),
    (r"^Option '(\S+)' requires an argument$", r"\1 needs a value: give it"),
    (r"^Option '(\S+)' requires (\d+) arguments$", r"\1 needs \2 values: give them"),
    (r"^Option '(\S+)' does not take a value$", r"\1 takes no value: leave it out"),
    (r"^Invalid value for '(\S+)': (?=Input should be )", r"\1: "),
    (r"^Invalid value for '(\S+)': '(.*)' is not one of (.+)$", r"\1 must be one of \3. Got '\2'"),
    (r" must be one of ('[^']+')\. Got", r" must be \1. Got"),
    (r": Input should be greater than or equal to ", " must be at least "),
    (r": Input should be less than or equal to ", " must be at most "),
    (r": Input should be a valid integer\b.*$", " must be a whole number"),
    (r": Input should be a valid number\b.*$", " must be a number"),
    (r": Input should be ", " must be "),
)
"""What typer and pydantic say of the options that are wrong, and how it reads here."""
_WRITTEN: list[str] = []
"""Outputs of the command that runs which are complete and in their places."""
_STREAMED: list[str] = []
"""Its outputs that may be written in part: standard output."""


def run_command(command: Callable[[], int | None]) -> int:
    """Run a command of typer and return the exit code; every expected failure is one line on standard error."""
    _prepare_streams()
    _share_freed_memory()
    forget_outputs()
    from deniable.core.parts import record_published

    try:
        with record_published(_WRITTEN):
            code = command()
    except SystemExit as end:
        if end.code == _BROKEN_PIPE:
            return _print_failure(_READER_LEFT)
        return int(end.code or 0)  # shell completion
    except (DeniableError, OSError, MemoryError) as error:  # also where an interruption led to it
        return _report_error(error)
    except BaseException as error:  # noqa: BLE001 - told apart there
        if type(error).__name__ != "Abort" and not is_interruption(error):
            return _report_error(error)
        code = _INTERRUPTED
    if code == _INTERRUPTED:
        return _print_failure(f"interrupted: {describe_outputs()}.")
    return EXIT_REFUTED if code == EXIT_REFUTED else 0


def _report_error(error: BaseException) -> int:
    """Print what an error says, and return its exit code."""
    if hasattr(error, "format_message"):  # of typer's errors of usage, which have no public base class
        return _report_usage_error(error)
    if os.environ.get("DENIABLE_TRACEBACK") and not isinstance(error, DeniableError | OSError | MemoryError):
        raise error
    if isinstance(error, BudgetExceeded):
        return _print_failure(f"{error} {describe_outputs().capitalize()}.", EXIT_REFUTED)
    if isinstance(error, DeniableError):
        message = str(error)
    elif isinstance(error, BrokenPipeError):
        message = _READER_LEFT
    elif isinstance(error, OSError) and error.strerror and error.errno != errno.ENOMEM:
        location = f" ({error.filename})" if error.filename else ""
        message = f"{error.strerror}{location}: {describe_outputs()}.{_describe_remedy(error)}"
    elif _is_out_of_memory(error):
        advice = "Give fewer or shorter rows, a smaller vector file, or smaller sizes."
        message = f"out of memory: {describe_outputs()}. {advice}"
    else:  # not 1, which says that a claim is refuted
        report = "Please report it, with what DENIABLE_TRACEBACK=1 shows."
        message = f"internal error, {type(error).__name__}: {error}; {describe_outputs()}. {report}"
    return _print_failure(message)


def _report_usage_error(error: Any) -> int:  # noqa: ANN401 - see there
    message = error.format_message().removesuffix(".")
    for pattern, wording in _USAGE_WORDINGS:
        message = re.sub(pattern, wording, message)
    if not message:  # a command or group without arguments shows its help
        return 0
    # Newer versions of typer check values with pydantic, which does not always name them.
    errors: list[dict[str, Any]] = getattr(error.__cause__, "errors", list)()
    if errors and f"'{errors[0]['input']}'" not in message:
        message += f". Got {errors[0]['input']!r}"
    end = "" if message.endswith("?") else "."
    return _print_failure(f"{message}{end} See: {getattr(error.ctx, 'command_path', 'deniable')} --help")


def _print_failure(message: str, code: int = EXIT_COULD_NOT_RUN) -> int:
    line = escape_unprintable(" ".join(message.split()))  # what it quotes may be anybody's
    say(f"deniable: {line}", err=True)
    return code


def forget_outputs() -> None:
    """Begin a new command."""
    _WRITTEN.clear()
    _STREAMED.clear()


def note_stdout() -> None:
    """Remember that the command writes its output to standard output."""
    _STREAMED.append("-")


def describe_outputs() -> str:
    """Return what is there after a failure, as the end of a message."""
    if _WRITTEN:
        return f"{' and '.join(_WRITTEN)} had been written"
    if _STREAMED:
        return "no file was written, and standard output may be incomplete"
    return "nothing was written"


def _describe_remedy(error: OSError) -> str:
    """Return what to do about a failure of a disk, as the end of a message; nothing where that depends on the case."""
    if _WRITTEN:
        return ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return " Free some space, and run the same command again."
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return " Choose a folder that can be written."
    if error.errno == errno.EIO:
        return " Check the disk, or choose another folder."
    return " Run the same command again." if error.errno == errno.EINTR else ""


def _is_out_of_memory(error: BaseException | None) -> bool:
    """Return whether an error, or one that it came from, is that memory is short, whatever its kind."""
    while error is not None:
        text = str(error).lower()
        if isinstance(error, MemoryError) or any(sign in text for sign in _MEMORY_SIGNS):
            return True
        error = error.__cause__ or error.__context__
    return False


def check_address_space() -> None:
    """Raise `InputError` where a limit (ulimit -v) leaves too little for the libraries, which would abort."""
    try:
        import resource
    except ImportError:  # a system without such limits
        return
    from deniable.core.parallel import count_cores

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    needed = _BASE_MEGABYTES + _MEGABYTES_PER_CORE * count_cores()
    if limit != resource.RLIM_INFINITY and limit < needed * 1_000_000:
        raise InputError(
            f"The address space is limited to {limit // 1_000_000:,} MB, and at least {needed:,} MB are needed: raise "
            "the limit, with ulimit -v."
        )


def _share_freed_memory() -> None:
    """Let all threads and Arrow use again what any of them has freed: it saves 70 of 500 MB for a large table."""
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    if sys.platform == "linux" and "MALLOC_ARENA_MAX" not in os.environ:
        with contextlib.suppress(AttributeError):  # another C library
            ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)


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


def _prepare_streams() -> None:
    """Make messages about any file name printable, and do without a stream that is closed."""
    # No file that is opened later may take the number of a standard stream, and with it what libraries print there.
    descriptor = os.open(os.devnull, os.O_RDWR)
    while descriptor <= _STDERR_DESCRIPTOR:
        descriptor = os.open(os.devnull, os.O_RDWR)
    os.close(descriptor)
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
