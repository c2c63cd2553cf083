"""Progress: a line every ten seconds on a pipe, one line rewritten in a terminal, and times that are measured."""

import io
import sys
import threading
import time

import pytest

from deniable.cli import progress
from deniable.core.parallel import expect_passes, get_progress_reporter
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
        monkeypatch.setattr(progress, "_REFRESH_SECONDS", 0.01)
        return stream

    return open_terminal


def wait_until(condition):
    """Wait for the thread that shows progress."""
    deadline = time.monotonic() + 600
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def describe():
    """Return the line about what is shown."""
    return progress._SHOWN_WORK[-1].describe()


@pytest.fixture
def passes(clock):
    """Return a function that reports to work in passes after some seconds, while passes are still to come."""
    with progress.show_passes("tuning"):

        def report(seconds, done, total=10, ahead=None):
            clock(seconds)
            if ahead is None:
                get_progress_reporter()(done, total)
            else:
                with expect_passes(ahead):
                    get_progress_reporter()(done, total)
            return describe()

        yield report


def test_a_pass_alone(passes):
    """A pass says its share and, once two seconds are measured, what is left of it at the speed so far."""
    assert describe() == "tuning: 1 s so far"
    passes(0, 0)
    assert passes(1, 1) == "tuning: pass 1, 10% of it"
    assert passes(3, 2) == "tuning: pass 1, 20% of it, about 16 s left"


def test_planned_passes(passes):
    """Where the work says how many passes are to come there is a total, and the time left is that of all of them."""
    passes(0, 0, ahead=3)
    assert passes(4, 4, ahead=3) == "tuning: pass 1 of about 4, 40% of it, about 36 s left"
    passes(6, 10, ahead=3)
    assert passes(0, 0, ahead=0) == "tuning: pass 2 of 2, 0% of it, about 10 s left"
    assert passes(10, 5, ahead=0) == "tuning: pass 2 of 2, 50% of it, about 7 s left"
    assert passes(0, 10, ahead=0) == "tuning: pass 2 of 2, 100% of it"


def test_announced_passes_never_grow(passes):
    """Where more passes come than were announced, no larger total is shown: none at all, once it is exceeded."""
    passes(0, 0, ahead=1)
    assert passes(1, 10, ahead=4).startswith("tuning: pass 1 of about 2, ")
    assert passes(1, 0, ahead=4).startswith("tuning: pass 2 of about 2, ")
    passes(1, 10, ahead=4)
    assert passes(1, 0, ahead=4).startswith("tuning: pass 3, ")


def test_work_that_stalls(passes, clock):
    """While nothing is done the time left grows: the speed is that of the time that has passed."""
    passes(0, 0)
    assert passes(5, 5).endswith("about 5 s left")
    clock(15.0)
    assert describe().endswith("about 20 s left")


def test_passes_of_one_item_are_not_counted(passes):
    """A pass of one item, which has nothing to show, leaves the line and the numbers as they are."""
    for _ in range(3):
        passes(0, 0, 1)
        passes(0, 1, 1)
    assert passes(1, 0, 2) == "tuning: pass 1, 0% of it"


def test_steps_and_bytes(clock, capsys):
    """Steps have a number and a note, a resumed run counts its own; of an input there is the share that was read."""
    with progress.show_steps("training", advise=lambda seconds: f"advice at {seconds:.0f} s") as steps:
        assert describe() == "training: 1 s so far"
        steps.update(1001, 3001, "loss 2.5")
        assert describe() == "training: step 1,001 of 3,001, loss 2.5"
        for done in (1101, 1201):
            clock(10.0)
            steps.update(done, 3001, "loss 2.4")
        assert describe() == "training: step 1,201 of 3,001, loss 2.4, about 3 min left"
    assert capsys.readouterr().err == "advice at 190 s\ntraining: step 1,201 of 3,001, loss 2.4\n"
    for size, line in ((30_000_000, "10.0 of 30.0 MB read, about 40 s left"), (None, "10.0 MB read, 10 s so far")):
        with progress.show_bytes_read("privatizing", size) as advance:
            advance(5_000_000)
            clock(10.0)
            advance(5_000_000)
            assert describe() == f"privatizing: {line}"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1 s"), (40.4, "40 s"), (89, "89 s"), (90, "2 min"), (3000, "50 min"), (3590, "1 h"), (7800, "2 h 10 min")],
)
def test_durations(seconds, text):
    """Durations are in words, and no more exact than an estimate is."""
    assert progress.format_duration(seconds) == text


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
    assert "".join(errors) == "working: 12 s so far\nreading: 11 s so far\n"


def test_short_work_is_silent(clock, capsys):
    """Work of less than ten seconds prints nothing on a pipe, and leaves no thread."""
    with progress.watch_command(), progress.show_passes("verifying"):
        clock(9.9)
        time.sleep(0.01)
    assert capsys.readouterr() == ("", "")
    assert not [thread for thread in threading.enumerate() if thread.name == "progress"]


def test_one_line_in_a_terminal(terminal):
    """In a terminal one line is rewritten in place, that of the innermost work, and wiped when work ends or fails."""
    screen = terminal()

    def fail():
        with progress.show_passes("verifying"), progress.show_steps("counting", "word") as steps:
            steps.update(3, 10, "ok")
            wait_until(lambda: "counting" in screen.getvalue())
            raise LookupError

    with pytest.raises(LookupError):
        fail()
    written = screen.getvalue()
    assert written.endswith("\033[2K")
    assert "word 3 of 10, ok" in written
    assert progress._SHOWN_WORK == []


def test_a_dumb_terminal_gets_plain_lines(clock, terminal):
    """A terminal that knows no control sequences, as an editor's, is sent none."""
    stream = terminal("dumb")
    with progress.watch_command(), progress.show_passes("tuning"):
        wait_until(lambda: clock(11.0) or stream.getvalue())
    assert stream.getvalue().startswith("tuning: ")
    assert "\033" not in stream.getvalue()


def test_messages_are_told_from_progress(passes):
    """The tests leave out every line of progress, at each of its stages, and keep a message beside it."""
    lines = [describe()]
    for ahead in (None, 1, 0):
        lines += [passes(3, done, 3, ahead) for done in range(4)]
    with progress.show_bytes_read("privatizing", 300) as advance:
        for _ in range(3):
            advance(20)
            lines.append(describe())
    messages = "deniable: interrupted.\nwrote a.csv and b.csv\n"
    assert len(set(lines)) > 6
    assert select_messages("\n".join(lines) + "\n" + messages) == messages
