"""Work on several threads: order, errors, compiled loops, and what is reported of it to whom."""

import os
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from deniable.core.parallel import (
    compile_loop,
    count_cores,
    count_passes_ahead,
    expect_passes,
    fold_parallel,
    get_progress_reporter,
    hide_progress,
    parallel_map,
    report_progress_to,
)


@pytest.mark.parametrize("workers", [None, 1, 3])
def test_results_come_in_order_and_are_reported(workers):
    """Results stand in the order of the items, and each call reports from nothing to everything, item by item."""

    def work(number):
        time.sleep(0.002 * (number % 3 == 0))
        return number * number

    seen = []
    with report_progress_to(lambda done, total: seen.append((done, total))):
        assert parallel_map(work, range(20), workers) == [number * number for number in range(20)]
        assert parallel_map(len, iter(["ab"]), workers) == [2]
        assert parallel_map(abs, [], workers) == []
    assert seen == [*((done, 20) for done in range(21)), (0, 1), (1, 1), (0, 0)]


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


def test_number_of_threads(monkeypatch):
    """Work runs on as many threads as asked for, and no more; by default on all processors of this process."""
    barrier = threading.Barrier(3, timeout=120)
    assert len(set(parallel_map(lambda _: (barrier.wait(), threading.get_ident())[1], range(3), 3))) == 3
    assert len(set(parallel_map(lambda _: threading.get_ident(), range(20), 1))) == 1
    assert 1 <= count_cores() <= (os.cpu_count() or 1)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert count_cores() == (os.cpu_count() or 1)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert count_cores() == 1


@pytest.mark.parametrize("place", ["work", "report"])
def test_the_first_error_stops_the_rest(place):
    """An error of the work, or of who is told of it, reaches the caller as it is, and items not begun are left out."""
    begun = []

    def fail_at(number, at):
        if number == at:
            raise LookupError

    def work(number):
        begun.append(number)
        fail_at(number, 3 if place == "work" else None)
        time.sleep(0.01)  # so that all of them would take a minute

    with (
        pytest.raises(LookupError),
        report_progress_to(lambda done, _: fail_at(done, 2 if place == "report" else None)),
    ):
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


@pytest.mark.deep
def test_a_blas_that_is_loaded_later_has_one_thread_too():
    """The BLAS of a library that is imported after a first pass is held to one thread in the next one."""
    program = """
import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits
from deniable.core.parallel import parallel_map

count_threads = lambda _: [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
first = parallel_map(count_threads, range(2), 2)
import scipy.linalg
with threadpool_limits(limits=2, user_api="blas"):
    second = parallel_map(count_threads, range(2), 2)
assert len(second[0]) > len(first[0]) > 0, (first, second)
assert {*first[0], *second[0]} == {1}, (first, second)
"""
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "OPENBLAS_NUM_THREADS": "2"})


def test_a_compiled_function_works_without_a_place_for_its_code():
    """A function whose code cannot be kept on disk is compiled all the same."""
    namespace = {}
    exec("def add(x, y):\n    return x + y\n", namespace)
    assert compile_loop(namespace["add"])(2.0, 3.0) == 5.0


def test_who_is_told():
    """A report ends with its context, after an error too; an inner one takes its place; inner steps are their own."""
    outer, inner, seen = [], [], []
    with report_progress_to(lambda done, _: outer.append(done)):
        with report_progress_to(lambda done, _: inner.append(done)):
            parallel_map(abs, [1])
        parallel_map(abs, [1, 2])
    with pytest.raises(LookupError), report_progress_to(lambda done, _: outer.append(done)):
        raise LookupError
    parallel_map(abs, [1, 2, 3])
    assert (inner, outer) == ([0, 1], [0, 1, 2])
    with report_progress_to(lambda done, total: seen.append((done, total))):
        parallel_map(lambda _: parallel_map(abs, range(9), 1), range(2), 2)
        with hide_progress():
            parallel_map(abs, [1, 2])
        get_progress_reporter()(1, 3)
    assert seen == [(0, 2), (1, 2), (2, 2), (1, 3)]


def test_passes_ahead():
    """Passes that outer and inner work expect are added, end with their context, and are unknown to inner listeners."""
    assert count_passes_ahead() is None
    with expect_passes(3):
        with expect_passes(2):
            assert count_passes_ahead() == 5
        assert count_passes_ahead() == 3
        with report_progress_to(lambda done, total: None):  # noqa: ARG005 - listens to nothing
            assert count_passes_ahead() is None
            with expect_passes(1):
                assert count_passes_ahead() == 1
    with pytest.raises(LookupError), expect_passes(3):
        raise LookupError
    assert count_passes_ahead() is None
