"""One processor for each process of the slow tests: small sums take longer to share than to add up."""

import os

import pytest


@pytest.fixture(scope="module", autouse=True)
def one_processor():
    """Keep this process to one of its processors, another one for each process of a run."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    os.sched_setaffinity(0, {sorted(before)[worker % len(before)]})
    yield
    os.sched_setaffinity(0, before)
