"""What a message says of the outputs of a command that failed."""

import errno

import pytest

from deniable.cli.outcome import (
    describe_outputs,
    describe_remedy,
    forget_outputs,
    note_stdout,
    note_written,
    watch_outputs,
)
from deniable.core.files import open_outputs


@pytest.fixture(autouse=True)
def fresh():
    """Begin and end without outputs."""
    forget_outputs()
    yield
    forget_outputs()


def test_nothing():
    """Before any output nothing was written."""
    assert describe_outputs() == "nothing was written"


def test_files():
    """Files that are in their places are named, whatever goes to standard output."""
    note_stdout()
    note_written("a.csv", "b.json")
    assert describe_outputs() == "a.csv and b.json had been written"


def test_standard_output():
    """Standard output may have got a part."""
    note_stdout()
    assert describe_outputs() == "no file was written, and standard output may be incomplete"


def test_the_next_command():
    """Another command begins anew."""
    note_written("a.csv")
    forget_outputs()
    assert describe_outputs() == "nothing was written"


def test_outputs_that_nobody_noted(tmp_path):
    """An output counts from the moment when it is there, and once."""
    path = str(tmp_path / "a.csv")
    with watch_outputs(), open_outputs(path, force=False):
        pass
    assert describe_outputs() == f"{path} had been written"
    note_written("b.json", path)
    assert describe_outputs() == f"b.json and {path} had been written"


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.ENOSPC, " Free some space, and run the same command again."),
        (errno.EROFS, " Choose a folder that can be written."),
        (errno.EIO, " Check the disk, or choose another folder."),
        (errno.EINTR, " Run the same command again."),
        (errno.EPIPE, ""),
    ],
)
def test_remedies(number, remedy):
    """A failure of the disk says what to do, unless all is written."""
    assert describe_remedy(OSError(number, "")) == remedy
    note_written("a.csv")
    assert describe_remedy(OSError(number, "")) == ""
