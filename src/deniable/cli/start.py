"""The start of the program: signals end it in one line from its first moment on, while it still imports, too."""

import _thread
import os
import signal
import sys
import time
from types import FrameType
from typing import NoReturn

_NUMBERS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
_EXIT_COULD_NOT_RUN = 2
_START_LINE = b"deniable: interrupted: nothing was written.\n"
_IMPORT_FILE = "<frozen importlib._bootstrap>"
_IMPORT_SECONDS, _MAX_DEFERRALS = 0.05, 100
"""How long an interruption waits before it looks again whether an import is done, and how often."""


class Interruption(KeyboardInterrupt):
    """A signal that ends the program; Python ends with the exit code that it is given, unlike after a Ctrl-C."""


class _SignalHandler:
    """What becomes of signals."""

    def __init__(self) -> None:
        self.is_started, self._deferrals = False, 0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """End the program at once while it starts, and later by an exception, so that it cleans up."""
        if not self.is_started:  # nothing is open yet
            os.write(2, _START_LINE)
            os._exit(_EXIT_COULD_NOT_RUN)
        while frame is not None and frame.f_code.co_filename != _IMPORT_FILE:
            frame = frame.f_back
        if frame is not None and self._deferrals < _MAX_DEFERRALS:  # modules swallow what is raised while they load
            self._deferrals += 1
            _thread.start_new_thread(_send_later, (number,))
            return
        from deniable.core.errors import note_interruption

        note_interruption(number)
        raise Interruption


def run() -> NoReturn:
    """Entry point of the console script."""
    handler = _SignalHandler()
    for number in _NUMBERS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup wants it
            signal.signal(number, handler)
    from deniable.core.errors import DeniableError

    try:
        from deniable.cli.main import main
    except DeniableError as error:  # of names that another package adds
        print(f"deniable: {error}", file=sys.stderr)  # noqa: T201 - the command line's own output
        sys.exit(_EXIT_COULD_NOT_RUN)
    from deniable.cli.process import describe_outputs

    sys.unraisablehook = _deliver_again
    try:
        handler.is_started = True
        code = main()
        for number in _NUMBERS:  # the outcome stands
            signal.signal(number, signal.SIG_IGN)
    except KeyboardInterrupt:  # before the command began, or after it ended
        os.write(2, f"deniable: interrupted: {describe_outputs()}.\n".encode())
        code = _EXIT_COULD_NOT_RUN
    sys.exit(code)


def _deliver_again(unraisable: "sys.UnraisableHookArgs") -> None:
    """Send an interruption again that came where no exception can pass, such as a callback of a library."""
    if isinstance(unraisable.exc_value, KeyboardInterrupt):
        _thread.start_new_thread(_send_later, (signal.SIGINT,))
    else:
        sys.__unraisablehook__(unraisable)


def _send_later(number: int) -> None:
    """Send a signal to the program again, from a thread of its own."""
    time.sleep(_IMPORT_SECONDS)
    os.kill(os.getpid(), number)
