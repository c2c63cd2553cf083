"""Progress: a line every ten seconds on a pipe, one line rewritten in a terminal, and times that are measured."""

import io
import sys
import threading
import time

import pytest

from deniable.cli import progress
from tests.messages import select_messages


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
    monkeypatch.setattr(progress, "_REFRESH_SECONDS", 0.001)

    def let_pass(seconds):
        now[0] += seconds

    return let_pass


@pytest.fixture
def terminal(monkeypatch):
    """Return a function that puts a terminal in the place of standard error, once the test runs."""

    def open_terminal(kind="xterm"):
        stream = Terminal()
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setenv("COLUMNS", "80")
        monkeypatch.setenv("TERM", kind)
        monkeypatch.setattr(progress, "_REFRESH_SECONDS", 0.001)
        return stream

    return open_terminal


def wait_until(condition):
    """Wait for the thread that shows progress."""
    deadline = time.monotonic() + 600
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


@pytest.fixture
def passes(clock, monkeypatch):
    """Return work in passes, a function that reports to it after some seconds, and one that plans passes to come."""
    ahead = [None]
    monkeypatch.setattr(progress, "count_passes_ahead", lambda: ahead[0])
    work = progress._Passes("tuning")

    def report(seconds, done, total=10):
        clock(seconds)
        work.report(done, total)
        return work.describe()

    return work, report, lambda count: ahead.__setitem__(0, count)


def test_a_pass_alone(passes):
    """A pass says its share and, once two seconds are measured, what is left of it at the speed so far."""
    work, report, _ = passes
    assert work.describe() == "tuning: 1 s so far"
    report(0, 0)
    assert report(1, 1) == "tuning: pass 1, 10 % of it"
    assert report(3, 2) == "tuning: pass 1, 20 % of it, about 16 s left of this pass"


def test_planned_passes(passes):
    """Where the work says how many passes are to come there is a total, and the time left is that of all of them."""
    _, report, plan = passes
    plan(3)
    report(0, 0)
    assert report(4, 4) == "tuning: pass 1 of about 4, 40 % of it, about 36 s left"
    report(6, 10)
    plan(0)
    assert report(0, 0) == "tuning: pass 2 of 2, 0 % of it, about 10 s left"
    assert report(10, 5) == "tuning: pass 2 of 2, 50 % of it, about 10 s left"
    assert report(0, 10) == "tuning: pass 2 of 2, 100 % of it"


def test_work_that_stalls(passes, clock):
    """While nothing is done the time left grows: the speed is that of the time that has passed, not of the past."""
    work, report, _ = passes
    report(0, 0)
    assert report(5, 5).endswith("about 5 s left of this pass")
    clock(15.0)
    assert work.describe().endswith("about 20 s left of this pass")


def test_a_speed_that_changes(passes):
    """A pass that becomes slow is judged by its last minute."""
    _, report, _ = passes
    report(0, 0, 1000)
    for done in range(100, 600, 100):
        report(1, done, 1000)
    for done in range(501, 571):
        said = report(2, done, 1000)
    assert "about 14 min left" in said


def test_passes_of_one_item_are_not_counted(passes):
    """A pass of one item, which has nothing to show, leaves the line and the numbers as they are."""
    _, report, _ = passes
    for _ in range(3):
        report(0, 0, 1)
        report(0, 1, 1)
    assert report(1, 0, 2) == "tuning: pass 1, 0 % of it"


def test_steps_and_bytes(clock):
    """Steps have a number and a note, a resumed run counts its own; of an input there is the share that was read."""
    steps = progress.Steps("training", "step", lambda _: "")
    reading, pipe = progress._Bytes("privatizing", 30_000_000), progress._Bytes("privatizing", None)
    assert steps.describe() == "training: 1 s so far"
    steps.update(1001, 3001, "loss 2.5")
    assert steps.describe() == "training: step 1,001 of 3,001, loss 2.5"
    clock(10.0)
    steps.update(1101, 3001, "loss 2.4")
    assert steps.describe() == "training: step 1,101 of 3,001, loss 2.4, about 3 min left"
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
    """Without a terminal there is at most a line every ten seconds, also over many short parts; advice comes once."""
    steps = progress.Steps("training", "step", lambda seconds: f"advice at {seconds:.0f} s")
    lines = progress._PlainLines(steps)
    printed = []
    for second in range(1, 41):
        clock(1.0)
        steps.update(second, 101, "loss 1")
        lines.show()
        printed.append(capsys.readouterr().err.splitlines())
    assert [second for second, said in enumerate(printed, 1) if said] == [10, 20, 30, 40]
    assert [len(said) for said in printed if said] == [2, 1, 1, 1]
    for part in range(5):
        clock(4.0)
        progress._PlainLines(progress._Passes(f"part {part}")).show()
    assert capsys.readouterr().err == "part 2: 1 s so far\n"


def test_silent_work_is_shown_too(clock, capsys):
    """Work that reports nothing has its line, a command where no part of it is shown, and nothing while it waits."""
    errors = []

    def count_lines():
        errors.append(capsys.readouterr().err)
        return len("".join(errors).splitlines())

    with progress.watch_command():
        clock(12.0)
        wait_until(lambda: count_lines() == 1)
        with progress.show_passes("reading"):
            clock(11.0)
            wait_until(lambda: count_lines() == 2)
        with progress.show_nothing():
            clock(100.0)
            time.sleep(0.05)
            assert count_lines() == 2
            progress._PlainLines.last_time = progress.read_clock()
    assert "".join(errors) == "working: 12 s so far\nreading: 11 s so far\n"


def test_short_work_is_silent(clock, capsys):
    """Work of less than ten seconds prints nothing on a pipe, and leaves no thread."""
    with progress.show_passes("verifying"):
        clock(9.9)
    assert capsys.readouterr() == ("", "")
    assert not [thread for thread in threading.enumerate() if thread.name == "progress"]


def test_one_line_in_a_terminal(terminal):
    """In a terminal one line is rewritten in place, no wider than it, and wiped at the end, also where work fails."""
    screen = terminal()

    def fail():
        with progress.show_passes("verifying " + "x" * 200):
            wait_until(lambda: screen.getvalue().count("\r") >= 3)
            raise LookupError

    with pytest.raises(LookupError):
        fail()
    written = screen.getvalue()
    assert "\n" not in written
    lines = written.split("\r\033[K")
    assert lines[0] == lines[-1] == ""
    assert {len(line) for line in lines[1:-1]} == {79}


def test_a_dumb_terminal_gets_plain_lines(clock, terminal):
    """A terminal that knows no control sequences, as an editor's, is sent none."""
    stream = terminal("dumb")
    with progress.show_passes("tuning"):
        clock(11.0)
        wait_until(stream.getvalue)
    assert stream.getvalue() == "tuning: 11 s so far\n"


def test_messages_are_told_from_progress(passes):
    """The tests leave out every line of progress, at each of its stages, and keep a message beside it."""
    work, report, plan = passes
    reading = progress._Bytes("privatizing", 300)
    lines = [work.describe()]
    for ahead in (None, 1, 0):
        plan(ahead)
        for done in range(4):
            lines.append(report(3, done, 3))
            reading.advance(20)
            lines.append(reading.describe())
    messages = "deniable: interrupted.\nwrote a.csv and b.csv\n"
    assert len(set(lines)) > 6
    assert select_messages("\n".join(lines) + "\n" + messages) == messages
