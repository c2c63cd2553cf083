"""Blocks of array work on all cores, and compiled loops.

The heavy steps (matrix products, ufuncs on long rows, compiled loops) release the interpreter
lock, so threads suffice and arrays are shared. The BLAS is held to one thread meanwhile: results
then do not depend on the number of workers.
"""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from threadpoolctl import threadpool_limits

from deniable.core.progress import get_progress_reporter

Item = TypeVar("Item")
Result = TypeVar("Result")


def count_cores() -> int:
    """Return the number of processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def parallel_map(function: Callable[[Item], Result], items: Iterable[Item], workers: int | None = None) -> list[Result]:
    """Return ``[function(item) for item in items]``, computed by ``workers`` threads (default: all)."""
    report = get_progress_reporter()
    with threadpool_limits(limits=1, user_api="blas"), ThreadPoolExecutor(workers or count_cores()) as pool:
        futures = [pool.submit(function, item) for item in items]
        results: list[Result] = []
        try:
            report(0, len(futures))
            for future in futures:
                results.append(future.result())
                report(len(results), len(futures))
        except BaseException:
            for future in futures:
                future.cancel()
            raise
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
    from numba import njit  # noqa: PLC0415 - 0.5 s that only users of compiled loops pay

    fastmath = {"nnan", "nsz", "reassoc"} if relaxed else False
    try:
        return njit(cache=True, nogil=True, fastmath=fastmath, error_model="numpy")(function)
    except RuntimeError:
        return njit(nogil=True, fastmath=fastmath, error_model="numpy")(function)
