"""Progress on standard error: a bar on a terminal, else a line every ten seconds at most."""

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from deniable.cli.terminal import say
from deniable.core.parallel import count_passes_ahead, report_progress_to

if TYPE_CHECKING:
    from rich.table import Table

LINE_SECONDS = 10.0
"""Minimum time between two lines where standard error is no terminal, and before the first one."""
_REFRESH_SECONDS = 0.5
_MIN_MEASURED_SECONDS = 2.0
"""Time over which a speed must have been measured before it is believed."""
_BAR_WIDTH = 30
_MAX_EXACT_SECONDS = 90
_MINUTE = 60


def read_clock() -> float:
    """Return the seconds that all progress goes by, a clock of its own that can be set."""
    return time.monotonic()


class Work:
    """Work that is shown.

    Attributes:
        facts: what is known of it.

    Args:
        label: what is done.
        is_bar: whether a terminal shows it, and it prints no lines.
    """

    def __init__(self, label: str, *, is_bar: bool) -> None:
        self.label, self.is_bar, self.facts = label, is_bar, ""
        self._start, self._first = read_clock(), (0.0, 0.0)
        self._done = self._total = 0.0

    def update(self, done: float, total: float, facts: str) -> None:
        """Take note of how much is done; the first time may come late, since a resumed run has done some before."""
        if not self.facts:
            self._first = read_clock(), done
        self._done, self._total, self.facts = done, total, facts

    def estimate_left(self) -> float | None:
        """Return the seconds left at the speed so far; None while too little has been seen, and at the end."""
        first_time, first_done = self._first
        seconds = read_clock() - first_time
        if not first_done < self._done < self._total or seconds < _MIN_MEASURED_SECONDS:
            return None
        return (self._total - self._done) * seconds / (self._done - first_done)

    def describe(self) -> str:
        """Return the line about it."""
        return f"{self.label}: {self._describe_facts()}"

    def render(self) -> "Table":
        """Return the bar of it, with the facts."""
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        grid = Table.grid(padding=(0, 1))
        bar = ProgressBar(self._total or None, self._done, _BAR_WIDTH, pulse=not self._total)
        grid.add_row(Text(self.label), bar, Text(self._describe_facts()))
        return grid

    def _describe_facts(self) -> str:
        left = self.estimate_left()
        elapsed = "" if self._total and self.facts else f"{format_duration(read_clock() - self._start)} so far"
        time_text = elapsed if left is None else f"about {format_duration(left)} left"
        return ", ".join(filter(None, (self.facts, time_text)))


class Steps:
    """Steps of a known total, with a note about the last ones, such as the loss of a training."""

    def __init__(self, work: Work, unit: str, advise: Callable[[float], str] | None) -> None:
        self._work, self._unit, self._advise, self._start = work, unit, advise, read_clock()
        self.note = ""

    def update(self, done: int, total: int, note: str = "") -> None:
        """Take note of a step."""
        self.note = note
        self._work.update(done, total, ", ".join(filter(None, (f"{self._unit} {done:,} of {total:,}", note))))
        left = self._work.estimate_left()
        if self._advise is not None and left is not None and read_clock() - self._start >= LINE_SECONDS:
            say(self._advise(left), err=True)
            self._advise = None


@contextmanager
def show_passes(label: str) -> Iterator[None]:
    """Show what the work within reports, see `deniable.core.parallel`: passes, their share done and the time left."""
    number, most = 0, 0

    def report(done: int, total: int) -> None:
        nonlocal number, most
        if total <= 1:  # nothing to show
            return
        number += done == 0
        ahead = count_passes_ahead()
        if ahead is not None:
            most = min(most or number + ahead, number + ahead)  # never more than was announced once
        of_all = "" if ahead is None or number > most else f" of {'about ' if ahead else ''}{most}"
        facts = f"pass {number}{of_all}, {100 * done / total:.0f}% of it"
        work.update(number - 1 + done / total, number if ahead is None else max(number, most), facts)

    with _show(label) as work, report_progress_to(report):
        yield


