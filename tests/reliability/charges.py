"""What a ledger says after a run: no output without its charge, and a repeat that pays nothing twice."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from deniable import Ledger
from tests.reliability.checks import State
from tests.reliability.commands import LEDGER, LEDGER_KEY, Command
from tests.reliability.runs import FaultServer, Run


@dataclasses.dataclass(frozen=True)
class Charged:
    """What a ledger was charged for."""

    cells: int
    units: int
    problems: tuple[str, ...] = ()


def read_charges(run: Run, inputs: Path) -> Charged:
    """Return what the ledger of a run says."""
    ledger = Ledger(str(run.folder / LEDGER), f"file:{inputs / LEDGER_KEY}")
    rows = list(ledger.list_units())
    return Charged(sum(row.cells for row in rows), sum(row.units for row in rows), tuple(ledger.find_problems()))


def find_charging_faults(
    server: FaultServer,
    command: Command,
    run: Run,
    whole: Charged,
    outputs: tuple[Mapping[str, State], Mapping[str, bytes]],
) -> list[str]:
    """Return what is wrong with the charges of a run, and with those of a repeat, which is made here."""
    states, new = outputs
    charged = read_charges(run, server.inputs)
    problems = [*charged.problems]
    if charged not in {whole, Charged(0, 0)}:
        problems.append(f"the ledger was charged in part: {charged}")
    if not charged.cells and "new" in states.values():
        problems.append("an output is there without its charge")
    if charged.cells and "nothing was charged" in run.err.lower():
        problems.append("it says that nothing was charged, and the ledger was")
    again = server.repeat(command, run)
    expected = (0, whole.cells) if charged.cells else (whole.cells, 0)
    if again.code or "ledger: {:,} texts charged, {:,} charged before".format(*expected) not in again.err:
        problems.append(f"the repeat pays otherwise than it should: {again.err}")
    if read_charges(again, server.inputs) != whole:
        problems.append("the repeat leaves other charges than an undisturbed run")
    released = {name: (run.folder / "out" / name).read_bytes() for name in command.certified}
    if released != {name: new[name] for name in command.certified}:
        problems.append("the repeat releases other bytes than an undisturbed run")
    return problems
