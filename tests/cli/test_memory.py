"""Too little memory: one line and exit code 2, whatever a library makes of it."""

import errno
import os
import resource
import subprocess
import sys

import pytest

from deniable.cli.memory import is_out_of_memory


@pytest.mark.parametrize("megabytes", [150, 400, 1000, 2000])
def test_a_limit_that_is_too_low(place, megabytes):
    """Under ulimit -v the libraries would abort, with exit codes of their own: the program says so before they do."""

    def limit_memory():
        resource.setrlimit(resource.RLIMIT_AS, (megabytes * 1_000_000, resource.RLIM_INFINITY))

    command = [sys.executable, "-m", "deniable", "privatize", "in.csv", "--epsilon", "2", "-o", "out.csv"]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False, preexec_fn=limit_memory)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"deniable: The address space is limited to {megabytes:,} MB, and at least ")
    assert done.stderr.endswith(" MB are needed: raise the limit, with ulimit -v.\n")
    assert not (place / "out.csv").exists()


ERRORS = [
    MemoryError("Unable to allocate 3 GiB"),
    RuntimeError("can't start new thread"),
    ImportError("libx.so: failed to map segment from shared object"),
    OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)),
    SystemError("error return without exception set"),
]
ERRORS[-1].__context__ = MemoryError()


@pytest.mark.parametrize("error", ERRORS)
def test_errors_that_mean_memory(call, monkeypatch, error):
    """Whatever kind of error a library raises where memory is short, the message says that it is."""

    def fail(*_):
        raise error

    monkeypatch.setattr("deniable.text.batches.Tally.summary", fail)
    result = call("privatize", "in.csv", "--space", "space.npz", "--epsilon", "2", "-o", "out.csv")
    assert result.code == 2
    assert result.err.splitlines()[-1].startswith("deniable: out of memory: out.csv and out.csv.certificate.json had")


def test_other_errors_are_told_apart():
    """An error that has nothing to do with memory is not taken for one that has."""
    assert not is_out_of_memory(RuntimeError("no thread"))
    assert not is_out_of_memory(None)
