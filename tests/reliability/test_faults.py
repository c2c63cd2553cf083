"""Whatever fails while a command writes, its outputs are as before or whole and new, and one line says what to do."""

import errno
import itertools
import signal

import pytest

from tests.reliability import charges
from tests.reliability.commands import LEDGER_COMMAND, QUICK_COMMANDS, make_inputs
from tests.reliability.library import build_library, find_obstacle
from tests.reliability.runs import SHORT, Fault, FaultServer
from tests.reliability.sweeps import FAILURES, SIGNALS, Sweep

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(find_obstacle() is not None, reason=find_obstacle() or ""),
]

RANDOM_SIGNALS = 4
"""Times that each signal arrives at a random moment."""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Return what runs commands with faults."""
    folder = tmp_path_factory.mktemp("faults")
    (folder / "in").mkdir()
    make_inputs(folder / "in")
    running = FaultServer(build_library(folder), folder, folder / "in")
    yield running
    running.close()


@pytest.fixture(scope="module", params=QUICK_COMMANDS, ids=lambda command: command.name)
def sweep(request, server, tmp_path_factory):
    """Return a command, run once without faults."""
    return Sweep(server, request.param, tmp_path_factory.mktemp("old"))


@pytest.fixture(scope="module")
def charging(server, tmp_path_factory):
    """Return the command that charges a ledger, run once without faults."""
    return Sweep(server, LEDGER_COMMAND, tmp_path_factory.mktemp("old"))


def list_problems(sweep, faults):
    """Return what went wrong that may not, by fault."""
    outcomes = [sweep.try_fault(fault) for fault in faults]
    return {(one.fault.name, one.fault.number): (one.problems, one.message) for one in outcomes if one.problems}


@pytest.mark.parametrize("kind", FAILURES)
def test_each_call_that_fails(sweep, kind):
    """Every call on an output fails once, in one of the ways that it can."""
    calls = range(1, sweep.counts["out"][kind] + 1)
    faults = [Fault(kind, *pair) for pair in zip(calls, itertools.cycle(FAILURES[kind]), strict=False)]
    assert list_problems(sweep, faults) == {}


def test_a_disk_that_stays_full(sweep):
    """From any write on nothing can be written any more; writes that take half of the bytes change nothing."""
    calls = range(1, sweep.counts["out"]["write"] + 1)
    assert list_problems(sweep, [Fault("write", call, errno.ENOSPC, lasts=True) for call in calls]) == {}
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


def test_faults_around_a_charge(charging):
    """No output is there without its charge, no message denies one, and a repeat pays nothing twice."""
    calls = range(1, charging.counts["ledger"]["fsync"] + 1)
    assert len(calls) > 2
    faults = [Fault("fsync", call, action, area="ledger") for call in calls for action in (errno.EIO, -signal.SIGKILL)]
    faults += [Fault("open", 1, -signal.SIGKILL), Fault("rename", 1, -signal.SIGKILL)]
    assert list_problems(charging, faults) == {}


def test_an_output_without_a_charge_is_found(charging, monkeypatch):
    """A run whose ledger holds nothing is seen: what the other tests find is not for want of looking."""
    monkeypatch.setattr(charges, "read_charges", lambda *_: charges.Charged(0, 0))
    outcome = charging.try_fault(Fault("close", 1, errno.EIO, area="ledger"))
    assert outcome.result == "done"
    assert "an output is there without its charge" in outcome.problems
