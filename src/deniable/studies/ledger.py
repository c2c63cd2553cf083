"""What a long study has found so far: kept beside its output, so that an interrupted run goes on."""

import json
import os
import secrets
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.core.errors import InputError

Numbers = npt.NDArray[Any]


class Ledger:
    """Keeps the results of a study's parts, in the order in which they were found.

    The first line of the file holds what the run depends on; every other line is one result. A last line
    that was cut off by a crash is dropped, and computed again.

    Args:
        path: of the file; None keeps nothing.
        parameters: what the run depends on.
        force: begin anew where the file is of another run, in place of an error.

    Raises:
        InputError: the file is of a run with other parameters, or cannot be read.
    """

    def __init__(
        self, path: Path | None = None, parameters: dict[str, Any] | None = None, *, force: bool = False
    ) -> None:
        self._path, self._lock = path, threading.Lock()
        self._found: dict[str, Any] = {}
        self._head = json.loads(json.dumps(parameters or {}))
        if path is None:
            return
        if path.exists():
            try:
                self._found = self._read(path)
            except InputError:
                if not force:
                    raise
                path.unlink()

    def __len__(self) -> int:
        """Return the number of results that are kept."""
        return len(self._found)

    def _read(self, path: Path) -> dict[str, Any]:
        try:
            *whole, cut = path.read_text(encoding="utf-8").split("\n")
            if not whole:  # not even the first line was written to its end
                path.unlink()
                return {}
            head, *kept = [json.loads(line) for line in whole]
            head, found = dict(head), dict(kept)
        except (OSError, ValueError, TypeError) as error:
            raise InputError(f"{str(path)!r} is no unfinished study: {error}. Begin anew with --force.") from None
        if head != self._head:
            name, old, new = _difference(head, self._head)
            raise InputError(
                f"{str(path.parent)!r} holds an unfinished run with {name} {old}. Got {new}: finish that one, name "
                "another folder, or begin anew with --force."
            )
        if cut:  # what is whole stays where it is, so that nothing is lost if this is interrupted too
            os.truncate(path, path.stat().st_size - len(cut.encode()))
        return found

    def remember(self, name: str, compute: Callable[[], Any]) -> Any:  # noqa: ANN401 - what JSON holds
        """Return the kept result called ``name``, or compute and keep it.

        Args:
            name: of one part, unique within the study.
            compute: returns numbers, texts, lists and dicts, as JSON holds them.
        """
        with self._lock:
            if name in self._found:
                return self._found[name]
        found = json.loads(json.dumps(compute()))
        with self._lock:
            self._found[name] = found
            if self._path is not None:
                self._append([name, found])
        return found

    def _append(self, entry: Any) -> None:  # noqa: ANN401 - what JSON holds
        path = self._path
        if path is None:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps(entry) + "\n"]
        if not path.exists():
            lines.insert(0, json.dumps(self._head) + "\n")
        with path.open("a", encoding="utf-8") as stream:
            stream.writelines(lines)
            stream.flush()
            os.fsync(stream.fileno())

    def array(self, name: str, compute: Callable[[], Numbers]) -> Numbers:
        """Return the kept array called ``name``, or compute and keep it in the folder ``corpora``.

        Studies with one output folder share it; what an array depends on stands in its name.
        """
        if self._path is None:
            return compute()
        path = self._path.parent / "corpora" / f"{name}.npy"
        try:
            kept: Numbers = np.load(path, allow_pickle=False)
        except (OSError, ValueError, EOFError):
            kept = compute()
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_name(f".{name}.{secrets.token_hex(4)}.part")
            try:
                with part.open("xb") as stream:
                    np.save(stream, kept)
                part.replace(path)
            finally:
                part.unlink(missing_ok=True)
        return kept

    def beside(self, name: str) -> Path | None:
        """Return where a part keeps its own unfinished work until it is done; None where nothing is kept."""
        if self._path is None:
            return None
        self._path.parent.mkdir(parents=True, exist_ok=True)
        return self._path.with_suffix(f".{name}")

    def close(self) -> None:
        """Remove the file: the study is complete."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)


def _difference(old: dict[str, Any], new: dict[str, Any]) -> tuple[str, Any, Any]:
    """Return the first parameter that differs, with both of its values."""
    for name in dict.fromkeys([*old, *new]):
        if old.get(name) != new.get(name):
            return name, old.get(name), new.get(name)
    return "parameters", old, new
