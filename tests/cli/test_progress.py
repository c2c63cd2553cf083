"""Progress: one line about long passes, and bars in a terminal."""

import io
import sys

import pytest

from deniable.cli import progress
from deniable.core.parallel import parallel_map


class Terminal(io.StringIO):
    """Standard error as a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """Return a function that lets seconds pass."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])

    def passing(seconds):
        now[0] += seconds

    return passing


@pytest.fixture
def terminal(monkeypatch):
    """Return a function that puts a terminal in the place of standard error, once the test runs."""

    def opened():
        made = Terminal()
        monkeypatch.setattr(sys, "stderr", made)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "80")
        return made

    return opened


def test_a_long_pass_is_told_once(clock, capsys):
    """A pass that will take long is told in one line, with its estimate, and later ones are not."""
    with progress.show_passes("verifying"):
        for _ in range(3):
            parallel_map(lambda _: clock(3.0), range(10), 1)
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert err.startswith("verifying: about ")
    assert err.endswith(" s for this pass\n")


@pytest.mark.parametrize(
    ("steps", "line"),
    [
        ([(0, 0.0), (1, 2.5)], "verifying: about 25 s for this pass\n"),
        ([(0, 0.0), (1, 1.9), (2, 2.2), (3, 6.6)], "verifying: about 22 s for this pass\n"),
        ([(0, 0.0), (1, 1.9)], ""),
        ([(0, 0.0), (2, 2.5), (4, 7.5), (10, 19.0)], ""),
        ([(0, 0.0), (10, 19.0), (0, 50.0), (10, 60.0)], ""),
        ([(0, 0.0), (10, 19.0), (0, 50.0), (1, 60.0)], "verifying: about 100 s for this pass\n"),
    ],
)
def test_the_estimate(clock, capsys, steps, line):
    """The estimate is of one pass, from its own start, and waits until two seconds of it are over."""
    report, before = progress._PassEstimate("verifying"), 0.0
    for done, at in steps:
        clock(at - before)
        before = at
        report(done, 10)
    assert capsys.readouterr().err == line


def test_short_passes_are_silent(capsys):
    """Short work tells nothing, and neither does work of no items or after the context."""
    with progress.show_passes("verifying"):
        assert parallel_map(abs, [-1, -2]) == [1, 2]
        assert parallel_map(abs, []) == []
    assert capsys.readouterr() == ("", "")


def test_a_bar_for_each_pass(terminal, monkeypatch):
    """In a terminal each pass has a bar of its own, one at a time, numbered in order."""
    screen, bars, shown = terminal(), [], []

    class Kept(progress._PassBars):
        def __init__(self, label, bar):
            super().__init__(label, bar)
            bars.append(bar)

        def __call__(self, done, total):
            super().__call__(done, total)
            shown.append([(task.description, task.completed, task.total) for task in bars[0].tasks])

    monkeypatch.setattr(progress, "_PassBars", Kept)
    with progress.show_passes("verifying"):
        parallel_map(abs, range(2), 1)
        parallel_map(abs, [], 1)
        parallel_map(abs, range(1), 1)
    assert shown == [
        [("verifying, pass 1", 0, 2)],
        [("verifying, pass 1", 1, 2)],
        [("verifying, pass 1", 2, 2)],
        [("verifying, pass 2", 0, 0)],
        [("verifying, pass 3", 0, 1)],
        [("verifying, pass 3", 1, 1)],
    ]
    assert "verifying, pass 3" in screen.getvalue()
    assert bars[0].finished


def test_bars_end_with_an_error(terminal):
    """A failure inside leaves no bar running and reaches the caller, and nothing is reported after it."""
    screen = terminal()
    with pytest.raises(LookupError), progress.show_passes("verifying"):
        parallel_map({}.__getitem__, range(3), 1)
    written = screen.getvalue()
    assert "verifying, pass 1" in written
    assert written.endswith("\x1b[?25h\r\x1b[1A\x1b[2K")
    parallel_map(abs, range(3))
    assert screen.getvalue() == written


@pytest.mark.parametrize("total", [None, 3_000_000])
def test_bytes_in_a_terminal(terminal, total):
    """A bar of bytes shows where the total is known, and nothing where it is not."""
    screen = terminal()
    with progress.show_bytes_read("privatizing", total) as report:
        report(1_000_000)
        report(2_000_000)
    assert ("3.0/3.0 MB" in screen.getvalue()) == (total is not None)


def test_bytes_elsewhere(capsys):
    """Without a terminal there is no bar of bytes."""
    with progress.show_bytes_read("privatizing", 3_000_000) as report:
        report(3_000_000)
    assert capsys.readouterr() == ("", "")


def test_bars_do_not_change_results(terminal):
    """Work under bars gives what it gives alone."""
    terminal()
    with progress.show_passes("verifying"):
        assert parallel_map(lambda item: item**2, range(100), 3) == [item**2 for item in range(100)]
