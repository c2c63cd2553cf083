"""Runs of commands, each with one fault, in folders of their own."""

import contextlib
import dataclasses
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.reliability.commands import LEDGER, Command

ROOT = Path(__file__).resolve().parents[2]
SHORT = 0
"""The action of a write that takes a part of the bytes."""
LIMIT_SECONDS = 120.0


@dataclasses.dataclass(frozen=True)
class Fault:
    """What goes wrong in a run.

    Attributes:
        kind: the operation that fails; "" for none.
        number: which call of it, from 1 on.
        action: errno of the failure, `SHORT`, or minus a signal that arrives before the call.
        lasts: whether every later call fails too.
        area: where: ``out``, ``cache``, ``tmp`` or ``ledger``.
        signal: one that arrives after a time, instead; 0 for none.
        delay: that time, in seconds.
    """

    kind: str = ""
    number: int = 0
    action: int = 0
    lasts: bool = False
    area: str = "out"
    signal: int = 0
    delay: float = 0.0

    @property
    def name(self) -> str:
        """What goes wrong, for tables."""
        if self.signal:
            return f"{signal.Signals(self.signal).name} at a random moment"
        if self.action < 0:
            return f"{signal.Signals(-self.action).name} before {self.kind}"
        failure = "short" if self.action == SHORT else errno.errorcode[self.action]
        return f"{self.kind}: {failure}{', and ever after' if self.lasts else ''}"

    @property
    def killing(self) -> int:
        """The signal that arrives; 0 for none."""
        return self.signal or max(0, -self.action)


NO_FAULT = Fault()


@dataclasses.dataclass(frozen=True)
class Run:
    """How a run ended."""

    code: int
    counts: dict[str, int]
    seconds: float
    has_hung: bool
    out: bytes
    err: str
    folder: Path


class FaultServer:
    """Runs commands in forks of one process."""

    def __init__(self, library: Path, folder: Path, inputs: Path) -> None:
        self.folder, self.inputs = folder, inputs
        self._number = 0
        self._warm: set[str] = set()
        self._cache = folder / "warm-cache"
        self._cache.mkdir(mode=0o700)
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.reliability.server", str(library)],
            cwd=ROOT,
            env={**os.environ, **threads, "LD_PRELOAD": str(library), "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def warm(self, command: Command) -> None:
        """Run a command once without faults, so that all forks have what it imports and compiles."""
        if command.name not in self._warm:
            folder = self._make_folder(command, None)
            answer = self._ask(command, folder, NO_FAULT, self._cache, is_warming=True)
            if answer["code"]:
                raise RuntimeError(f"{command.name}: {(folder / 'stderr').read_text()}")
            self._warm.add(command.name)

    @contextlib.contextmanager
    def run(self, command: Command, fault: Fault, old: Path | None = None) -> Iterator[Run]:
        """Run a command with a fault; its folder is there within the context."""
        self.warm(command)
        folder = self._make_folder(command, old)
        cache = folder / "cache" if fault.area == "cache" else self._cache
        try:
            yield self._run_in(command, fault, folder, cache)
        finally:
            shutil.rmtree(folder)

    def repeat(self, command: Command, run: Run) -> Run:
        """Run a command again, without a fault, on what a run has left in its folder."""
        for name in ("stdout", "stderr"):
            (run.folder / name).write_bytes(b"")
        return self._run_in(command, NO_FAULT, run.folder, self._cache)

    def _run_in(self, command: Command, fault: Fault, folder: Path, cache: Path) -> Run:
        answer = self._ask(command, folder, fault, cache)
        return Run(
            answer["code"],
            answer["counts"],
            answer["seconds"],
            answer["has_hung"],
            (folder / "stdout").read_bytes(),
            (folder / "stderr").read_text(errors="replace"),
            folder,
        )

    def _make_folder(self, command: Command, old: Path | None) -> Path:
        self._number += 1
        folder = self.folder / f"run-{self._number}"
        folder.mkdir()
        for name in ("out", "tmp"):
            (folder / name).mkdir()
        for name in ("stdout", "stderr"):
            (folder / name).touch()
        if command.charges_ledger:
            shutil.copytree(self.inputs / LEDGER.parent, folder / LEDGER.parent)
        if old is not None:
            shutil.copytree(old, folder / "out", dirs_exist_ok=True)
        return folder

    def _ask(self, command: Command, folder: Path, fault: Fault, cache: Path, *, is_warming: bool = False) -> Any:
        request = {
            "folder": str(folder),
            "arguments": [argument.replace("{in}", str(self.inputs)) for argument in command.arguments],
            "cache": str(cache),
            "temporary": str(folder / "tmp"),
            "to1": str(folder / "stdout"),
            "to2": str(folder / "stderr"),
            "watched": str(folder / fault.area),
            "kind": fault.kind,
            "number": fault.number,
            "action": fault.action,
            "lasts": int(fault.lasts),
            "signal": fault.signal,
            "delay": fault.delay,
            "limit": LIMIT_SECONDS,
            "is_warming": is_warming,
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())
