"""Work on several threads: order, errors and compiled loops."""

import os
import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from deniable.parallel import compiled, cores, each


@pytest.mark.parametrize("workers", [None, 1, 2, 7])
def test_results_come_in_order(workers):
    """Results stand in the order of the items, whichever thread was first."""

    def work(number):
        time.sleep(0.002 * (number % 3 == 0))
        return number * number

    assert each(work, range(50), workers) == [number * number for number in range(50)]


def test_no_items():
    """No items give no results, and an iterator serves as well as a list."""
    assert each(len, []) == []
    assert each(len, iter(["a", "bc"])) == [1, 2]


def test_number_of_threads():
    """Work runs on as many threads as asked for, and no more."""
    barrier = threading.Barrier(3, timeout=30)
    assert len(set(each(lambda _: (barrier.wait(), threading.get_ident())[1], range(3), 3))) == 3
    assert len(set(each(lambda _: threading.get_ident(), range(20), 1))) == 1


def test_first_error_is_raised_and_stops_the_rest():
    """An error of the work reaches the caller as it is, and items not begun are left out."""
    begun = []

    def work(number):
        begun.append(number)
        if number == 3:
            raise LookupError("item 3")
        time.sleep(0.001)

    with pytest.raises(LookupError, match="item 3"):
        each(work, range(10_000), 2)
    assert len(begun) < 10_000


def test_blas_has_one_thread_meanwhile():
    """Matrix products inside the work run on one thread, so that workers do not change results."""
    np.ones((2, 2)) @ np.ones((2, 2))

    def threads(_):
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    before = threads(0)
    assert before
    assert all(number == 1 for numbers in each(threads, range(4), 2) for number in numbers)
    assert threads(0) == before


def test_cores_is_a_number_of_processors(monkeypatch):
    """The number of processors is at least one, with and without the system's affinity."""
    assert 1 <= cores() <= (os.cpu_count() or 1)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert cores() == (os.cpu_count() or 1)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert cores() == 1


def test_compiled_function_works_without_a_place_for_its_code():
    """A function whose code cannot be kept on disk is compiled all the same."""
    namespace = {}
    exec("def add(x, y):\n    return x + y\n", namespace)
    assert compiled(namespace["add"])(2.0, 3.0) == 5.0
