"""Progress on standard error: one line rewritten in place on a terminal, else a line every ten seconds at most."""

import abc
import contextlib
import os
import shutil
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import typer

from deniable.core.parallel import count_passes_ahead, report_progress_to

LINE_SECONDS = 10.0
"""Minimum time between two lines where standard error is no terminal, and before the first one."""
_REFRESH_SECONDS = 0.5
_MIN_MEASURED_SECONDS = 2.0
"""Time over which a speed must have been measured before it is believed."""
_MIN_MEASURED_SHARE = 0.05
"""Share of a pass that must have been done: its first items may wait for code to be compiled."""
_WINDOW_SECONDS = 60.0
"""Time that a speed is measured over."""
_RECENT_PASSES = 4
"""Passes whose mean duration stands for that of a pass to come."""
_MAX_EXACT_SECONDS = 90
_MINUTE = 60


def read_clock() -> float:
    """Return the seconds that all progress goes by, a clock of its own that can be set."""
    return time.monotonic()


@contextmanager
def show_passes(label: str) -> Iterator[None]:
    """Show what the work within reports, see `deniable.core.parallel`: passes, their share done and the time left."""
    with _show(_Passes(label)) as passes, report_progress_to(passes.report):
        yield


@contextmanager
def show_steps(label: str, unit: str = "step", *, advise: Callable[[float], str] = lambda _: "") -> Iterator["Steps"]:
    """Show the steps of work whose total is known, such as a training, and at its end the last one.

    Args:
        label: what is done.
        unit: what is counted.
        advise: called once with the seconds left, when they are first known; what it returns is printed on a line of
            its own.
    """
    steps = Steps(label, unit, advise)
    with _show(steps):
        yield steps
    if steps.note:
        typer.echo(steps.format_done(), err=True)


@contextmanager
def show_bytes_read(label: str, total_bytes: int | None) -> Iterator[Callable[[int], None]]:
    """Show how much of an input is read; the function is called with the number of bytes of every read."""
    reading = _Bytes(label, total_bytes)
    with _show(reading), report_progress_to(reading.ignore_pass):
        yield reading.advance


def format_duration(seconds: float) -> str:
    """Return a duration in words, as exact as an estimate deserves: 40 s, 3 min, 2 h 10 min."""
    if seconds < _MAX_EXACT_SECONDS:
        return f"{max(seconds, 1):.0f} s"
    minutes = round(seconds / _MINUTE)
    if minutes < _MINUTE:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, _MINUTE)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


@contextmanager
def watch_command() -> Iterator[None]:
    """Say that a command still runs where none of its parts says what it does: while it reads, or imports."""
    with _show(_Command("working"), in_place=False):
        yield


@contextmanager
def show_nothing() -> Iterator[None]:
    """Show no work that goes on around this: what waits for others, such as a service, has no end to come near to."""
    waiting = _Command("waiting")
    _SHOWN_WORK.append(waiting)
    try:
        yield
    finally:
        _SHOWN_WORK.remove(waiting)


def print_above(line: str) -> None:
    """Print a line to standard error while work is shown, in place of the line about it, which comes again below."""
    typer.echo(f"\r\033[K{line}" if _can_rewrite() else line, err=True)


