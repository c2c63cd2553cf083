"""Progress: a line every ten seconds on a pipe, one line rewritten in a terminal, and times that are measured."""

import io
import sys
import threading
import time

import pytest

from deniable.cli import progress
from deniable.core.parallel import parallel_map
from deniable.core.progress import expect_passes, get_progress_reporter


class Terminal(io.StringIO):
    """Standard error as a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """Return a function that lets seconds pass on the clock of progress, and on no other."""
    now = [100.0]
    monkeypatch.setattr(progress, "read_clock", lambda: now[0])
    monkeypatch.setattr(progress._PlainLines, "last_time", now[0])

    def let_pass(seconds):
        now[0] += seconds

    return let_pass


@pytest.fixture
def terminal(monkeypatch):
    """Return a function that puts a terminal in the place of standard error, once the test runs."""

    def open_terminal():
        stream = Terminal()
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setenv("COLUMNS", "80")
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setattr(progress, "_REFRESH_SECONDS", 0.001)
        return stream

    return open_terminal


def wait_until(condition):
    """Wait for the thread that shows progress."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_a_pass_alone(clock):
    """A pass says its share and, once two seconds are measured, what is left of it at the speed so far."""
    passes = progress._Passes("sampling")
    assert passes.describe() == "sampling: 1 s so far"
    passes.report(0, 10)
    clock(1.0)
    passes.report(1, 10)
    assert passes.describe() == "sampling: pass 1, 10 % of it"
    clock(3.0)
    passes.report(2, 10)
    assert passes.describe() == "sampling: pass 1, 20 % of it, about 16 s left of this pass"


def test_planned_passes(clock):
    """Where the work says how many passes are to come there is a total, and the time left is that of all of them."""
    passes = progress._Passes("tuning")
    with expect_passes(3):
        passes.report(0, 10)
        clock(4.0)
        passes.report(4, 10)
        assert passes.describe() == "tuning: pass 1 of about 4, 40 % of it, about 36 s left"
        clock(6.0)
        passes.report(10, 10)
    with expect_passes(0):
        passes.report(0, 10)
        assert passes.describe() == "tuning: pass 2 of 2, 0 % of it, about 10 s left"
        clock(10.0)
        passes.report(5, 10)
        assert passes.describe() == "tuning: pass 2 of 2, 50 % of it, about 10 s left"
        passes.report(10, 10)
        assert passes.describe() == "tuning: pass 2 of 2, 100 % of it"


def test_a_dumb_terminal_gets_plain_lines(clock, terminal, monkeypatch):
    """A terminal that knows no control sequences, as an editor's, is sent none."""
    stream = terminal()
    monkeypatch.setenv("TERM", "dumb")
    with progress.show_passes("tuning"):
        clock(11.0)
        wait_until(stream.getvalue)
    assert stream.getvalue() == "tuning: 11 s so far\n"


def test_work_that_stalls(clock):
    """While nothing is done the time left grows: the speed is that of the time that has passed, not of the past."""
    passes = progress._Passes("verifying")
    passes.report(0, 10)
    clock(5.0)
    passes.report(5, 10)
    assert passes.describe().endswith("about 5 s left of this pass")
    clock(15.0)
    assert passes.describe().endswith("about 20 s left of this pass")


def test_a_speed_that_changes(clock):
    """A pass that becomes slow is judged by its last minute."""
    passes = progress._Passes("verifying")
    passes.report(0, 1000)
    for done in range(100, 600, 100):
        clock(1.0)
        passes.report(done, 1000)
    for done in range(501, 571):
        clock(2.0)
        passes.report(done, 1000)
    assert "about 14 min left" in passes.describe()


def test_passes_of_one_item_are_not_counted(clock):
    """A pass of one item, which has nothing to show, leaves the line and the numbers as they are."""
    passes = progress._Passes("verifying")
    for _ in range(3):
        passes.report(0, 1)
        passes.report(1, 1)
    passes.report(0, 2)
    clock(1.0)
    assert passes.describe() == "verifying: pass 1, 0 % of it"


def test_steps(clock):
    """Steps have their number, their total, their note and the time left; a resumed run counts its own steps alone."""
    steps = progress.Steps("training", "step", lambda _: "")
    assert steps.describe() == "training: 1 s so far"
    steps.update(1001, 3001, "loss 2.5")
    assert steps.describe() == "training: step 1,001 of 3,001, loss 2.5"
    clock(10.0)
    steps.update(1101, 3001, "loss 2.4")
    assert steps.describe() == "training: step 1,101 of 3,001, loss 2.4, about 3 min left"


def test_bytes(clock):
    """Of an input of known size there is the share read and the time left, of a pipe what was read."""
    reading, pipe = progress._Bytes("privatizing", 30_000_000), progress._Bytes("privatizing", None)
    clock(10.0)
    for work in (reading, pipe):
        work.advance(10_000_000)
    assert reading.describe() == "privatizing: 10.0 of 30.0 MB read, about 20 s left"
    assert pipe.describe() == "privatizing: 10.0 MB read, 10 s so far"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1 s"), (40.4, "40 s"), (89, "89 s"), (90, "2 min"), (3000, "50 min"), (3590, "1 h"), (7800, "2 h 10 min")],
)
def test_durations(seconds, text):
    """Durations are in words, and no more exact than an estimate is."""
    assert progress.format_duration(seconds) == text


