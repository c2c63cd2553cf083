"""The program, started as a process: signals end it even where the tests themselves ignore them."""

import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.messages import select_messages

PROGRAM = str(Path(sys.executable).with_name("deniable"))
"""The installed program."""


def start(command, place, ignored=(), **settings):
    """Start a command with signals as a terminal has them, but for those that are to be ignored."""

    def reset_signals():
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)

    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **settings}
    return subprocess.Popen(command, cwd=place, text=True, preexec_fn=reset_signals, **pipes)  # noqa: PLW1509 - no threads


def finish(process, **more):
    """Return the exit code of a process, and what it wrote, but for progress, which only slow machines see."""
    out, err = process.communicate(timeout=600, **more)
    return process.returncode, out, select_messages(err)


def wait_until(process, condition):
    """Wait while a process works."""
    deadline = time.monotonic() + 600
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
