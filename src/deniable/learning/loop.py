"""The training loop, with checkpoints from which an interrupted run resumes; Adam on any loss, and its batches."""

import dataclasses
import hashlib
import io
import math
import os
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from deniable import __version__
from deniable.core.arrays import IntArray
from deniable.core.errors import DeniableError, InputError, shorten_text
from deniable.core.parts import write_whole
from deniable.core.randomness import SecretBytes, make_generator


class ResumableRun(Protocol):
    """What a checkpoint keeps."""

    def state(self) -> dict[str, Any]:
        """Return what the rest of the run depends on."""

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to where `state` was taken."""


class TrainingRun(ResumableRun, Protocol):
    """A training run that is advanced step by step."""

    @property
    def steps(self) -> int:
        """T, the number of steps."""

    @property
    def result(self) -> dict[str, Tensor]:
        """The parameters to release."""

    def step(self, number: int) -> float:
        """Take step ``number`` (from 0), and return its loss."""


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """The file that a run is saved to from time to time, and from which this run, and no other, can be resumed.

    The file holds the run's secret key: only its owner may read it, and it is removed at the end.

    Attributes:
        path: of the file.
        interval: number of steps between two saves.
        is_replaced: whether the file of another run is removed, in place of an error.
        announce: called where a run is resumed.
        facts: fingerprint of everything that the run depends on, by name, see `bind`.
    """

    path: Path
    interval: int
    is_replaced: bool = False
    announce: Callable[[], None] = lambda: None
    facts: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def bind(self, run_facts: Mapping[str, Any]) -> Self:
        """Return the checkpoint of one run, whose key then serves no other run.

        Two models of different data under one key would share their noise, which would cancel in their difference.

        Args:
            run_facts: everything that the run depends on besides its key, or more of it; different values must have
                different reprs.
        """
        prints = {
            name: hashlib.blake2b(repr(fact).encode(), digest_size=16).hexdigest()
            for name, fact in {"version": __version__, **run_facts}.items()
        }
        return dataclasses.replace(self, facts={**self.facts, **prints})

    def load_key(self, fresh: bytes) -> SecretBytes:
        """Return the key of the saved run, or ``fresh`` if there is no file, or one of another run that is replaced.

        Raises:
            InputError: the file is damaged, or of another run, and is not replaced.
        """
        content = self._read_content()
        if content is None:
            return SecretBytes(fresh)
        self.announce()
        key: SecretBytes = content["key"]
        return key

    def restore(self, run: ResumableRun) -> int:
        """Restore a run to the state in the file, and return the number of its next step; 0 without a file."""
        content = self._read_content()
        if content is None:
            return 0
        run.restore(content["state"])
        return int(content["next"])

    def write(self, run: ResumableRun, key: bytes, next_step: int) -> None:
        """Save a run atomically: if that fails, the previous file stays.

        Raises:
            DeniableError: it cannot be written.
        """
        buffer = io.BytesIO()
        content = {"facts": dict(self.facts), "key": bytes(key), "next": next_step, "state": run.state()}
        torch.save(content, buffer)
        try:
            write_whole(self.path, buffer.getbuffer())
        except OSError as error:
            remedy = "and run the same command again, from its beginning."
            if self.path.exists():
                remedy = "and the same command resumes from the last good one, which is kept."
            raise DeniableError(
                f"The checkpoint {str(self.path)!r} cannot be written: {error.strerror}. Free some space, {remedy}"
            ) from None

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
        problem = ""
        try:
            stored = _read_tensor_file(self.path)
            stored["key"], kept = SecretBytes(stored["key"]), dict(stored["facts"])
            others = [name for name, fingerprint in self.facts.items() if kept.get(name) != fingerprint]
            if others:
                problem = f"is the checkpoint of a run with other {', '.join(others)}: finish that run"
        except Exception as error:  # noqa: BLE001 - whatever bytes there are
            problem = f"is not a checkpoint: {shorten_text(str(error), 100)}. Remove it"
        if not problem:
            return stored
        if not self.is_replaced:
            raise InputError(f"{str(self.path)!r} {problem}, or start over with --force.")
        self.remove()
        return None


def _read_tensor_file(path: Path) -> dict[str, Any]:
    """Return the tensors, numbers and texts of a file that its owner's run wrote, on the processor.

    torch reads past a changed byte of a tensor, so the file's own checksums are verified first.

    Raises:
        Exception: of many kinds, where the file is another user's, of another kind, cut short or damaged.
    """
    if hasattr(os, "geteuid") and path.stat().st_uid != os.geteuid():
        raise InputError("it belongs to another user")
    with zipfile.ZipFile(path) as archive:
        if (damaged_member := archive.testzip()) is not None:
            raise zipfile.BadZipFile(f"the checksum of {damaged_member} is wrong")
    stored: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    return stored


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
    for number in range(checkpoint.restore(run) if checkpoint else 0, run.steps):
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


StepLoss = Callable[[int, torch.Generator], Tensor]
"""From the number of a step and a generator for its random draws to the loss, a scalar."""


@dataclasses.dataclass(eq=False, repr=False)
class AdamRun:
    """One training run by Adam (Kingma and Ba 2015).

    Attributes:
        network: its parameters are trained in place.
        loss: computes the loss of a step.
        steps: T.
        learning_rate: learning rate of Adam.
        key: 32 bytes; step t draws from the stream named by t, so that an interrupted run can resume.
        project_parameters: called after every step, to project parameters onto the set that a theorem requires.
        weight_decay: l2 penalty on the parameters.
        clip_norm: l2 norm to which the gradient of all parameters together is clipped; None for no clipping.
    """

    network: nn.Module
    loss: StepLoss
    steps: int
    learning_rate: float
    key: bytes
    project_parameters: Callable[[], None] = lambda: None
    _: dataclasses.KW_ONLY
    weight_decay: float = 0.0
    clip_norm: float | None = None

    def __post_init__(self) -> None:
        parameters = self.network.parameters()
        self._optimizer = torch.optim.Adam(parameters, lr=self.learning_rate, weight_decay=self.weight_decay)

    def step(self, number: int) -> float:
        """Take step ``number`` (from 0), and return its loss."""
        generator = torch.Generator(next(self.network.parameters()).device)
        generator.manual_seed(int(make_generator(self.key, "step", str(number)).integers(2**62)))
        self.network.train()
        self._optimizer.zero_grad(set_to_none=True)
        loss = self.loss(number, generator)
        loss.backward()  # type: ignore[no-untyped-call]
        if self.clip_norm is not None:
            nn.utils.clip_grad_norm_(self.network.parameters(), self.clip_norm)
        self._optimizer.step()
        self.project_parameters()
        return float(loss.detach())

    @property
    def result(self) -> dict[str, Tensor]:
        """The parameters and running statistics after the last step."""
        return self.network.state_dict()

    def state(self) -> dict[str, Any]:
        """Return what the next step depends on."""
        return {"network": self.network.state_dict(), "optimizer": self._optimizer.state_dict()}

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to where `state` was taken."""
        self.network.load_state_dict(state["network"])
        self._optimizer.load_state_dict(state["optimizer"])


