"""Progress on standard error: bars in a terminal, one line about long work where there is none."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from deniable.core.parallel import report_progress_to

if TYPE_CHECKING:
    from rich.progress import Progress

_LONG_PASS_SECONDS = 20.0
"""Seconds of one pass from which on a line is worth it where there is no terminal."""
_FIRST_ESTIMATE_SECONDS = 2.0


@contextmanager
def show_passes(label: str) -> Iterator[None]:
    """Show each pass of long work: a bar with the time left, or an estimate if it is long."""
    if sys.stderr.isatty():
        with _build_progress() as progress, report_progress_to(_PassBars(label, progress)):
            yield
    else:
        with report_progress_to(_PassEstimate(label)):
            yield


class _PassBars:
    """One bar for each pass, in its turn."""

    def __init__(self, label: str, progress: "Progress") -> None:
        self._label, self._progress, self._pass_count = label, progress, 0

    def __call__(self, done: int, total: int) -> None:
        if done == 0:
            self._pass_count += 1
            for task in self._progress.task_ids:
                self._progress.remove_task(task)
            self._task_id = self._progress.add_task(f"{self._label}, pass {self._pass_count}", total=total)
        else:
            self._progress.update(self._task_id, completed=done)


class _PassEstimate:
    """One line, the first time that a pass turns out to be long."""

    def __init__(self, label: str) -> None:
        self._label, self._is_printed, self._start = label, False, 0.0

    def __call__(self, done: int, total: int) -> None:
        if done == 0:
            self._start = time.monotonic()
            return
        elapsed_seconds = time.monotonic() - self._start
        total_seconds = elapsed_seconds * total / done
        if not self._is_printed and elapsed_seconds > _FIRST_ESTIMATE_SECONDS and total_seconds > _LONG_PASS_SECONDS:
            self._is_printed = True
            typer.echo(f"{self._label}: about {total_seconds:.0f} s for this pass", err=True)


def _build_progress() -> "Progress":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )


@contextmanager
def show_bytes_read(label: str, total_bytes: int | None) -> Iterator[Callable[[int], None]]:
    """Show a bar with rate and time left, if standard error is a terminal and the total is known."""
    if total_bytes is None or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    progress = Progress(
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with progress:
        task_id = progress.add_task(label, total=total_bytes)
        yield lambda count: progress.advance(task_id, count)
