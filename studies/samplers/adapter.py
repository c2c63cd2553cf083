"""An adapter in a package's own environment, asked for laws over a pipe."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from packages import Package

HERE = Path(__file__).resolve().parent


class Adapter:
    """One running adapter; `facts` is what it said first."""

    def __init__(self, process: subprocess.Popen[str], errors: Path) -> None:
        """Wait until the package is open."""
        self.process, self.errors = process, errors
        self.facts = self.read()

    def read(self) -> dict[str, Any]:
        """Return the next answer; ValueError if it is an error, or if there is none."""
        if self.process.stdout is None or not (line := self.process.stdout.readline()):
            self.process.wait(timeout=30)  # until it has said why
            lines = self.errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            message = f"the adapter ended: {lines[-1] if lines else 'it said nothing'}"
            raise ValueError(message)
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise ValueError(answer["error"])
        return answer

    def ask(self, source: str, records: Any, prefix: tuple[int, ...] = ()) -> Any:  # noqa: ANN401 - an array
        """Return the array that a source gives for records and a prefix."""
        if self.process.stdin is None:
            message = "the adapter has no input"
            raise ValueError(message)
        request = {"source": source, "records": records, "prefix": list(prefix)}
        self.process.stdin.write(f"{json.dumps(request)}\n")
        self.process.stdin.flush()
        path = Path(self.read()["file"])
        array = np.load(path)
        path.unlink()
        return array

    def source(self, name: str) -> Callable[[Any, tuple[int, ...]], Any]:
        """Return a source as a function that `dn.audit_language_model` takes."""
        return lambda records, prefix: self.ask(name, records, prefix)


@contextmanager
def opened(package: Package, environments: Path, limit: float) -> Iterator[Adapter]:
    """Start a fresh adapter of a package; end it, after `limit` seconds at the latest."""
    python = find_environment(environments, package)
    folder = environments / f"{package.name}-files"
    folder.mkdir(exist_ok=True)
    errors = folder / "adapter.err"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with (
        errors.open("w", encoding="utf-8") as stream,
        subprocess.Popen(
            [str(python), str(HERE / f"{package.script}.py"), str(folder.resolve())],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stream, text=True,
            env=environment | {"HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1"},
        ) as process,
    ):  # fmt: skip
        timer = threading.Timer(limit, process.kill)
        timer.start()
        try:
            yield Adapter(process, errors)
        finally:
            timer.cancel()
            process.kill()


def find_environment(folder: Path, package: Package) -> Path:
    """Return the interpreter of a package's environment, made by pip the first time."""
    python = folder.resolve() / package.name / "bin" / "python"
    if not python.exists():
        subprocess.run([package.interpreter, "-m", "venv", str(python.parents[1])], check=True)
        for options in (package.requirements, ("--no-deps", *package.files)):
            subprocess.run([str(python), "-m", "pip", "install", "--quiet", *options], check=True)
    return python