def select_batch(count: int, batch_size: int, step: int, key: bytes) -> Tensor:
    """Return the record indices (b,) of a step: every epoch shuffles all records anew, and drops a last short batch."""
    batch_size = min(batch_size, count)
    epoch, position = divmod(step, count // batch_size)
    order = make_generator(key, "epoch", str(epoch)).permutation(count)
    return torch.from_numpy(order[position * batch_size : (position + 1) * batch_size])


_BATCHES_PER_SORT = 100
"""Batches that are sorted by length together, so that short texts are not padded to the length of long ones."""


class LengthBucketSampler:
    """Batches of texts of similar length: every epoch shuffles all texts anew.

    Args:
        lengths: lengths of the texts, (n,).
        batch_size: number of texts in a batch; the last ones may be smaller.
        key: 32 bytes; the order follows from it.
    """

    def __init__(self, lengths: IntArray, batch_size: int, key: bytes) -> None:
        self._lengths, self._size, self._key = lengths, batch_size, key
        self.batches_per_epoch = -(-len(lengths) // batch_size)
        self._epoch, self._epoch_batches = -1, list[IntArray]()

    def __call__(self, step: int) -> IntArray:
        """Return the rows of step ``step``."""
        epoch, position = divmod(step, self.batches_per_epoch)
        if epoch != self._epoch:
            rng = make_generator(self._key, "epoch", str(epoch))
            order, sort_span = rng.permutation(len(self._lengths)), self._size * _BATCHES_PER_SORT
            spans = [order[at : at + sort_span] for at in range(0, len(order), sort_span)]
            sorted_rows = np.concatenate([span[np.argsort(self._lengths[span], kind="stable")] for span in spans])
            batches = [sorted_rows[at : at + self._size] for at in range(0, len(sorted_rows), self._size)]
            self._epoch, self._epoch_batches = epoch, [batches[at] for at in rng.permutation(len(batches))]
        return self._epoch_batches[position]
