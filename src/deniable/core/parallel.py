"""Blocks of array work on all cores, and compiled loops.

The heavy steps (matrix products, ufuncs on long rows, compiled loops) release the interpreter
lock, so threads suffice and arrays are shared. The BLAS is held to one thread meanwhile: results
then do not depend on the number of workers.

Progress of long work: work reports it here, and whoever shows it listens.

Long work goes over its items in passes, one after the other: `deniable.core.parallel.parallel_map` is a pass. A pass
reports how many of its items are done, and the work around it says how many passes are still to come.
"""

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

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
    """Announce that about ``count`` passes follow this block; inner blocks add theirs."""
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


Item = TypeVar("Item")
Result = TypeVar("Result")


def count_cores() -> int:
    """The number of processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@lru_cache(maxsize=1)
def _find_blas(module_count: int) -> ThreadpoolController:  # noqa: ARG001 - when to look again
    """Return the handle of the loaded BLAS libraries.

    To find them takes a millisecond, more than many small passes; a further one can only be there after an import.
    """
    return ThreadpoolController()


def fold_parallel(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    take: Callable[[Result], object],
    workers: int | None = None,
) -> None:
    """Call ``take(function(item))`` for all items: the function in ``workers`` threads (default: all), takes in order.

    A result is taken as soon as those before it are, and then forgotten.
    """
    report = get_progress_reporter()
    blas = _find_blas(len(sys.modules))
    with blas.limit(limits=1, user_api="blas"), ThreadPoolExecutor(workers or count_cores()) as pool:
        futures = deque(pool.submit(function, item) for item in items)
        total = len(futures)
        try:
            report(0, total)
            while futures:
                take(futures.popleft().result())
                report(total - len(futures), total)
        except BaseException:
            for future in futures:
                future.cancel()
            raise


def parallel_map(function: Callable[[Item], Result], items: Iterable[Item], workers: int | None = None) -> list[Result]:
    """Return ``[function(item) for item in items]``, computed by ``workers`` threads (default: all)."""
    results: list[Result] = []
    fold_parallel(function, items, results.append, workers)
    return results


def compile_loop(function: Callable[..., Result], *, relaxed: bool = False) -> Callable[..., Result]:
    """Return ``function`` compiled by numba, without the interpreter lock.

    The machine code is cached beside the package or in the user's cache folder; where neither can
    be written it is compiled anew in every process. Division by zero gives infinity or NaN, as in numpy.

    Args:
        function: the loop.
        relaxed: it meets no NaN and the order of its sums and maxima does not matter, so that they
            can be taken by vector instructions.
    """
    from numba import njit

    fastmath = {"nnan", "nsz", "reassoc"} if relaxed else False
    try:
        return njit(cache=True, nogil=True, fastmath=fastmath, error_model="numpy")(function)
    except RuntimeError:
        return njit(nogil=True, fastmath=fastmath, error_model="numpy")(function)