@contextmanager
def show_steps(label: str, unit: str = "step", *, advise: Callable[[float], str] | None = None) -> Iterator[Steps]:
    """Show the steps of work whose total is known, such as a training, and at its end the last one.

    Args:
        label: what is done.
        unit: what is counted.
        advise: called once with the seconds left, when they are known; what it returns is printed on a line of its own.
    """
    with _show(label) as work:
        steps = Steps(work, unit, advise)
        yield steps
    if steps.note:
        say(f"{label}: {work.facts}", err=True)


@contextmanager
def show_bytes_read(label: str, total_bytes: int | None) -> Iterator[Callable[[int], None]]:
    """Show how much of an input is read; the function is called with the number of bytes of every read."""
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        # What is read at once, such as a small table, is still to be worked on.
        total = total_bytes if total_bytes and done < total_bytes else 0
        work.update(done, total, f"{done / 1e6:.1f}{f' of {total / 1e6:.1f}' if total else ''} MB read")

    with _show(label) as work, report_progress_to(lambda _done, _total: None):
        yield advance


def format_duration(seconds: float) -> str:
    """Return a duration in words, as exact as an estimate deserves: 40 s, 3 min, 2 h 10 min."""
    if seconds < _MAX_EXACT_SECONDS:
        return f"{max(seconds, 1):.0f} s"
    minutes = round(seconds / _MINUTE)
    if minutes < _MINUTE:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, _MINUTE)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


_SHOWN_WORK: list[Work | None] = []
"""What is shown, the innermost last."""


@contextmanager
def watch_command() -> Iterator[None]:
    """Say that a command still runs where none of its parts says what it does: while it reads, or imports."""
    is_done = threading.Event()
    thread = threading.Thread(target=_print_lines, args=[is_done], name="progress", daemon=True)
    _SHOWN_WORK.append(Work("working", is_bar=False))
    thread.start()
    try:
        yield
    finally:
        _SHOWN_WORK.pop()
        is_done.set()
        thread.join()


@contextmanager
def show_nothing() -> Iterator[None]:
    """Show no work that goes on around this: what waits for others, such as a service, has no end to come near to."""
    _SHOWN_WORK.append(None)
    try:
        yield
    finally:
        _SHOWN_WORK.pop()


@contextmanager
def _show(label: str) -> Iterator[Work]:
    """Show work: by a bar on a terminal that can rewrite its lines, else by the lines of the command around it."""
    work = Work(label, is_bar=sys.stderr.isatty() and os.environ.get("TERM") != "dumb")
    with contextlib.ExitStack() as stack:
        if work.is_bar and not any(shown is not None and shown.is_bar for shown in _SHOWN_WORK):
            from rich.console import Console
            from rich.live import Live

            stack.enter_context(
                Live(
                    console=Console(stderr=True),
                    get_renderable=_render_shown,
                    refresh_per_second=1 / _REFRESH_SECONDS,
                    transient=True,
                    redirect_stdout=False,
                )
            )
        _SHOWN_WORK.append(work)
        stack.callback(_SHOWN_WORK.remove, work)
        yield work


def _render_shown() -> "Table | str":
    """Return what the bar on a terminal shows: the innermost work."""
    work = _SHOWN_WORK[-1] if _SHOWN_WORK else None
    return "" if work is None else work.render()


def _print_lines(is_done: threading.Event) -> None:
    """Print a line now and then about the innermost work, also where nothing is reported."""
    last_time = read_clock()
    with contextlib.suppress(OSError, ValueError):  # nobody reads standard error any more
        while not is_done.wait(_REFRESH_SECONDS):
            work = _SHOWN_WORK[-1] if _SHOWN_WORK else None
            if work is not None and not work.is_bar and read_clock() - last_time >= LINE_SECONDS:
                last_time = read_clock()
                say(work.describe(), err=True)