def _can_rewrite() -> bool:
    """Return whether standard error is a terminal whose lines can be rewritten; some show control sequences as text."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


class _Speed:
    """The speed of one pass, measured over the last minute, or over the last two advances if they are rarer."""

    def __init__(self) -> None:
        self._samples = deque([(read_clock(), 0)])

    def advance(self, done: int) -> None:
        """Take note that ``done`` items are done."""
        now = read_clock()
        if done > self._samples[-1][1] and (
            len(self._samples) < 2 or now - self._samples[-1][0] >= _REFRESH_SECONDS  # noqa: PLR2004 - start and latest
        ):
            self._samples.append((now, done))
        while len(self._samples) > 2 and now - self._samples[1][0] > _WINDOW_SECONDS:  # noqa: PLR2004 - two make a speed
            self._samples.popleft()

    def estimate_seconds(self, items: int, done: int) -> float | None:
        """Return how long so many items take; None while too little has been seen. A pause makes it longer."""
        first_time, first_done = self._samples[0]
        seconds = read_clock() - first_time
        if done == first_done or seconds < _MIN_MEASURED_SECONDS:
            return None
        return items * seconds / (done - first_done)


class _Work(abc.ABC):
    """Work that is shown; a subclass says how far it is."""

    def __init__(self, label: str) -> None:
        self.label, self._start, self._lock = label, read_clock(), threading.Lock()

    def describe(self) -> str:
        """Return the line about it."""
        with self._lock:
            facts = [fact for fact in self._list_facts() if fact]
        return f"{self.label}: {', '.join(facts or [f'{format_duration(read_clock() - self._start)} so far'])}"

    def take_advice(self) -> str:
        """Return a line to be printed once, or nothing."""
        return ""

    @abc.abstractmethod
    def _list_facts(self) -> list[str]:
        """Return what is known of it, in the order of the line."""


_SHOWN_WORK: list[_Work] = []
"""What is shown, the innermost last."""
_WorkType = TypeVar("_WorkType", bound=_Work)


class _Command(_Work):
    """A whole command, of which nothing is known but its duration."""

    def _list_facts(self) -> list[str]:
        return []


class _Passes(_Work):
    """Passes in their turn. One of a single item has nothing to show, and is not counted."""

    def __init__(self, label: str) -> None:
        super().__init__(label)
        self._number, self._done, self._total, self._ahead = 0, 0, 0, count_passes_ahead()
        self._durations: deque[float] = deque(maxlen=_RECENT_PASSES)

    def report(self, done: int, total: int) -> None:
        """Take note of a report of the work."""
        if total <= 1:
            return
        with self._lock:
            if done == 0:
                self._number, self._speed, self._pass_start = self._number + 1, _Speed(), read_clock()
                self._ahead = count_passes_ahead()
            self._done, self._total = done, total
            self._speed.advance(done)
            if done == total:
                self._durations.append(read_clock() - self._pass_start)

    def _list_facts(self) -> list[str]:
        if not self._number:
            return []
        left_seconds = None
        if self._done >= _MIN_MEASURED_SHARE * self._total:
            left_seconds = self._speed.estimate_seconds(self._total - self._done, self._done)
        share_text = f"{100 * self._done / self._total:.0f} % of it"
        if self._ahead is None:
            pass_text = f"pass {self._number}"
            left_text = "" if left_seconds is None else f"about {format_duration(left_seconds)} left of this pass"
        else:
            about = "about " if self._ahead else ""
            pass_text = f"pass {self._number} of {about}{self._number + self._ahead}"
            left_text = self._format_time_left(left_seconds)
        return [pass_text, share_text, left_text if self._done < self._total or self._ahead else ""]

    def _format_time_left(self, pass_seconds: float | None) -> str:
        """Return the time left of all passes; nothing while no speed is known."""
        durations = list(self._durations)
        if pass_seconds is None and durations:
            pass_seconds = sum(durations) / len(durations) * (1 - self._done / self._total)
        if pass_seconds is None:
            return ""
        whole_pass = self._speed.estimate_seconds(self._total, self._done) if not durations else None
        mean_seconds = sum(durations) / len(durations) if durations else whole_pass or 0.0
        return f"about {format_duration(pass_seconds + (self._ahead or 0) * mean_seconds)} left"


class Steps(_Work):
    """Steps of a known total, with a note about the last ones, such as the loss of a training."""

    def __init__(self, label: str, unit: str, advise: Callable[[float], str]) -> None:
        super().__init__(label)
        self.note = ""
        self._unit, self._advise, self._advice = unit, advise, ""
        self._first: int | None = None
        self._done = self._total = 0
        self._speed, self._is_advised = _Speed(), False

    def update(self, done: int, total: int, note: str = "") -> None:
        """Take note of a step, the first of which may come late: a resumed run has taken others before."""
        with self._lock:
            if self._first is None:
                self._first = done - 1
            self._done, self._total, self.note = max(done, self._done), total, note
            self._speed.advance(done - self._first)

    def format_done(self) -> str:
        """Return the line about the last step."""
        return f"{self.label}: {self._format_count()}, {self.note}"

    def take_advice(self) -> str:
        """Return what the first estimate of the time left leads to."""
        with self._lock:
            left_seconds = self._estimate_left()
            if self._is_advised or left_seconds is None:
                return ""
            self._is_advised = True
        return self._advise(left_seconds)

    def _estimate_left(self) -> float | None:
        if self._first is None:
            return None
        return self._speed.estimate_seconds(self._total - self._done, self._done - self._first)

    def _format_count(self) -> str:
        return f"{self._unit} {self._done:,} of {self._total:,}"

    def _list_facts(self) -> list[str]:
        if self._first is None:
            return []
        left_seconds = self._estimate_left()
        has_end = left_seconds is not None and self._done < self._total
        return [
            self._format_count(),
            self.note,
            f"about {format_duration(left_seconds)} left" if has_end and left_seconds is not None else "",
        ]


class _Bytes(_Work):
    """Bytes of an input whose size may be unknown."""

    def __init__(self, label: str, total: int | None) -> None:
        super().__init__(label)
        self._done, self._total, self._speed = 0, total, _Speed()

    def advance(self, count: int) -> None:
        """Take note of a read."""
        with self._lock:
            self._done += count
            self._speed.advance(self._done)

    def ignore_pass(self, done: int, total: int) -> None:
        """Ignore the passes over single batches of rows."""

    def _list_facts(self) -> list[str]:
        megabytes = self._done / 1e6
        elapsed_text = f"{format_duration(read_clock() - self._start)} so far"
        # What is read at once, such as a small table, is still to be worked on.
        if not self._total or self._done >= self._total:
            return [f"{megabytes:.1f} MB read", elapsed_text]
        left_seconds = self._speed.estimate_seconds(self._total - self._done, self._done)
        left_text = "" if left_seconds is None else f"about {format_duration(left_seconds)} left"
        return [f"{megabytes:.1f} of {self._total / 1e6:.1f} MB read", left_text]


@contextmanager
def _show(work: _WorkType, *, in_place: bool = True) -> Iterator[_WorkType]:
    """Show the work from a thread of its own, so that there is a line also where nothing is reported.

    Args:
        work: what is shown, until other work within it is.
        in_place: rewrite the line on a terminal, where nothing else is printed meanwhile.
    """
    is_done = threading.Event()
    writer = _TerminalLine(work) if in_place and _can_rewrite() else _PlainLines(work)

    def keep_showing() -> None:
        with contextlib.suppress(OSError, ValueError):  # nobody reads standard error any more
            while not is_done.wait(_REFRESH_SECONDS):
                if _SHOWN_WORK[-1:] == [work]:
                    writer.show()

    thread = threading.Thread(target=keep_showing, name="progress", daemon=True)
    _SHOWN_WORK.append(work)
    thread.start()
    try:
        yield work
    finally:
        _SHOWN_WORK.remove(work)
        is_done.set()
        thread.join()
        writer.close()


class _PlainLines:
    """A line now and then, for logs and pipes."""

    last_time = read_clock()
    """When the last line was printed, whatever the work: many short parts of a command are no long silence either."""

    def __init__(self, work: _Work) -> None:
        self._work = work

    def show(self) -> None:
        """Print a line, unless the last one is young."""
        if read_clock() - self.last_time < LINE_SECONDS:
            return
        _PlainLines.last_time = read_clock()
        typer.echo(self._work.describe(), err=True)
        advice = self._work.take_advice()
        if advice:
            typer.echo(advice, err=True)

    def close(self) -> None:
        """Leave what is printed."""


class _TerminalLine:
    """One line of a terminal, rewritten in place and wiped at the end."""

    def __init__(self, work: _Work) -> None:
        self._work, self._start, self._is_shown = work, read_clock(), False

    def show(self) -> None:
        """Rewrite the line."""
        self._is_shown = True
        width = shutil.get_terminal_size().columns - 1
        line = self._work.describe()[:width]
        # Advice waits for a speed that has settled.
        advice = self._work.take_advice() if read_clock() - self._start >= LINE_SECONDS else ""
        sys.stderr.write(f"\r\033[K{advice}\n{line}" if advice else f"\r\033[K{line}")
        sys.stderr.flush()

    def close(self) -> None:
        """Wipe the line, if there is one."""
        if not self._is_shown:
            return
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
