"""Standard streams that are closed or full: what is lost is an error, and what is not needed is not missed."""

import subprocess
from pathlib import Path

import pytest

from tests.cli.programs import PROGRAM
from tests.messages import select_messages

OF_A_TABLE = "privatize in.csv --space space.npz --epsilon 2 -o"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_standard_output(place):
    """A certificate does not appear where its table could not be written."""
    message = (
        "deniable: No space left on device: no file was written, and standard output may be incomplete. Free some "
        "space, and run the same command again.\n"
    )
    command = [PROGRAM, "privatize", "in.csv", "--space", "space.npz", "--epsilon", "2", "-o", "-"]
    before = sorted(place.iterdir())
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*command, "--certificate", "c.json"],
            cwd=place,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, select_messages(done.stderr)) == (2, message)
    assert sorted(place.iterdir()) == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize(
    ("command", "code"), [("in.csv --space space.npz --epsilon 2 -o out.csv", 0), ("in.csv --epsilon 2 -o in.csv", 2)]
)
@pytest.mark.parametrize("stream", ["/dev/full", "pipe"])
def test_messages_that_cannot_be_written(place, command, code, stream):
    """They are lost, and neither outcome nor exit code changes: 1 would say that a claim is refuted."""
    into = "| true" if stream == "pipe" else ""
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{PROGRAM} privatize {command} 2>{'&1' if into else stream} {into}"],
        cwd=place,
        check=False,
    )
    assert done.returncode == code
    assert (place / "out.csv").exists() == (place / "out.csv.certificate.json").exists() == (code == 0)


@pytest.mark.parametrize(
    "command",
    [f"{OF_A_TABLE} - --certificate c.json", "explain food --space space.npz --epsilon 2", "--version", "--help"],
)
def test_a_closed_standard_output(place, command):
    """What would be lost is an error, in one line, and no certificate appears."""
    before = sorted(place.iterdir())
    done = subprocess.run(
        f"{PROGRAM} {command} >&-", shell=True, cwd=place, stderr=subprocess.PIPE, text=True, check=False
    )
    message = "deniable: Standard output is closed, and what belongs there is lost: open it, or use /dev/null.\n"
    assert (done.returncode, select_messages(done.stderr)) == (2, message)
    assert sorted(place.iterdir()) == before


def test_a_closed_standard_output_that_is_not_needed(place):
    """Where the table goes to a file nothing is lost, and no file takes the descriptor's place."""
    closed = subprocess.run(f"{PROGRAM} {OF_A_TABLE} out.csv <&- >&- 2>&-", shell=True, cwd=place, check=False)
    assert closed.returncode == 0
    assert (place / "out.csv").read_text().startswith("id,text,note")
    assert (place / "out.csv.certificate.json").read_text().startswith("{\n")
