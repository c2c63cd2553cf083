"""Lines for people are wrapped at the window of a terminal, and left whole elsewhere."""

import io
import sys

import pytest

from deniable.cli.terminal import say, wrap_lines

LINE = "attacker       the best guess from one output word is right for 26.9% of words"


@pytest.mark.parametrize(
    ("line", "wrapped"),
    [
        (LINE, ["attacker       the best guess from one output", f"{'':15}word is right for 26.9% of words"]),
        (f"{'':15}the best guess from one output word", [f"{'':15}the best guess from one output", f"{'':15}word"]),
        ("warning: " + "word " * 9 + "end", ["warning: word word word word word word word word", "  word end"]),
        ("a" * 60, ["a" * 60]),
        ("", [""]),
    ],
)  # fmt: skip
def test_lines_hang_below_their_text(line, wrapped):
    """What is continued stands below where the text of its line began; no word is broken."""
    assert wrap_lines(line, 48).split("\n") == wrapped


@pytest.mark.parametrize(
    "line",
    [
        "release       verdict   words guessed   linked   words kept   accuracy",
        "run            deniable privatize reviews.csv --epsilon 2.8 --output private.csv",
    ],
)
def test_tables_and_commands_stay_whole(line):
    """Rows of a table, and commands to be run, are of no use when broken."""
    assert wrap_lines(line, 40) == line


def test_only_terminals_wrap(monkeypatch):
    """A pipe gets whole lines, a terminal those that its window holds."""
    for is_terminal in (False, True):
        stream = io.StringIO()
        stream.isatty = lambda is_terminal=is_terminal: is_terminal
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setenv("COLUMNS", "50")
        say(LINE, err=True)
        assert (max(map(len, stream.getvalue().splitlines())) <= 50) == is_terminal
