"""The start of the program: a signal ends it in one line, whatever it is loading."""

import signal
import subprocess
import sys

import pytest

SLOW_START = """
import sys, time
class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "deniable.cli.main":
            print("ready", flush=True)
            try:
                time.sleep(30)
            except BaseException:
                pass
sys.meta_path.insert(0, Slow())
from deniable.cli.start import run
run()
"""
SWALLOWING = """
import time
print("ready", flush=True)
for _ in range(5):
    try:
        time.sleep(0.1)
    except BaseException:
        pass
"""
IMPORTING = """
import deniable.cli.main, time
def main():
    try:
        import swallowing
        time.sleep(30)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        return 2
deniable.cli.main.main = main
from deniable.cli.start import run
run()
"""
ENDING = """
import deniable.cli.main, os, signal, time
deniable.cli.main.main = lambda: 0
from deniable.cli import start
leave = start.sys.exit
def exit_late(code):
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        os.kill(os.getpid(), getattr(signal, name))
    time.sleep(0.1)
    leave(code)
start.sys.exit = exit_late
start.run()
"""
IGNORING = """
import deniable.cli.main, signal
deniable.cli.main.main = lambda: print(signal.getsignal(signal.SIGHUP) is signal.SIG_IGN) or 0
from deniable.cli.start import run
run()
"""


def start(program, place, ignored=None):
    def reset():
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if ignored is not None:
            signal.signal(ignored, signal.SIG_IGN)

    return subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=place,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=reset,  # noqa: PLW1509 - no threads here
    )


def interrupt(process, number):
    """Send a signal when a program is ready for it; return its exit code and what it printed."""
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


NUMBERS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.mark.parametrize("number", NUMBERS)
def test_a_signal_while_the_program_starts(tmp_path, number):
    """While modules are loaded that swallow every error, a signal ends the program at once, in one line."""
    ended = interrupt(start(SLOW_START, tmp_path), number)
    assert ended == (2, "", "deniable: interrupted: nothing was written.\n")


@pytest.mark.parametrize("number", NUMBERS)
def test_a_signal_while_a_command_imports(tmp_path, number):
    """A signal that comes within an import waits until it is done, and is not swallowed by it."""
    (tmp_path / "swallowing.py").write_text(SWALLOWING)
    assert interrupt(start(IMPORTING, tmp_path), number) == (2, "interrupted\n", "")


def test_a_signal_after_the_end(tmp_path):
    """When the outcome stands, a signal does not change the exit code."""
    process = start(ENDING, tmp_path)
    assert (*process.communicate(timeout=60), process.returncode) == ("", "", 0)


def test_what_is_ignored_stays_so(tmp_path):
    """A program that nohup started goes on when the terminal goes away."""
    out, err = start(IGNORING, tmp_path, ignored=signal.SIGHUP).communicate(timeout=60)
    assert (out, err) == ("True\n", "")
