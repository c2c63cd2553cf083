"""Blocks of array work on all cores, and compiled loops.

The heavy steps (matrix products, ufuncs on long rows, compiled loops) release the interpreter
lock, so threads suffice and arrays are shared. The BLAS is held to one thread meanwhile: results
then do not depend on the number of workers.
"""

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

from deniable.core.progress import get_progress_reporter

Item = TypeVar("Item")
Result = TypeVar("Result")


def count_cores() -> int:
    """Return the number of processors this process may use."""
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
    from numba import njit  # noqa: PLC0415 - 0.5 s that only users of compiled loops pay

    fastmath = {"nnan", "nsz", "reassoc"} if relaxed else False
    try:
        return njit(cache=True, nogil=True, fastmath=fastmath, error_model="numpy")(function)
    except RuntimeError:
        return njit(nogil=True, fastmath=fastmath, error_model="numpy")(function)
