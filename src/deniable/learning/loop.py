"""The loop around the steps: checkpoints, progress, and an end when something is wrong."""

import dataclasses
import hashlib
import io
import math
import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, Self

import torch
from torch import Tensor

from deniable import __version__
from deniable.errors import DeniableError, InputError
from deniable.learning.stored import read_stored
from deniable.randomness import Secret

_FORMAT = 2


class Run(Protocol):
    """A training run that goes step by step."""

    @property
    def steps(self) -> int:
        """How many there are."""
        ...

    @property
    def result(self) -> dict[str, Tensor]:
        """The parameters to release."""
        ...

    def step(self, number: int) -> float:
        """Take one, and return its loss."""
        ...

    def state(self) -> dict[str, Any]:
        """Return what the next step depends on."""
        ...

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to where `state` was taken."""
        ...


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """Where a run is kept from time to time, and what it must agree with to be taken up.

    The file holds the run's key. It is its owner's alone, is readable by its owner only, and is removed at the end.

    Attributes:
        path: of the file.
        parameters: everything that the run depends on, as JSON holds it.
        every: steps from one to the next.
        run: fingerprint of the one run that it serves, see `bind`; None to look at the file, whatever its run.
    """

    path: Path
    parameters: dict[str, Any]
    every: int
    run: str | None = None

    def bind(self, described: Mapping[str, Any]) -> Self:
        """Return the checkpoint of one run: its key then serves no other, whatever ``parameters`` leave out.

        Two models of different data under one key would share their noise, and their difference would be free of it.

        Args:
            described: everything that the run is a function of beside its key, with values whose `repr` tells them
                apart.
        """
        held = repr((__version__, sorted(described.items())))
        return dataclasses.replace(self, run=hashlib.blake2b(held.encode(), digest_size=16).hexdigest())

    def key(self, fresh: bytes) -> Secret:
        """Return the key of the run that is kept, or ``fresh`` where there is none.

        Raises:
            InputError: the file is damaged, or of another run.
        """
        found = self._read()
        return Secret(fresh) if found is None else found["key"]

    def restore(self, run: Run) -> int:
        """Set a run back to where the file was written, and return the number of its next step; 0 without a file."""
        found = self._read()
        if found is None:
            return 0
        run.restore(found["state"])
        return int(found["next"])

    def write(self, run: Run, key: bytes, following: int) -> None:
        """Keep a run, whole or not at all: where that fails, the file of before stays.

        Raises:
            DeniableError: it cannot be written.
        """
        held = io.BytesIO()
        content = {"format": _FORMAT, "parameters": self.parameters, "run": self.run, "next": following}
        torch.save({**content, "key": bytes(key), "state": run.state()}, held)
        part = self.path.with_name(f".{self.path.name}.{secrets.token_hex(4)}.part")
        try:
            with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:  # noqa: PTH123 - a descriptor
                stream.write(held.getbuffer())
                stream.flush()
                os.fsync(stream.fileno())
            part.replace(self.path)
        except OSError as error:
            kept = " The last good checkpoint is kept." if self.path.exists() else ""
            raise DeniableError(
                f"The checkpoint {str(self.path)!r} cannot be written: {error.strerror}.{kept} "
                "Make room, and the same command goes on from there."
            ) from None
        finally:
            part.unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove the file, when the model is written."""
        self.path.unlink(missing_ok=True)

    def _read(self) -> dict[str, Any] | None:
        if not self.path.exists():
            return None
        try:
            found = read_stored(self.path)
            intact = found["format"] == _FORMAT and {"parameters", "run", "key", "next", "state"} <= {*found}
        except Exception as error:  # noqa: BLE001 - whatever bytes there are
            reason = " ".join(str(error).split())[:100]
            raise InputError(
                f"{str(self.path)!r} is no checkpoint: {reason}. Remove it, or begin anew with --force."
            ) from None
        if not intact:
            raise InputError(f"{str(self.path)!r} is of another version: begin anew with --force.")
        found["key"] = Secret(found["key"])
        old = found["parameters"]
        for name in dict.fromkeys([*old, *self.parameters]):
            if old.get(name) != self.parameters.get(name):
                # A hash of private data confirms a guess of them: it is in no message.
                values = (old.get(name), self.parameters.get(name))
                differs = f"other {name}" if name == "data" else f"{name} {values[0]}. Got {values[1]}"
                raise InputError(
                    f"{str(self.path)!r} is the checkpoint of a run with {differs}: finish that run, or begin "
                    "anew with --force."
                )
        if self.run not in {None, found["run"]}:
            raise InputError(
                f"{str(self.path)!r} is the checkpoint of a run with other data, options or version: finish that run, "
                "or begin anew with --force."
            )
        kept: dict[str, Any] = found
        return kept


def train(
    run: Run,
    key: bytes,
    checkpoint: Checkpoint | None = None,
    report: Callable[[int, float], None] = lambda done, loss: None,  # noqa: ARG005 - nobody is told
) -> None:
    """Take all steps of a run that are still to be taken.

    Args:
        run: from its beginning.
        key: the run's.
        checkpoint: where it is kept; taken up where it is found.
        report: told the number of steps done and the loss of the last.

    Raises:
        DeniableError: the loss is no number any more, or a checkpoint cannot be written.
        InputError: the checkpoint is damaged, or of another run.
    """
    first = checkpoint.restore(run) if checkpoint else 0
    for number in range(first, run.steps):
        loss = run.step(number)
        if not math.isfinite(loss):
            kept = " The last good checkpoint is kept." if checkpoint and checkpoint.path.exists() else ""
            raise DeniableError(
                f"The loss is {loss} at step {number + 1} of {run.steps}: take a smaller learning rate.{kept}"
            )
        report(number + 1, loss)
        if checkpoint and (number + 1) % checkpoint.every == 0 and number + 1 < run.steps:
            checkpoint.write(run, key, number + 1)
    if not all(held.isfinite().all() for held in run.result.values()):
        raise DeniableError(f"The parameters are not finite after {run.steps} steps: take a smaller learning rate.")