def test_lines_on_a_pipe(clock, capsys):
    """Without a terminal there is a line after ten seconds and then at most one every ten, whatever is reported."""
    lines = progress._PlainLines(progress._Passes("verifying"))
    printed = []
    for _ in range(100):
        clock(1.0)
        lines.show()
        printed.append(len(capsys.readouterr().err.splitlines()))
    assert [second for second, count in enumerate(printed, 1) if count] == list(range(10, 101, 10))
    assert set(printed) == {0, 1}


def test_many_short_parts(clock, capsys):
    """Parts that are short each have a line as well, once ten seconds have gone by without one."""
    for part in range(5):
        lines = progress._PlainLines(progress._Passes(f"part {part}"))
        clock(4.0)
        lines.show()
    assert capsys.readouterr().err == "part 2: 4 s so far\n"


def test_silent_work_is_shown_too(clock, capsys, monkeypatch):
    """Work that reports nothing has its line as well, from the thread that shows it."""
    monkeypatch.setattr(progress, "_REFRESH_SECONDS", 0.001)
    errors = []
    with progress.show_passes("reading"):
        clock(12.0)
        wait_until(lambda: errors.append(capsys.readouterr().err) or "".join(errors))
    assert "".join(errors) == "reading: 12 s so far\n"


def test_a_command_that_says_nothing(clock, capsys, monkeypatch):
    """A command is watched where no part of it is shown, and the part alone where one is."""
    monkeypatch.setattr(progress, "_REFRESH_SECONDS", 0.001)
    errors = []
    with progress.watch_command():
        clock(12.0)
        wait_until(lambda: errors.append(capsys.readouterr().err) or "".join(errors))
        with progress.show_passes("reading"):
            clock(11.0)
            wait_until(lambda: errors.append(capsys.readouterr().err) or len("".join(errors).splitlines()) == 2)
    assert "".join(errors) == "working: 12 s so far\nreading: 11 s so far\n"


def test_what_waits_shows_nothing(clock, capsys, monkeypatch):
    """While a command waits for others, no line says that it works."""
    monkeypatch.setattr(progress, "_REFRESH_SECONDS", 0.001)
    with progress.watch_command(), progress.show_nothing():
        clock(100.0)
        time.sleep(0.1)
    assert capsys.readouterr().err == ""


def test_short_work_is_silent(clock, capsys):
    """Work of less than ten seconds prints nothing on a pipe, and leaves no thread."""
    with progress.show_passes("verifying"), expect_passes(1):
        clock(9.9)
        assert parallel_map(abs, [-1, -2]) == [1, 2]
    assert capsys.readouterr() == ("", "")
    assert not [thread for thread in threading.enumerate() if thread.name == "progress"]


def test_advice_comes_once(clock, capsys):
    """What follows from the first known time left is printed once, after the first line."""
    steps = progress.Steps("training", "step", lambda seconds: f"advice at {seconds:.0f} s")
    lines = progress._PlainLines(steps)
    for done in range(1, 4):
        clock(10.0)
        steps.update(done, 10, "loss 1")
        lines.show()
    assert capsys.readouterr().err.splitlines() == [
        "training: step 1 of 10, loss 1, about 90 s left".replace("90 s", "2 min"),
        "advice at 90 s",
        "training: step 2 of 10, loss 1, about 80 s left",
        "training: step 3 of 10, loss 1, about 70 s left",
    ]


def test_one_line_in_a_terminal(terminal):
    """In a terminal one line is rewritten in place, no wider than the terminal, and wiped at the end."""
    screen = terminal()
    with progress.show_passes("verifying " + "x" * 200):
        wait_until(lambda: screen.getvalue().count("\r") >= 3)
    written = screen.getvalue()
    assert "\n" not in written
    assert written.endswith("\r\033[K")
    lines = written.split("\r\033[K")
    assert lines[0] == lines[-1] == ""
    assert {len(line) for line in lines[1:-1]} == {79}


def test_the_line_ends_with_an_error(terminal):
    """A failure inside reaches the caller, the line is wiped, and nothing is written after it."""
    screen = terminal()

    def fail(item):
        wait_until(screen.getvalue)
        raise LookupError(item)

    with pytest.raises(LookupError), progress.show_passes("verifying"):
        parallel_map(fail, range(3), 1)
    written = screen.getvalue()
    assert written.endswith("\r\033[K")
    parallel_map(abs, range(3))
    assert screen.getvalue() == written


def test_progress_does_not_change_results(terminal):
    """Work that is shown gives what it gives alone, and outside nobody listens."""
    terminal()
    with progress.show_passes("verifying"):
        assert parallel_map(lambda item: item**2, range(100), 3) == [item**2 for item in range(100)]
    assert get_progress_reporter()(1, 2) is None
