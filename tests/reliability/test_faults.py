"""Whatever fails while a command writes, its outputs are as before or whole and new, and one line says what to do."""

import errno
import itertools

import pytest

from tests.reliability.commands import QUICK_COMMANDS
from tests.reliability.library import find_obstacle
from tests.reliability.runs import SHORT, Fault
from tests.reliability.sweeps import FAILURES, SIGNALS, Sweep

pytestmark = pytest.mark.skipif(find_obstacle() is not None, reason=find_obstacle() or "")

RANDOM_SIGNALS = 4
"""Times that each signal arrives at a random moment."""


@pytest.fixture(scope="module", params=QUICK_COMMANDS, ids=lambda command: command.name)
def sweep(request, server, tmp_path_factory):
    """Return a command, run once without faults."""
    return Sweep(server, request.param, tmp_path_factory.mktemp("old"))


def list_problems(sweep, faults):
    """Return what went wrong that may not, by fault."""
    outcomes = [sweep.try_fault(fault) for fault in faults]
    return {
        (outcome.fault.name, outcome.fault.number): (outcome.problems, outcome.message)
        for outcome in outcomes
        if outcome.problems
    }


@pytest.mark.parametrize("kind", FAILURES)
def test_each_call_that_fails(sweep, kind):
    """Every call on an output fails once, in one of the ways that it can."""
    calls = range(1, sweep.counts["out"][kind] + 1)
    faults = [Fault(kind, *pair) for pair in zip(calls, itertools.cycle(FAILURES[kind]), strict=False)]
    assert list_problems(sweep, faults) == {}


def test_a_disk_that_stays_full(sweep):
    """From any write on nothing can be written any more."""
    calls = range(1, sweep.counts["out"]["write"] + 1)
    assert list_problems(sweep, [Fault("write", call, errno.ENOSPC, lasts=True) for call in calls]) == {}


def test_short_writes(sweep):
    """Writes that take half of the bytes, all of them, change nothing."""
    outcome = sweep.try_fault(Fault("write", 1, SHORT, lasts=True))
    assert (outcome.result, outcome.problems) == ("done", ())


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_signals(sweep, number):
    """A signal arrives before each call that creates, names or removes a file, and at random moments."""
    faults = [fault for fault in sweep.list_signals(("open", "rename", "link", "unlink")) if fault.killing == number]
    faults += [fault for fault in sweep.draw_signals(RANDOM_SIGNALS, seed=1) if fault.signal == number]
    assert list_problems(sweep, faults) == {}


def test_a_cache_that_cannot_be_written(sweep):
    """Whatever fails in the cache folder, the command does what it should."""
    faults = [
        Fault(kind, 1, FAILURES[kind][0], lasts=True, area="cache")
        for kind, count in sweep.counts.get("cache", {}).items()
        if count
    ]
    assert list_problems(sweep, faults) == {}
    assert all(sweep.try_fault(fault).result == "done" for fault in faults)


def test_a_fault_is_injected(sweep):
    """A failure of the first call is seen: what the other tests find is not for want of faults."""
    assert sweep.try_fault(Fault("open", 1, errno.ENOSPC)).result == "refused"
    outcome = sweep.try_fault(Fault("write", 1, -SIGNALS[0]))
    assert outcome.result == "ended by 9"
