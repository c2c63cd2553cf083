"""Every fault of a command in turn, and what became of its outputs."""

import dataclasses
import errno
import itertools
import signal
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from tests.reliability.charges import Charged, find_charging_faults, read_charges
from tests.reliability.checks import OLD, State, find_faults, read_states
from tests.reliability.commands import Command
from tests.reliability.runs import NO_FAULT, SHORT, Fault, FaultServer

FAILURES: Mapping[str, tuple[int, ...]] = {
    "open": (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EROFS, errno.EINTR),
    "write": (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EINTR, SHORT),
    "fsync": (errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EINTR),
    "close": (errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EINTR),
    "rename": (errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EROFS),
    "unlink": (errno.EIO, errno.EROFS),
    "mkdir": (errno.ENOSPC, errno.EIO, errno.EROFS),
    "link": (errno.EIO, errno.ENOSPC, errno.EPERM),
}
"""Operation -> how it can fail."""
LASTING = ((errno.ENOSPC, ("open", "write")), (errno.EROFS, ("open", "rename", "unlink", "link")))
"""A disk that stays full, and one that can no longer be written."""
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
_HANDLER_SECONDS = 0.01
AREAS = ("out", "cache", "tmp", "ledger")


@dataclasses.dataclass(frozen=True)
class Outcome:
    """A run with a fault.

    Attributes:
        command: its name.
        fault: what went wrong.
        result: ``done``, ``refused``, or the signal that ended it.
        states: of the outputs.
        problems: what it did that it may not do.
        message: what it said at the end; all of it where there are problems.
        has_lost_old: whether an output that was there before is no longer, and no new one is.
    """

    command: str
    fault: Fault
    result: str
    states: Mapping[str, State]
    problems: tuple[str, ...]
    message: str
    has_lost_old: bool


class Sweep:
    """Runs one command with faults."""

    def __init__(self, server: FaultServer, command: Command, old: Path) -> None:
        self.server, self.command = server, command
        self._old = old if command.overwrites else None
        if command.overwrites:
            old.mkdir(exist_ok=True)
            for name in command.outputs:
                (old / name).write_bytes(OLD)
        self.counts: dict[str, dict[str, int]] = {}
        left_out = {"cache": not command.tries_cache, "ledger": not command.charges_ledger}
        self.areas = [area for area in AREAS if not left_out.get(area, False)]
        self._charged: Charged | None = None
        for area in self.areas:
            with server.run(command, dataclasses.replace(NO_FAULT, area=area), self._old) as run:
                if run.code:
                    raise RuntimeError(f"{command.name} fails without a fault: {run.err}")
                self.counts[area] = run.counts
                self.seconds = run.seconds
                self._new = {name: (run.folder / "out" / name).read_bytes() for name in command.outputs}
                self.stdout = run.out
                if command.charges_ledger:
                    self._charged = read_charges(run, server.inputs)

    def list_failures(self) -> Iterator[Fault]:
        """Yield every call of every kind with every way to fail, once and for good."""
        for area in self.areas:
            for kind, actions in FAILURES.items():
                calls = range(1, self.counts[area][kind] + 1)
                yield from (Fault(kind, call, action, area=area) for call, action in itertools.product(calls, actions))
                lasting = [action for action, kinds in LASTING if kind in kinds]
                yield from (Fault(kind, c, a, lasts=True, area=area) for c, a in itertools.product(calls, lasting))

    def list_signals(self, kinds: Sequence[str] = ("open", "write", "close", "rename", "unlink")) -> Iterator[Fault]:
        """Yield every signal before every call that changes an output, or the ledger."""
        for area in ("out", "ledger"):
            for kind, number in itertools.product(kinds, SIGNALS):
                count = self.counts.get(area, {}).get(kind, 0)
                yield from (Fault(kind, call, -number, area=area) for call in range(1, count + 1))

    def draw_signals(self, times: int, seed: int) -> Iterator[Fault]:
        """Yield each signal so many times, at moments drawn uniformly from the time that the command takes.

        The first 10 ms are left out: the program sets its handlers then.
        """
        generator = np.random.default_rng(seed)
        for number in SIGNALS:
            yield from (
                Fault(signal=number, delay=float(generator.uniform(_HANDLER_SECONDS, self.seconds)))
                for _ in range(times)
            )

    def try_fault(self, fault: Fault) -> Outcome:
        """Run the command with a fault, and return what became of it."""
        with self.server.run(self.command, fault, self._old) as run:
            states = read_states(self.command, run, self._old, self._new)
            before: State = "absent" if self._old is None else "old"
            problems = find_faults(self.command, run, fault, states, before)
            if self.command.writes_stdout and run.code == 0 and run.out != self.stdout:
                problems.append("standard output is not whole")
            if self._charged is not None:
                problems += find_charging_faults(self.server, self.command, run, self._charged, (states, self._new))
            result = {0: "done", 2: "refused"}.get(run.code, f"ended by {-run.code}")
            message = run.err if problems else " ".join(run.err.split("\n")[-2:]).strip()
            has_lost_old = before == "old" and "absent" in states.values()
            return Outcome(self.command.name, fault, result, states, tuple(problems), message, has_lost_old)


def describe_loss(outcomes: Sequence[Outcome]) -> str:
    """Return what was lost over some runs: files that were there before and no longer are."""
    count = sum(outcome.has_lost_old for outcome in outcomes)
    return f"old outputs, put aside, in {count}" if count else "nothing"
