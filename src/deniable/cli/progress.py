"""Progress on standard error: bars in a terminal, one line about long work elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from deniable.parallel import watched

if TYPE_CHECKING:
    from rich.progress import Progress

_LONG = 20.0
"""Seconds of one pass from which on a line is worth it where there is no terminal."""
_SOON = 2.0


@contextmanager
def passes(label: str) -> Iterator[None]:
    """Show each pass of long work: a bar with the time left, or an estimate if it is long."""
    if sys.stderr.isatty():
        with _bar() as bar, watched(_Bars(label, bar)):
            yield
    else:
        with watched(_Estimate(label)):
            yield


class _Bars:
    """One bar for each pass, in its turn."""

    def __init__(self, label: str, bar: "Progress") -> None:
        self._label, self._bar, self._count = label, bar, 0

    def __call__(self, done: int, total: int) -> None:
        if done == 0:
            self._count += 1
            for task in self._bar.task_ids:
                self._bar.remove_task(task)
            self._task = self._bar.add_task(f"{self._label}, pass {self._count}", total=total)
        else:
            self._bar.update(self._task, completed=done)


class _Estimate:
    """One line, the first time that a pass turns out to be long."""

    def __init__(self, label: str) -> None:
        self._label, self._told, self._start = label, False, 0.0

    def __call__(self, done: int, total: int) -> None:
        if done == 0:
            self._start = time.monotonic()
            return
        spent = time.monotonic() - self._start
        whole = spent * total / done
        if not self._told and spent > _SOON and whole > _LONG:
            self._told = True
            typer.echo(f"{self._label}: about {whole:.0f} s for this pass", err=True)


def _bar() -> "Progress":
    from rich.console import Console  # noqa: PLC0415 - keeps --help fast
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )


@contextmanager
def bytes_read(label: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Show a bar with rate and time left, if standard error is a terminal and the total is known."""
    if total is None or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        DownloadColumn,
        Progress,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    bar = Progress(
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task(label, total=total)
        yield lambda count: bar.advance(task, count)
