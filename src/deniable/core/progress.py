"""Progress of long work: work reports it here, and whoever shows it listens.

Long work goes over its items in passes, one after the other: `deniable.core.parallel.parallel_map` is a pass. A pass
reports how many of its items are done, and the work around it says how many passes are still to come.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

ProgressReporter = Callable[[int, int], None]
"""Called with the number of items done, from 0 on, and the total of a pass."""


def get_progress_reporter() -> ProgressReporter:
    """Return the function that progress is reported to, ``report(done, total)``; one that does nothing by default."""
    return _REPORTER.get() or _ignore_progress


@contextmanager
def report_progress_to(report: ProgressReporter) -> Iterator[None]:
    """Within this context every pass calls ``report(done, total)``, with done from 0 to total."""
    reporter_token, ahead_token = _REPORTER.set(report), _PASSES_AHEAD.set(None)
    try:
        yield
    finally:
        _REPORTER.reset(reporter_token)
        _PASSES_AHEAD.reset(ahead_token)


@contextmanager
def hide_progress() -> Iterator[None]:
    """Within this context no progress is reported: for many small passes that are parts of one item of another."""
    with report_progress_to(_ignore_progress):
        yield


@contextmanager
def expect_passes(count: int) -> Iterator[None]:
    """Within this context, say that about ``count`` passes will follow when it ends; inner contexts add theirs."""
    token = _PASSES_AHEAD.set((_PASSES_AHEAD.get() or 0) + count)
    try:
        yield
    finally:
        _PASSES_AHEAD.reset(token)


def count_passes_ahead() -> int | None:
    """Return about how many passes will follow the present one; None where nobody has said so."""
    return _PASSES_AHEAD.get()


def _ignore_progress(done: int, total: int) -> None:
    """Ignore a report of progress."""


_REPORTER: ContextVar[ProgressReporter | None] = ContextVar("progress_reporter", default=None)
_PASSES_AHEAD: ContextVar[int | None] = ContextVar("passes_ahead", default=None)
