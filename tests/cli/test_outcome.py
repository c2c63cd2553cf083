"""What a message says of the outputs of a command that failed."""

import pytest

from deniable.cli.outcome import describe_outputs, forget_outputs, note_stdout, note_written


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
