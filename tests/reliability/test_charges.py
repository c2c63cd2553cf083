"""Whatever fails while a ledger is charged, no output is there without its charge, and a repeat pays nothing twice."""

import errno
import signal

import pytest

from tests.reliability.commands import LEDGER_COMMAND
from tests.reliability.library import find_obstacle
from tests.reliability.runs import Fault
from tests.reliability.sweeps import Sweep

pytestmark = pytest.mark.skipif(find_obstacle() is not None, reason=find_obstacle() or "")


@pytest.fixture(scope="module")
def sweep(server, tmp_path_factory):
    """Return the command that charges a ledger, run once without faults."""
    return Sweep(server, LEDGER_COMMAND, tmp_path_factory.mktemp("old"))


def list_problems(sweep, faults):
    """Return what went wrong that may not, by fault."""
    outcomes = [sweep.try_fault(fault) for fault in faults]
    return {(one.fault.name, one.fault.number): (one.problems, one.message) for one in outcomes if one.problems}


def test_each_sync_of_the_ledger_fails(sweep):
    """Where the disk fails while a charge is committed, the message does not deny a charge that is there."""
    calls = range(1, sweep.counts["ledger"]["fsync"] + 1)
    assert len(calls) > 2
    assert list_problems(sweep, [Fault("fsync", call, errno.EIO, area="ledger") for call in calls]) == {}


def test_a_process_is_killed_around_the_charge(sweep):
    """Before the charge is on disk there is no output; after it the repeat gives the same output for nothing."""
    calls = range(1, sweep.counts["ledger"]["fsync"] + 1)
    faults = [Fault("fsync", call, -signal.SIGKILL, area="ledger") for call in calls]
    faults += [Fault("open", 1, -signal.SIGKILL), Fault("rename", 1, -signal.SIGKILL)]
    assert list_problems(sweep, faults) == {}


def test_an_output_without_a_charge_is_found(sweep, monkeypatch):
    """A run whose ledger holds nothing is seen: what the other tests find is not for want of looking."""
    from tests.reliability import charges

    monkeypatch.setattr(charges, "read_charges", lambda *_: charges.Charged(0, 0))
    outcome = sweep.try_fault(Fault("close", 1, errno.EIO, area="ledger"))
    assert outcome.result == "done"
    assert "an output is there without its charge" in outcome.problems
