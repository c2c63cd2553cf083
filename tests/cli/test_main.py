"""The program as a whole: version, help, signals, pipes, and errors in one line."""

import os
import signal
import subprocess
import sys
import time

import pytest

from deniable import __version__
from deniable.cli.main import app
from deniable.registry.words import WORD_MECHANISMS
from tests.cli.programs import PROGRAM

COMMANDS = [
    "privatize",
    "predict",
    "rewrite",
    "synthesize",
    "measure",
    "tune",
    "explain",
    "key",
    "train image",
    "train text",
    "train rewriter",
    "certify image",
    "certify text",
    "attack text",
    "audit mechanism",
    "audit callable",
    "audit command",
    "audit outputs",
    "audit zoo",
]
GROUPS = ["", "train", "certify", "attack", "audit"]
HEAVY = {"numpy", "scipy", "numba", "sklearn", "pyarrow", "torch", "jinja2", "matplotlib", "dp_accounting"}


def test_version(call):
    """--version shows the version."""
    result = call("--version")
    assert (result.code, result.text) == (0, f"deniable {__version__}\n")


def test_the_package_runs_as_a_module(place):
    """``python -m deniable`` is the command: it prints, and ends with the same exit codes and one line on errors."""
    command = [sys.executable, "-m", "deniable"]
    done = subprocess.run([*command, "--version"], cwd=place, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"deniable {__version__}\n", "")
    done = subprocess.run([*command, "privatise"], cwd=place, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("deniable: No such command 'privatise'")


def test_an_interruption_that_a_library_swallows():
    """An interruption in a callback, from which no exception passes, is delivered again, and shows no traceback."""
    code = """
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
    time.sleep(60)
module.main = command
run()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=50)
    assert (done.returncode, done.stderr) == (2, "deniable: interrupted: nothing was written.\n")


def start(place, *options, **streams):
    """Start a run that reads standard input, and wait until it does."""
    command = [PROGRAM, "privatize", "-", "--format", "csv", "--space", "space.npz", "--epsilon", "2", *options]
    process = subprocess.Popen(
        command,
        cwd=place,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Where the tests run in the background of a shell, Ctrl-C is ignored, by children too.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - no threads here
        **streams,
    )
    deadline = time.monotonic() + 60
    while not any(path.suffix == ".part" for path in place.iterdir()):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals(place, number):
    """A run that is interrupted or terminated says so in one line, fails, and leaves nothing."""
    before = sorted(place.iterdir())
    process = start(place, "-o", "out.csv")
    process.stdin.write(b"text\nthe\n")
    process.stdin.flush()
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert sorted(place.iterdir()) == before
    assert (process.returncode, err) == (2, b"deniable: interrupted: nothing was written.\n")


def test_a_process_in_a_pipeline(place):
    """The installed program works between pipes and exits 0."""
    command = [PROGRAM, "privatize", "-", "--format", "txt", "--space", "space.npz", "--epsilon", "2", "-o", "-"]
    done = subprocess.run(
        [*command, "--certificate", "c.json"], cwd=place, input=b"the food\n\nLondon", capture_output=True, check=False
    )
    assert done.returncode == 0
    assert [len(line.split()) for line in done.stdout.split(b"\n")] == [2, 0, 1]
    assert b"Traceback" not in done.stderr


def test_a_key_from_a_pipe(place):
    """A key may come through a pipe, which gives it once: the output is that of the key's file."""
    (place / "k").write_bytes(bytes(range(32)))
    command = f"{PROGRAM} privatize in.csv --space space.npz --epsilon 2 --id id --key-file"
    for key, output in (("k", "a.csv"), ("<(cat k)", "b.csv")):
        subprocess.run(["bash", "-c", f"{command} {key} -o {output}"], cwd=place, check=True)
    assert (place / "a.csv").read_bytes() == (place / "b.csv").read_bytes()


def test_no_traceback_shows_variables():
    """An error that nobody expected shows no key and no private text, whoever calls the program."""
    assert app.pretty_exceptions_enable is False


@pytest.mark.parametrize("flag", ["--help", "-h"])
@pytest.mark.parametrize("command", [*GROUPS, *COMMANDS])
def test_help(call, command, flag):
    """Every command and group has help, which fits two screens of 40 lines and 100 columns."""
    result = call(*command.split(), flag)
    assert (result.code, result.err) == (0, "")
    assert f"Usage: deniable {command}".strip() in result.prose
    assert len(result.text.rstrip().splitlines()) <= 80
    assert all(len(line) <= 100 for line in result.text.splitlines())


@pytest.mark.parametrize("group", GROUPS)
def test_no_arguments(call, group):
    """A group without a command shows its help, with one line for each command."""
    result = call(*group.split())
    assert (result.code, result.err) == (0, "")
    assert "Usage: deniable" in result.prose
    names = {command.removeprefix(group).split()[0] for command in COMMANDS if command.startswith(group)}
    assert [name for name in names if f"│ {name} " not in result.text] == []


def test_help_loads_nothing_heavy(place):
    """Help is quick, since numpy and its kin are loaded only when needed."""
    code = (
        f"import sys; from deniable.cli.main import main\nfor command in {COMMANDS}: "
        "main([*command.split(), '--help'])\n"
        f"print(sorted({HEAVY} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=place, capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


def test_shell_completion_lists_choices(place):
    """The shell completes commands, options and the names that options offer."""
    words = "deniable explain food --mechanism t"
    variables = {"_DENIABLE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": "4"}
    done = subprocess.run(
        [PROGRAM], cwd=place, capture_output=True, text=True, env={**os.environ, **variables}, check=False
    )
    assert (done.returncode, done.stdout.split()) == (
        0,
        [name for name in WORD_MECHANISMS if name.startswith("t")],
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("privatise", "No such command 'privatise'. Did you mean 'privatize'? See: deniable --help"),
        ("train imag", "No such command 'imag'. Did you mean 'image'? See: deniable train --help"),
        ("explain food", "Missing option '--epsilon'. See: deniable explain --help"),
        ("explain food --epsilon x", "Got x. See: deniable explain --help"),
        ("train image d --kid plain", "--kind"),
        ("study tem-utility", "No such command 'study'."),
    ],
)
def test_usage_errors(call, refused, arguments, message):
    """Wrong usage is one line with the command whose help explains it."""
    assert message in refused(call(*arguments.split()))


def test_what_was_written_before_a_failure(call, monkeypatch):
    """A message does not say that nothing was written where something was."""

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("deniable.text.batches.Tally.summary", interrupt)
    result = call("privatize", "in.csv", "--space", "space.npz", "--epsilon", "2", "-o", "out.csv")
    assert result.code == 2
    assert result.err.splitlines()[-1] == (
        "deniable: interrupted: out.csv and out.csv.certificate.json had been written."
    )


@pytest.mark.parametrize("is_cause", [True, False])
def test_an_interruption_of_compiled_code(call, monkeypatch, is_cause):
    """What compiled code makes of an interruption, a SystemError, ends like the interruption itself, in one line."""

    compiled_error = SystemError("CPUDispatcher returned a result with an exception set")
    setattr(compiled_error, "__cause__" if is_cause else "__context__", KeyboardInterrupt())

    def interrupt(*_):
        raise compiled_error

    monkeypatch.setattr("deniable.text.batches.Tally.summary", interrupt)
    result = call("privatize", "in.csv", "--space", "space.npz", "--epsilon", "2", "-o", "out.csv")
    assert result.code == 2
    assert result.err.splitlines()[-1].startswith("deniable: interrupted: ")
    monkeypatch.setattr("deniable.text.batches.Tally.summary", lambda *_: 1 / 0)
    result = call("privatize", "in.csv", "--space", "space.npz", "--epsilon", "2", "-o", "other.csv")
    assert "internal error, ZeroDivisionError" in result.err.splitlines()[-1]
