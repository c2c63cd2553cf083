"""What a long run has measured so far: kept beside its output, so that an interrupted run resumes."""

import hashlib
import json
import os
import secrets
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.core.errors import InputError

Array = npt.NDArray[Any]


class Ledger:
    """Finished cells, one JSON line each, in the order in which they were finished.

    The first line holds what the run depends on. A last line that was cut off by a crash is dropped.

    Args:
        folder: of the unfinished run, removed at its end; None keeps nothing.
        parameters: what the run depends on.
        force: begin anew where the folder is of another run, in place of an error.

    Raises:
        InputError: the folder is of a run with other parameters, or cannot be read.
    """

    def __init__(
        self, folder: Path | None = None, parameters: dict[str, Any] | None = None, *, force: bool = False
    ) -> None:
        self._folder, self._lock = folder, threading.Lock()
        self._head: dict[str, Any] = json.loads(json.dumps(parameters or {}))
        self._entries: dict[str, Any] = {}
        if self._path is None or not self._path.exists():
            return
        try:
            self._entries = self._read_entries(self._path)
        except InputError:
            if not force:
                raise
            self.close()

    @property
    def _path(self) -> Path | None:
        return None if self._folder is None else self._folder / "ledger.jsonl"

    def __len__(self) -> int:
        """Return the number of finished entries."""
        return len(self._entries)

    def _read_entries(self, path: Path) -> dict[str, Any]:
        try:
            *lines, rest = path.read_bytes().split(b"\n")
            if not lines:  # not even the first line was written to its end
                path.unlink()
                return {}
            head, *pairs = [json.loads(line) for line in lines]
            entries = dict(pairs)
        except (OSError, ValueError, TypeError) as error:
            raise InputError(f"{str(path)!r} is no unfinished run: {error}. Begin anew with --force.") from None
        if head != self._head:
            raise InputError(
                f"{str(path.parent)!r} holds an unfinished run with {_describe_difference(head, self._head)}: finish "
                "that one, name another folder, or begin anew with --force."
            )
        if rest:
            os.truncate(path, path.stat().st_size - len(rest))
        return entries

    def remember(self, name: str, compute: Callable[[], Any]) -> Any:  # noqa: ANN401 - what JSON holds
        """Return the entry called ``name``, or compute and keep it.

        Args:
            name: unique within the run.
            compute: returns numbers, texts, lists and dicts, as JSON holds them.
        """
        with self._lock:
            if name in self._entries:
                return self._entries[name]
        entry = json.loads(json.dumps(compute()))
        with self._lock:
            self._entries[name] = entry
            self._append([name, entry])
        return entry

    def _append(self, pair: list[Any]) -> None:
        if self._folder is None or self._path is None:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps(pair) + "\n"]
        if not self._path.exists():
            lines.insert(0, json.dumps(self._head) + "\n")
        with self._path.open("a", encoding="utf-8") as stream:
            stream.writelines(lines)
            stream.flush()
            os.fsync(stream.fileno())

    def load_array(self, name: str, compute: Callable[[], Array]) -> Array:
        """Return the array called ``name``, or compute and keep it; studies with one output folder share arrays.

        Args:
            name: everything that the array depends on.
            compute: returns it.
        """
        if self._folder is None:
            return compute()
        digest = hashlib.blake2b(name.encode(), digest_size=12).hexdigest()
        path = self._folder.parent / "arrays" / f"{digest}.npy"
        try:
            return np.asarray(np.load(path, allow_pickle=False))
        except (OSError, ValueError, EOFError):
            array = compute()
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.stem}.{secrets.token_hex(4)}.part")
        try:
            with part.open("xb") as stream:
                np.save(stream, array)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        return array

    def scratch(self, name: str) -> Path | None:
        """Return where a cell keeps its own unfinished work until the run ends; None where nothing is kept."""
        if self._folder is None:
            return None
        self._folder.mkdir(parents=True, exist_ok=True)
        return self._folder / name

    def close(self) -> None:
        """Remove everything but the arrays: the run is complete, or begins anew."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def _describe_difference(old: dict[str, Any], new: dict[str, Any]) -> str:
    """Return the first parameter that differs, with both of its values."""
    for name in dict.fromkeys([*old, *new]):
        if old.get(name) != new.get(name):
            return f"{name} {old.get(name)}. Got {new.get(name)}"
    return "other parameters"
