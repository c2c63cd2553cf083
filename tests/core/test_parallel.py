"""Work on several threads: order, errors and compiled loops."""

import os
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from deniable.core.parallel import compile_loop, count_cores, fold_parallel, parallel_map
from deniable.core.progress import report_progress_to


@pytest.mark.parametrize("workers", [None, 1, 2, 7])
def test_results_come_in_order(workers):
    """Results stand in the order of the items, whichever thread was first."""

    def work(number):
        time.sleep(0.002 * (number % 3 == 0))
        return number * number

    assert parallel_map(work, range(50), workers) == [number * number for number in range(50)]


@pytest.mark.parametrize("workers", [1, 3])
def test_results_are_taken_in_order_and_forgotten(workers):
    """Results are taken in order by the calling thread, and those before are not kept."""

    class Result:
        pass

    references, takers = [], set()

    def take(result):
        takers.add(threading.get_ident())
        references.append(weakref.ref(result))
        assert all(reference() is None for reference in references[: -workers - 2])

    fold_parallel(lambda _: Result(), range(40), take, workers)
    assert len(references) == 40
    assert takers == {threading.get_ident()}


def test_no_items():
    """No items give no results, and an iterator serves as well as a list."""
    assert parallel_map(len, []) == []
    assert parallel_map(len, iter(["a", "bc"])) == [1, 2]


def test_number_of_threads():
    """Work runs on as many threads as asked for, and no more."""
    barrier = threading.Barrier(3, timeout=30)
    assert len(set(parallel_map(lambda _: (barrier.wait(), threading.get_ident())[1], range(3), 3))) == 3
    assert len(set(parallel_map(lambda _: threading.get_ident(), range(20), 1))) == 1


def test_first_error_is_raised_and_stops_the_rest():
    """An error of the work reaches the caller as it is, and items not begun are left out."""
    begun = []

    def work(number):
        begun.append(number)
        if number == 3:
            raise LookupError("item 3")
        time.sleep(0.001)

    with pytest.raises(LookupError, match="item 3"):
        parallel_map(work, range(10_000), 2)
    assert len(begun) < 10_000


def test_blas_has_one_thread_meanwhile():
    """Matrix products inside the work run on one thread, so that workers do not change results."""
    np.ones((2, 2)) @ np.ones((2, 2))

    def threads(_):
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    with threadpool_limits(limits=2, user_api="blas"):
        before = threads(0)
        assert 2 in before
        assert all(number == 1 for numbers in parallel_map(threads, range(4), 2) for number in numbers)
        assert threads(0) == before


def test_a_blas_that_is_loaded_later_has_one_thread_too():
    """The BLAS of a library that is imported after a first pass is held to one thread in the next one."""
    program = """
import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits
from deniable.core.parallel import parallel_map

def count_threads(_):
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

first = parallel_map(count_threads, range(2), 2)
import scipy.linalg
with threadpool_limits(limits=2, user_api="blas"):
    second = parallel_map(count_threads, range(2), 2)
assert len(second[0]) > len(first[0]) > 0, (first, second)
assert {*first[0], *second[0]} == {1}, (first, second)
"""
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "OPENBLAS_NUM_THREADS": "2"})


def test_cores_is_a_number_of_processors(monkeypatch):
    """The number of processors is at least one, with and without the system's affinity."""
    assert 1 <= count_cores() <= (os.cpu_count() or 1)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert count_cores() == (os.cpu_count() or 1)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert count_cores() == 1


def test_compiled_function_works_without_a_place_for_its_code():
    """A function whose code cannot be kept on disk is compiled all the same."""
    namespace = {}
    exec("def add(x, y):\n    return x + y\n", namespace)
    assert compile_loop(namespace["add"])(2.0, 3.0) == 5.0


@pytest.mark.parametrize("workers", [None, 1, 3])
def test_watched(workers):
    """Within the context each call reports from nothing to everything, in steps of one item."""
    seen = []
    with report_progress_to(lambda done, total: seen.append((done, total))):
        assert parallel_map(lambda item: -item, range(5), workers) == [0, -1, -2, -3, -4]
        assert parallel_map(abs, iter([-7]), workers) == [7]
        assert parallel_map(abs, [], workers) == []
    assert seen == [*((done, 5) for done in range(6)), (0, 1), (1, 1), (0, 0)]


def test_nobody_watches_outside_the_context():
    """The report ends with its context, after an error too, and an inner context takes its place for a while."""
    outer, inner = [], []
    with report_progress_to(lambda done, _: outer.append(done)):
        with report_progress_to(lambda done, _: inner.append(done)):
            parallel_map(abs, [1])
        parallel_map(abs, [1, 2])
    with pytest.raises(LookupError), report_progress_to(lambda done, _: outer.append(done)):
        raise LookupError
    parallel_map(abs, [1, 2, 3])
    assert (inner, outer) == ([0, 1], [0, 1, 2])


def test_work_inside_of_work_is_not_reported():
    """The steps of an inner call are its own: the report counts the items of the outer one alone."""
    seen = []
    with report_progress_to(lambda done, total: seen.append((done, total))):
        parallel_map(lambda _: parallel_map(abs, range(9), 1), range(2), 2)
    assert seen == [(0, 2), (1, 2), (2, 2)]


def test_a_watcher_that_raises_stops_the_work():
    """An error of the report reaches the caller, and items not begun are left out."""
    begun = []

    def work(number):
        begun.append(number)
        time.sleep(0.001)

    def report(done, _):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), report_progress_to(report):
        parallel_map(work, range(10_000), 2)
    assert len(begun) < 10_000
