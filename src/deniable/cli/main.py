"""The ``deniable`` command: one line per error, exit codes 0, 1 (a claim is refuted) and 2 (could not run)."""

import contextlib
import io
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from deniable import __version__
from deniable.cli.attack import attack
from deniable.cli.audit import REFUTED, audit
from deniable.cli.certify import certify
from deniable.cli.explain import explain
from deniable.cli.key import key
from deniable.cli.measure import measure
from deniable.cli.privatize import privatize
from deniable.cli.rewrite import rewrite
from deniable.cli.study import study
from deniable.cli.train import train
from deniable.cli.tune import tune
from deniable.errors import DeniableError

COULD_NOT_RUN = 2
INTERRUPTED = 130
"""What typer returns in place of a KeyboardInterrupt."""
_STANDARD_ERROR = 2
"""Its descriptor, the largest of the three standard streams."""

app = typer.Typer(
    help="Private text under metric differential privacy, with a guarantee that is checked.",
    epilog="Start with: deniable privatize reviews.csv --column text --epsilon 3 --output private.csv",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,  # a traceback with local variables would show keys and private texts
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
app.command()(privatize)
app.command()(rewrite)
app.command()(measure)
app.command()(explain)
app.command()(tune)
app.command()(audit)
app.command()(train)
app.command()(certify)
app.command()(attack)
app.command()(study)
app.command()(key)


def _version(wanted: bool) -> None:  # noqa: FBT001 - typer's callback
    if wanted:
        typer.echo(f"deniable {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[  # noqa: FBT002 - a flag
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Take the options that stand before the command."""


def _terminate(signum: int, frame: Any) -> NoReturn:  # noqa: ANN401, ARG001 - a signal handler
    raise KeyboardInterrupt


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Every expected failure is one line on standard error that says what is wrong and how to mend it.
    """
    _prepare_streams()
    # Remarks of libraries on how they compute; what a user must know is said in one line.
    warnings.filterwarnings("ignore", module="sklearn")
    command = typer.main.get_command(app)
    try:
        code = command.main(
            args=None if arguments is None else list(arguments), prog_name="deniable", standalone_mode=False
        )
    except SystemExit:  # typer's answer to a broken pipe
        return _fail(_reason(BrokenPipeError()))
    except (DeniableError, OSError, MemoryError) as error:
        return _fail(_reason(error))
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except BaseException as error:  # noqa: BLE001 - told apart there
        return _unexpected(error)
    if code == INTERRUPTED:
        return _fail("interrupted: nothing was written.")
    return REFUTED if code == REFUTED else 0


class _ClosedOutput(io.RawIOBase):
    """In place of a standard output that is closed: what is written to it would be lost."""

    def writable(self) -> bool:
        return True

    def write(self, _: object, /) -> int:
        raise DeniableError("Standard output is closed, and what belongs there is lost: open it, or use /dev/null.")


class _Messages(io.FileIO):
    """Standard error: what cannot be written there is lost, and changes neither outcome nor exit code."""

    def write(self, data: Any, /) -> int:  # noqa: ANN401 - any buffer
        with contextlib.suppress(OSError):
            return super().write(data) or 0
        return len(memoryview(data))


def _occupy_descriptors() -> None:
    """Let no file that is opened later get the number of a standard stream, and what libraries print there."""
    descriptor = os.open(os.devnull, os.O_RDWR)
    while descriptor <= _STANDARD_ERROR:
        descriptor = os.open(os.devnull, os.O_RDWR)
    os.close(descriptor)


def _prepare_streams() -> None:
    """Make messages about any file name printable, and do without a stream that is closed."""
    _occupy_descriptors()
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(_ClosedOutput(), encoding="utf-8", write_through=True)
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - for the whole process
    elif sys.__stderr__ is not None and sys.stderr is sys.__stderr__:
        sys.stderr = io.TextIOWrapper(
            _Messages(sys.stderr.fileno(), "w", closefd=False), encoding=sys.stderr.encoding, write_through=True
        )
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _reason(error: BaseException) -> str:
    if isinstance(error, BrokenPipeError):
        return "the reader of the output went away."
    if isinstance(error, OSError) and error.strerror:
        where = f" ({error.filename})" if error.filename else ""
        return f"{error.strerror}{where}: nothing was written."
    if isinstance(error, MemoryError):
        return "out of memory: nothing was written. A row, the vector file or what was asked for is too large."
    return str(error)


def _unexpected(error: BaseException) -> int:
    """Return the exit code for an error that is none of the package's: wrong usage, or a bug."""
    # The usage errors of typer have no public base class, but one method.
    message = getattr(error, "format_message", None)
    if message is None:
        if os.environ.get("DENIABLE_TRACEBACK"):
            raise error
        # Not 1, which says that a claim is refuted.
        return _fail(
            f"internal error, {type(error).__name__}: {error}. Nothing was written. Please report it, with what "
            "DENIABLE_TRACEBACK=1 shows."
        )
    text: str = message()
    if text.startswith("Usage:"):
        typer.echo(text)
        return 0
    return _fail(f"{text} See: deniable --help")


def _fail(message: str) -> int:
    line = " ".join(message.split())
    print(f"deniable: {line}", file=sys.stderr)  # noqa: T201 - the command line's own output
    return COULD_NOT_RUN


def run() -> NoReturn:
    """Entry point of the console script."""
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _terminate)
    sys.exit(main())
