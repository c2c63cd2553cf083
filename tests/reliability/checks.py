"""What must hold after a run, whatever went wrong in it."""

import json
import signal
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from tests.reliability.commands import MARK, Command
from tests.reliability.runs import SHORT, Fault, Run

State = Literal["absent", "old", "new", "broken"]
"""Of an output: as it was, whole and new, or anything else."""
OLD = b"old\n"
COULD_NOT_RUN = 2


def read_states(command: Command, run: Run, old: Path | None, new: Mapping[str, bytes]) -> dict[str, State]:
    """Return the state of each output."""
    states: dict[str, State] = {}
    for name in command.outputs:
        path = run.folder / "out" / name
        if not path.exists():
            states[name] = "absent"
        elif old is not None and (old / name).exists() and path.read_bytes() == (old / name).read_bytes():
            states[name] = "old"
        else:
            states[name] = "new" if _is_whole(path, new[name], is_repeatable=command.is_repeatable) else "broken"
    return states


def _is_whole(path: Path, example: bytes, *, is_repeatable: bool) -> bool:
    """Return whether a file is whole: what another run wrote, or where runs differ, something of its form."""
    content = path.read_bytes()
    if path.suffix in {".json", ".sig"}:
        return _is_same_document(content, example, is_exact=is_repeatable and path.suffix == ".json")
    if is_repeatable:
        return content == example
    if path.suffix in {".pt", ".model"}:
        return zipfile.is_zipfile(path)
    if path.suffix == ".csv":
        return content.endswith(b"\n") and content.split(b"\n")[0] == example.split(b"\n")[0]
    return content[-6:] == example[-6:] if path.suffix == ".html" else len(content) == len(example)


def _is_same_document(content: bytes, example: bytes, *, is_exact: bool) -> bool:
    """Return whether two JSON texts say the same, or have the same fields.

    Certificates say how many seconds a proof took, and differ in that.
    """
    try:
        document, other = json.loads(content), json.loads(example)
    except ValueError:
        return False
    if not is_exact:
        return sorted(document) == sorted(other)
    for parts in (document, other):
        parts.get("verification", {}).pop("seconds", None)
    return bool(document == other)


def find_faults(command: Command, run: Run, fault: Fault, states: Mapping[str, State], before: State) -> list[str]:
    """Return what a run did that it may not do, in words; nothing where all is well."""
    problems = [f"{name} is {state}" for name, state in states.items() if state == "broken"]
    if run.has_hung:
        problems.append("it hung")
    is_killed = fault.killing == signal.SIGKILL and run.code == -signal.SIGKILL
    problems += _check_pairs(command, states)
    problems += _check_files(command, run, fault, is_killed=is_killed)
    if is_killed:
        return problems
    is_done = all(state == "new" for state in states.values())
    problems += _check_ending(run, fault, is_done=is_done)
    if not is_done and any(state != before for state in states.values()):
        problems.append(f"outputs are neither as before nor new: {dict(states)}")
    return problems


def _check_pairs(command: Command, states: Mapping[str, State]) -> list[str]:
    """Return which released outputs stand without their certificate, or beside that of others."""
    problems = []
    for released in command.certified:
        for certificate in command.certificates:
            state, companion = states[released], states[certificate]
            if state == "new" != companion or (state == "old" and companion == "new"):
                problems.append(f"{released} is {state} where {certificate} is {companion}")
    return problems


def _check_files(command: Command, run: Run, fault: Fault, *, is_killed: bool) -> list[str]:
    """Return which files are left that should not be, or that others can open, or that hold private text."""
    problems = []
    for area in ("out", "tmp", "cache"):
        for path in sorted((run.folder / area).rglob("*")):
            if not path.is_file():
                continue
            name, is_open = path.name, bool(stat.S_IMODE(path.stat().st_mode) & 0o077)
            is_output = area == "out" and name in command.outputs
            is_leftover = not is_output and name != command.checkpoint and area != "cache"
            may_remain = name.endswith(".part") and (is_killed or (fault.kind == "unlink" and fault.action > SHORT))
            if is_leftover and not may_remain:
                problems.append(f"{name} is left")
            is_public = is_output and name not in command.owner_only
            if is_open and not is_public and not name.startswith(".sign.key.pub") and path.read_bytes() != OLD:
                problems.append(f"others can open {name}")
            if is_output and not command.copies_texts and MARK.encode() in path.read_bytes():
                problems.append(f"{name} holds private text")
    return problems


def _check_ending(run: Run, fault: Fault, *, is_done: bool) -> list[str]:
    """Return what is wrong with exit code and messages."""
    errors = [line for line in run.err.splitlines() if line.startswith("deniable: ")]
    problems = [
        f"it shows {what!r}" for what in ("Traceback", "Exception ignored", "internal error") if what in run.err
    ]
    if run.code == 0:
        problems += [] if is_done else ["it exits with 0, and outputs are missing"]
        return problems + (["it exits with 0, and says what failed"] if errors else [])
    if run.code == -signal.SIGTERM and fault.killing == signal.SIGTERM:
        return problems  # before the program has begun
    if run.code != COULD_NOT_RUN:
        problems.append(f"it exits with {run.code}")
    if fault.area == "cache" and not fault.killing:
        problems.append("it fails for want of a cache")
    return problems + _check_message(run, errors, is_done=is_done)


def _check_message(run: Run, errors: list[str], *, is_done: bool) -> list[str]:
    """Return what is wrong with the line that says what failed."""
    if len(errors) != 1 or run.err.splitlines()[-1:] != errors:
        return [f"{len(errors)} lines say what failed"]
    if is_done and "nothing was written" in errors[0]:
        return ["it says that nothing was written, and all is written"]
    if not is_done and "had been written" in errors[0]:
        return ["it says what had been written, and it is not there"]
    return []
