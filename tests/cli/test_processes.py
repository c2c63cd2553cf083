"""The program as a process: its start, signals, pipes, and streams that are closed or full."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import deniable as dn
from tests.cli.programs import PROGRAM, finish, start, wait_until
from tests.messages import select_messages

deep = pytest.mark.deep
NUMBERS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
INTERRUPTED = "deniable: interrupted: nothing was written.\n"
BASIC = "--space space.npz --epsilon 2"
HAS_FULL_DEVICE = Path("/dev/full").exists()

SLOW_START = """
import sys, time
class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "deniable.cli.main":
            print("ready", flush=True)
            try:
                time.sleep(600)
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
        time.sleep(600)
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
COMPILED = """
import contextlib, os, signal, time
import deniable.cli.main as module
from deniable.cli.process import run_command
from deniable.cli.start import run
def compile():
    with contextlib.suppress(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(600)
    raise RuntimeError("no compiled object")
module.main = lambda: run_command(compile)
run()
"""
SWALLOWED = """
import os, signal, time
import deniable.cli.main as module
from deniable.cli.start import run
class Swallowing:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0)
def command():
    value = Swallowing()
    del value
    time.sleep(600)
module.main = command
run()
"""
FAILING = """
import deniable as dn
from deniable.cli.start import run
def fail(_):
    hidden = "zyx" + "secretum"
    raise LookupError("a bug")
dn.Tally.summary = fail
run()
"""
HELP_LOADS = """
import sys
from deniable.cli.main import main
for command in sys.argv[1:]:
    main([*command.split(), "--help"])
heavy = {"numpy", "scipy", "numba", "sklearn", "pyarrow", "torch", "jinja2", "matplotlib", "dp_accounting"}
print(sorted(heavy & set(sys.modules)), file=sys.stderr)
"""


def run_shell(command, place, **settings):
    """Return how a command line of a shell ended."""
    return subprocess.run(["bash", "-c", command], cwd=place, text=True, check=False, **settings)


def run_program(text, place, number):
    """Send a signal to a program when it is ready, and return how it ended."""
    process = start([sys.executable, "-c", text], place)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    return finish(process)


def test_the_package_runs_as_a_module(place):
    """``python -m deniable`` is the command: it prints, and ends with the same exit codes and one line on errors."""
    command = [sys.executable, "-m", "deniable"]
    done = subprocess.run([*command, "--version"], cwd=place, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"deniable {dn.__version__}\n")


@deep
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_in_a_run(place, number):
    """A run that is interrupted or terminated says so in one line, fails, and leaves nothing."""
    before = sorted(place.iterdir())
    command = [PROGRAM, "privatize", "-", "--format", "csv", *BASIC.split(), "-o", "out.csv"]
    process = start(command, place, stdin=subprocess.PIPE)
    wait_until(process, lambda: any(path.suffix == ".part" for path in place.iterdir()))
    process.stdin.write("text\nthe\n")
    process.stdin.flush()
    process.send_signal(number)
    assert finish(process) == (2, "", INTERRUPTED)
    assert sorted(place.iterdir()) == before


@deep
@pytest.mark.parametrize("number", NUMBERS)
def test_a_signal_while_the_program_starts(place, number):
    """While modules are loaded that swallow every error, a signal ends the program at once, in one line."""
    assert run_program(SLOW_START, place, number) == (2, "", INTERRUPTED)


@deep
@pytest.mark.parametrize("number", NUMBERS)
def test_a_signal_while_a_command_imports(place, number):
    """A signal that comes within an import waits until it is done, and is not swallowed by it."""
    (place / "swallowing.py").write_text(SWALLOWING)
    assert run_program(IMPORTING, place, number) == (2, "interrupted\n", "")


@deep
def test_signals_that_change_nothing(place):
    """When the outcome stands a signal is too late, and a program that nohup started goes on without its terminal."""
    assert finish(start([sys.executable, "-c", ENDING], place)) == (0, "", "")
    assert finish(start([sys.executable, "-c", IGNORING], place, [signal.SIGHUP]))[1:] == ("True\n", "")


@deep
def test_an_interruption_that_a_library_swallows(place):
    """An interruption in a callback, from which no exception passes, is delivered again, and shows no traceback."""
    assert finish(start([sys.executable, "-c", SWALLOWED], place)) == (2, "", INTERRUPTED)


def test_an_interruption_that_a_compiler_swallows(place):
    """Where the code that a signal interrupts fails with an error of its own, the signal is what is told."""
    assert finish(start([sys.executable, "-c", COMPILED], place)) == (2, "", INTERRUPTED)


