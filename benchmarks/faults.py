"""What is lost when the disk fails, or the process is ended, while a command writes.

    python benchmarks/faults.py [--full] [--times 20] [--seed 1] [--commands "key;predict"]

A small library (`tests/reliability/faults.c`) is loaded before the program. It counts the calls of each operation on
the folder of outputs, on the cache, on temporary files and on a ledger, and lets one of them fail: once, or from there
on for good; with ENOSPC, EIO, EDQUOT, EROFS, EINTR, or by a write that takes half of the bytes. In further runs
SIGKILL, SIGTERM and SIGINT arrive before each call, and at moments drawn uniformly from the time that the command
takes. Outputs of the same names are there before, but for keys, which are never overwritten.

Without ``--full`` only the commands of the suite are run; with it, every command that writes files. One row for each
command and kind of fault: how many runs, how they ended, what was lost of what was there before, and what a run did
that it may not do (none is expected): an output that is neither the old nor the whole new one, a released table without
its certificate or beside another's, a file left behind, private text in a file that others can open, a traceback, or
another number of lines than one that say what failed. A command that charges a ledger is run once more after each
fault: no output may be there without its charge, and the repeat must give the bytes of an undisturbed run and pay only
what had not been charged. Exits with 1 if there is any.
"""

import argparse
import collections
import os
import platform
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.reliability.commands import COMMANDS, QUICK_COMMANDS, make_all_inputs, make_inputs  # noqa: E402
from tests.reliability.library import build_library, find_obstacle  # noqa: E402
from tests.reliability.runs import Fault, FaultServer  # noqa: E402
from tests.reliability.sweeps import Outcome, Sweep, describe_loss  # noqa: E402


def name_group(fault: Fault) -> str:
    """Return the row of a fault."""
    area = {"out": "outputs", "cache": "the cache", "tmp": "temporary files", "ledger": "the ledger"}[fault.area]
    if fault.signal:
        return f"{fault.name}"
    if fault.action < 0:
        return f"{fault.name.partition(' ')[0]} before a call"
    return f"{fault.kind} of {area} fails"


def print_rows(command: str, outcomes: Iterable[Outcome]) -> int:
    """Print a row for each kind of fault, and return how many runs did what they may not."""
    groups: dict[str, list[Outcome]] = collections.defaultdict(list)
    for outcome in outcomes:
        groups[name_group(outcome.fault)].append(outcome)
    count = 0
    for group, members in groups.items():
        results = collections.Counter(outcome.result for outcome in members)
        ended = ", ".join(f"{number} {result}" for result, number in sorted(results.items()))
        faulty = [outcome for outcome in members if outcome.problems]
        count += len(faulty)
        print(f"| {command} | {group} | {len(members)} | {ended} | {describe_loss(members)} | {len(faulty) or ''} |")
        for outcome in faulty:
            what = f"{outcome.fault.name}, call {outcome.fault.number}"
            print(f"{command}, {what}: {'; '.join(outcome.problems)}: {outcome.message}", file=sys.stderr)
    sys.stdout.flush()
    return count


def sweep_command(sweep: Sweep, times: int, seed: int) -> list[Outcome]:
    """Return what became of a command under every fault."""
    faults = [*sweep.list_failures(), *sweep.list_signals(), *sweep.draw_signals(times, seed)]
    return [sweep.try_fault(fault) for fault in faults]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="every command that writes")
    parser.add_argument("--times", type=int, default=20, help="random moments for each signal (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the random moments (default: %(default)s)")
    parser.add_argument("--commands", help="their names, separated by semicolons")
    options = parser.parse_args()
    obstacle = find_obstacle()
    if obstacle is not None:
        raise SystemExit(f"faults: {obstacle}")
    commands = COMMANDS if options.full else QUICK_COMMANDS
    names = None if options.commands is None else [name.strip() for name in options.commands.split(";")]
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, seed {options.seed}\n")
    print("| command | fault | runs | ended | lost | did more than it may |\n|---|---|---:|---|---|---:|")
    count = runs = 0
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in").mkdir()
        (make_all_inputs if options.full else make_inputs)(folder / "in")
        server = FaultServer(build_library(folder), folder, folder / "in")
        for number, command in enumerate(commands):
            if names is None or command.name in names:
                outcomes = sweep_command(Sweep(server, command, folder / f"old-{number}"), options.times, options.seed)
                count += print_rows(command.name, outcomes)
                runs += len(outcomes)
        server.close()
    print(f"\n{runs:,} runs in {time.monotonic() - start:.0f} s, {count} of which did more than they may")
    raise SystemExit(bool(count))


if __name__ == "__main__":
    main()
