"""The training loop: step by step, with checkpoints from which an interrupted run resumes."""

import contextlib
import dataclasses
import hashlib
import io
import math
import os
import secrets
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

import torch
from torch import Tensor

from deniable import __version__
from deniable.core.errors import DeniableError, InputError, shorten_text
from deniable.core.randomness import SecretBytes

_CHECKPOINT_FORMAT = 2
_CHECKPOINT_FIELDS = {"parameters", "run", "key", "next", "state"}


class TrainingRun(Protocol):
    """A training run that is advanced step by step."""

    @property
    def steps(self) -> int:
        """T, the number of steps."""
        ...

    @property
    def result(self) -> dict[str, Tensor]:
        """The parameters to release."""
        ...

    def step(self, number: int) -> float:
        """Take step ``number`` (from 0), and return its loss."""
        ...

    def state(self) -> dict[str, Any]:
        """Return what the next step depends on."""
        ...

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to where `state` was taken."""
        ...


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """The file that a run is saved to from time to time, and what a run must match to be resumed from it.

    The file holds the run's secret key: only its owner may read it, and it is removed at the end.

    Attributes:
        path: of the file.
        parameters: everything that the run depends on, as JSON values.
        interval: number of steps between two saves.
        run_fingerprint: fingerprint of the one run that it belongs to, see `bind`; None to read the file of any run.
    """

    path: Path
    parameters: dict[str, Any]
    interval: int
    run_fingerprint: str | None = None

    def bind(self, run_facts: Mapping[str, Any]) -> Self:
        """Return the checkpoint of one run, whose key then serves no other run, whatever ``parameters`` leave out.

        Two models of different data under one key would share their noise, which would cancel in their difference.

        Args:
            run_facts: everything that the run depends on besides its key; different values must have different reprs.
        """
        description = repr((__version__, sorted(run_facts.items())))
        return dataclasses.replace(
            self, run_fingerprint=hashlib.blake2b(description.encode(), digest_size=16).hexdigest()
        )

    def load_key(self, fresh: bytes) -> SecretBytes:
        """Return the key of the saved run, or ``fresh`` if there is no file.

        Raises:
            InputError: the file is damaged, or of another run.
        """
        content = self._read_content()
        return SecretBytes(fresh) if content is None else content["key"]

    def restore(self, run: TrainingRun) -> int:
        """Restore a run to the state in the file, and return the number of its next step; 0 without a file."""
        content = self._read_content()
        if content is None:
            return 0
        run.restore(content["state"])
        return int(content["next"])

    def write(self, run: TrainingRun, key: bytes, next_step: int) -> None:
        """Save a run atomically: if that fails, the previous file stays.

        Raises:
            DeniableError: it cannot be written.
        """
        buffer = io.BytesIO()
        content = {
            "format": _CHECKPOINT_FORMAT,
            "parameters": self.parameters,
            "run": self.run_fingerprint,
            "next": next_step,
        }
        torch.save({**content, "key": bytes(key), "state": run.state()}, buffer)
        part = self.path.with_name(f".{self.path.name}.{secrets.token_hex(4)}.part")
        try:
            with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:  # noqa: PTH123 - a descriptor
                stream.write(buffer.getbuffer())
                stream.flush()
                os.fsync(stream.fileno())
            part.replace(self.path)
        except OSError as error:
            kept_note = " The last good checkpoint is kept." if self.path.exists() else ""
            raise DeniableError(
                f"The checkpoint {str(self.path)!r} cannot be written: {error.strerror}.{kept_note} "
                "Free some space, and the same command resumes from there."
            ) from None
        finally:
            with contextlib.suppress(OSError):
                part.unlink()

    def remove(self) -> None:
        """Remove the file, which is no longer needed.

        Raises:
            DeniableError: it cannot be removed.
        """
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            raise DeniableError(
                f"The checkpoint {str(self.path)!r}, which is no longer needed, cannot be removed: {error.strerror}. "
                "Remove it: it holds the key of the run's noise."
            ) from None

    def _read_content(self) -> dict[str, Any] | None:
        if not self.path.exists():
            return None
        try:
            stored = _read_tensor_file(self.path)
            is_intact = stored["format"] == _CHECKPOINT_FORMAT and stored.keys() >= _CHECKPOINT_FIELDS
        except Exception as error:  # noqa: BLE001 - whatever bytes there are
            reason = shorten_text(str(error), 100)
            raise InputError(
                f"{str(self.path)!r} is no checkpoint: {reason}. Remove it, or start over with --force."
            ) from None
        if not is_intact:
            raise InputError(f"{str(self.path)!r} was written by another version: start over with --force.")
        stored["key"] = SecretBytes(stored["key"])
        stored_parameters = stored["parameters"]
        for name in dict.fromkeys([*stored_parameters, *self.parameters]):
            if stored_parameters.get(name) != self.parameters.get(name):
                # A hash of private data would confirm a guess at them, so no message contains it.
                values = (stored_parameters.get(name), self.parameters.get(name))
                difference = f"other {name}" if name == "data" else f"{name} {values[0]}. Got {values[1]}"
                raise InputError(
                    f"{str(self.path)!r} is the checkpoint of a run with {difference}: finish that run, or start "
                    "over with --force."
                )
        if self.run_fingerprint not in {None, stored["run"]}:
            raise InputError(
                f"{str(self.path)!r} is the checkpoint of a run with other data, options or version: finish that run, "
                "or start over with --force."
            )
        content: dict[str, Any] = stored
        return content


def _read_tensor_file(path: Path) -> Any:  # noqa: ANN401 - whatever the file holds
    """Return the tensors, numbers and texts of a file that its owner's run wrote, on the processor.

    torch reads past a changed byte of a tensor, so the file's own checksums are verified first.

    Raises:
        Exception: of many kinds, where the file is another user's, of another kind, cut short or damaged.
    """
    if hasattr(os, "geteuid") and path.stat().st_uid != os.geteuid():
        raise InputError("it belongs to another user")
    with zipfile.ZipFile(path) as archive:
        damaged_member = archive.testzip()
        if damaged_member is not None:
            raise zipfile.BadZipFile(f"the checksum of {damaged_member} is wrong")
    return torch.load(path, map_location="cpu", weights_only=True)


def run_training(
    run: TrainingRun,
    key: bytes,
    checkpoint: Checkpoint | None = None,
    report: Callable[[int, float], None] = lambda done, loss: None,  # noqa: ARG005 - reports nothing
) -> None:
    """Take all remaining steps of a run.

    Args:
        run: at its first step.
        key: of the run.
        checkpoint: where the run is saved; if its file exists, the run is resumed from it.
        report: called with the number of steps done and the loss of the last one.

    Raises:
        DeniableError: the loss is not finite, or a checkpoint cannot be written.
        InputError: the checkpoint is damaged, or of another run.
    """
    first_step = checkpoint.restore(run) if checkpoint else 0
    for number in range(first_step, run.steps):
        loss = run.step(number)
        if not math.isfinite(loss):
            kept_note = " The last good checkpoint is kept." if checkpoint and checkpoint.path.exists() else ""
            raise DeniableError(
                f"The loss is {loss} at step {number + 1} of {run.steps}: take a smaller learning rate.{kept_note}"
            )
        report(number + 1, loss)
        if checkpoint and (number + 1) % checkpoint.interval == 0 and number + 1 < run.steps:
            checkpoint.write(run, key, number + 1)
    if not all(tensor.isfinite().all() for tensor in run.result.values()):
        raise DeniableError(f"The parameters are not finite after {run.steps} steps: take a smaller learning rate.")


Built = TypeVar("Built")


def build_with_seed(seed: int, build: Callable[[], Built]) -> Built:
    """Return what ``build`` returns under a public seed of torch's generator, whose state is restored afterwards."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return build()


def choose_device() -> torch.device:
    """Return a GPU if there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