@deep
def test_between_pipes(place):
    """A key may come through a pipe, which gives it once, and a table from one to another: as from and to files."""
    (place / "k").write_bytes(bytes(range(32)))
    command = f"{PROGRAM} privatize {BASIC} --id id --key"
    piped = f"cat in.csv | {command} <(cat k) - --format csv -o - --certificate c.json | cat"
    done = run_shell(f"{command} k in.csv -o a.csv && {piped}", place, stdout=subprocess.PIPE)
    assert done.returncode == 0
    assert done.stdout.splitlines() == (place / "a.csv").read_text().splitlines()


@deep
def test_no_traceback_shows_variables(place):
    """An error that nobody expected shows no key and no private text, even to who asks for a traceback."""
    command = [sys.executable, "-c", FAILING, "privatize", "in.csv", *BASIC.split(), "-o", "out.csv"]
    _, out, err = finish(start(command, place, env={**os.environ, "DENIABLE_TRACEBACK": "1"}))
    assert "LookupError" in err
    assert "zyxsecretum" not in out + err


def test_help_loads_nothing_heavy(place):
    """Help is quick, since numpy and its kin are loaded only when needed."""
    commands = ["", "privatize", "compare", "measure", "serve", "train image", "train text", "audit zoo", "attack text"]
    done = subprocess.run(
        [sys.executable, "-c", HELP_LOADS, *commands], cwd=place, capture_output=True, text=True, check=True
    )
    assert done.stderr == "[]\n"


def test_all_parts_of_a_process_share_memory(place):
    """Arrow has no memory of its own: what it has freed is used by others."""
    code = (
        "from deniable.cli.main import main; main(['--version']); import pyarrow; print(pyarrow.default_memory_pool())"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=place, capture_output=True, text=True, check=True)
    assert "backend_name=system" in done.stdout


@deep
def test_shell_completion_lists_choices(place):
    """The shell completes commands, options and the names that options offer."""
    words = {"COMP_WORDS": "deniable explain food --mechanism te", "COMP_CWORD": "4"}
    environment = {**os.environ, "_DENIABLE_COMPLETE": "complete_bash", **words}
    done = subprocess.run([PROGRAM], cwd=place, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stdout.split()) == (0, ["tem"])


@deep
def test_the_terminal_may_be_ascii(place):
    """explain writes words of any script to an output of any encoding."""
    (place / "v.txt").write_text("čaj 0 1\nthe 1 0\nfood 1 1\n", encoding="utf-8")
    command = f"PYTHONIOENCODING=ascii {PROGRAM} explain the --space v.txt --epsilon 2"
    done = run_shell(command, place, capture_output=True)
    assert done.returncode == 0
    assert "food" in done.stdout


@pytest.mark.skipif(not HAS_FULL_DEVICE, reason="no device that is always full")
@deep
def test_a_full_standard_output(place):
    """A certificate does not appear where its table could not be written."""
    before = sorted(place.iterdir())
    command = f"{PROGRAM} privatize in.csv {BASIC} -o - --certificate c.json >/dev/full"
    done = run_shell(command, place, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert "no file was written, and standard output may be incomplete" in done.stderr
    assert sorted(place.iterdir()) == before


@pytest.mark.skipif(not HAS_FULL_DEVICE, reason="no device that is always full")
@deep
@pytest.mark.parametrize(("command", "code"), [(f"in.csv {BASIC} -o out.csv", 0), ("in.csv --epsilon 2 -o in.csv", 2)])
@pytest.mark.parametrize("stream", ["2>/dev/full", "2>&1 | true"])
def test_messages_that_cannot_be_written(place, command, code, stream):
    """They are lost, and neither outcome nor exit code changes: 1 would say that a claim is refuted."""
    done = run_shell(f"set -o pipefail; {PROGRAM} privatize {command} {stream}", place)
    assert done.returncode == code
    assert (place / "out.csv").exists() == (place / "out.csv.certificate.json").exists() == (code == 0)


@pytest.mark.parametrize(
    "command",
    [
        "--version",
        *(
            pytest.param(command, marks=deep)
            for command in (f"privatize in.csv {BASIC} -o - --certificate c.json", f"explain food {BASIC}", "--help")
        ),
    ],
)
def test_a_closed_standard_output(place, command):
    """What would be lost is an error, in one line, and no certificate appears."""
    before = sorted(place.iterdir())
    done = run_shell(f"{PROGRAM} {command} >&-", place, stderr=subprocess.PIPE)
    message = "deniable: Standard output is closed, and what belongs there is lost: open it, or use /dev/null.\n"
    assert (done.returncode, select_messages(done.stderr)) == (2, message)
    assert sorted(place.iterdir()) == before


@deep
def test_closed_streams_that_are_not_needed(place):
    """Where the table goes to a file nothing is lost, and no file takes the descriptor's place."""
    assert run_shell(f"{PROGRAM} privatize in.csv {BASIC} -o out.csv <&- >&- 2>&-", place).returncode == 0
    assert (place / "out.csv").read_text().startswith("id,text,note")
    assert (place / "out.csv.certificate.json").read_text().startswith("{\n")
