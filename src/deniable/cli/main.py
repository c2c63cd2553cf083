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
from deniable.cli.attack.text import run_attack_text
from deniable.cli.audit.mechanism import EXIT_REFUTED, run_audit
from deniable.cli.certify.options import run_certify
from deniable.cli.explain import run_explain
from deniable.cli.key import run_key
from deniable.cli.measure import run_measure
from deniable.cli.privatize import run_privatize
from deniable.cli.rewrite import run_rewrite
from deniable.cli.study import run_study
from deniable.cli.train.options import run_train
from deniable.cli.tune import run_tune
from deniable.core.errors import DeniableError

EXIT_COULD_NOT_RUN = 2
EXIT_INTERRUPTED = 130
"""What typer returns in place of a KeyboardInterrupt."""
_STDERR_DESCRIPTOR = 2
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
app.command("privatize")(run_privatize)
app.command("rewrite")(run_rewrite)
app.command("measure")(run_measure)
app.command("explain")(run_explain)
app.command("tune")(run_tune)
app.command("audit")(run_audit)
app.command("train")(run_train)
app.command("certify")(run_certify)
app.command("attack")(run_attack_text)
app.command("study")(run_study)
app.command("key")(run_key)


def _print_version(is_requested: bool) -> None:  # noqa: FBT001 - typer's callback
    if is_requested:
        typer.echo(f"deniable {__version__}")
        raise typer.Exit


@app.callback()
def _read_global_options(
    version: Annotated[  # noqa: FBT002 - a flag
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Take the options that stand before the command."""


def _raise_interrupt(signum: int, frame: Any) -> NoReturn:  # noqa: ANN401, ARG001 - a signal handler
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
        return _print_failure(_describe_error(BrokenPipeError()))
    except (DeniableError, OSError, MemoryError) as error:
        return _print_failure(_describe_error(error))
    except (KeyboardInterrupt, typer.Abort):
        code = EXIT_INTERRUPTED
    except BaseException as error:  # noqa: BLE001 - told apart there
        return _handle_unexpected_error(error)
    if code == EXIT_INTERRUPTED:
        return _print_failure("interrupted: nothing was written.")
    return EXIT_REFUTED if code == EXIT_REFUTED else 0


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


def _occupy_descriptors() -> None:
    """Let no file that is opened later get the number of a standard stream, and what libraries print there."""
    descriptor = os.open(os.devnull, os.O_RDWR)
    while descriptor <= _STDERR_DESCRIPTOR:
        descriptor = os.open(os.devnull, os.O_RDWR)
    os.close(descriptor)


def _prepare_streams() -> None:
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


def _describe_error(error: BaseException) -> str:
    if isinstance(error, BrokenPipeError):
        return "the reader of the output went away."
    if isinstance(error, OSError) and error.strerror:
        location = f" ({error.filename})" if error.filename else ""
        return f"{error.strerror}{location}: nothing was written."
    if isinstance(error, MemoryError):
        return "out of memory: nothing was written. A row, the vector file or what was asked for is too large."
    return str(error)


def _handle_unexpected_error(error: BaseException) -> int:
    """Return the exit code for an error that is none of the package's: wrong usage, or a bug."""
    # The usage errors of typer have no public base class, but one method.
    message = getattr(error, "format_message", None)
    if message is None:
        if os.environ.get("DENIABLE_TRACEBACK"):
            raise error
        # Not 1, which says that a claim is refuted.
        return _print_failure(
            f"internal error, {type(error).__name__}: {error}. Nothing was written. Please report it, with what "
            "DENIABLE_TRACEBACK=1 shows."
        )
    text: str = message()
    if text.startswith("Usage:"):
        typer.echo(text)
        return 0
    return _print_failure(f"{text} See: deniable --help")


def _print_failure(message: str) -> int:
    line = " ".join(message.split())
    print(f"deniable: {line}", file=sys.stderr)  # noqa: T201 - the command line's own output
    return EXIT_COULD_NOT_RUN


def run() -> NoReturn:
    """Entry point of the console script."""
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _raise_interrupt)
    sys.exit(main())
