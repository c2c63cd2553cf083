"""What training and certification share on the command line: outputs, checkpoints, memory that gives out."""

import contextlib
import dataclasses
import importlib.util
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from deniable.errors import DeniableError, InputError

if TYPE_CHECKING:
    from deniable.learning.loop import Checkpoint

_NO_MEMORY = ("can't allocate memory", "not enough memory", "out of memory")
_BESIDE = (".card.json", ".card.txt", ".owner.json")
_SECONDS = 5.0
"""Least time between two lines of progress."""


@dataclasses.dataclass(frozen=True)
class Proof:
    """How predictions are certified.

    Attributes:
        draws: of the noise for each image or text.
        alpha: chance, at most, that the certificate of one of them is wrong.
        attack: how many that are certified are attacked.
        seed: of the noise.
    """

    draws: int
    alpha: float
    attack: int
    seed: int


def check_torch() -> None:
    """Raise `InputError` where the extra is missing."""
    for name in ("torch", "dp_accounting"):
        if importlib.util.find_spec(name) is None:
            raise InputError(f"Models need {name}, which is missing: install deniable[train].")


@contextlib.contextmanager
def memory_told() -> Iterator[None]:
    """Raise `MemoryError` where torch finds no memory, for which it has no error of its own."""
    try:
        yield
    except RuntimeError as error:
        if any(what in str(error) for what in _NO_MEMORY):
            raise MemoryError from None
        raise


def check_model_outputs(output: Path, *reads: str | Path | None, force: bool) -> None:
    """Raise `InputError` now, not after hours, where a model cannot be written, or would overwrite what is read."""
    from deniable.text.tables.files import PIPE, check_outputs  # noqa: PLC0415 - keeps --help fast

    if str(output) == PIPE or output.suffix.lower() in {".gz", ".zst"}:
        raise InputError(f"The output {str(output)!r} must be a file, not compressed: name it, for example, model.pt.")
    check_outputs([f"{output}{ending}" for ending in ("", *_BESIDE)], reads, force=force, kept=[f"{output}.checkpoint"])


def take_up(checkpoint: "Checkpoint", *, force: bool) -> None:
    """Say that a run goes on, if there is a checkpoint of it; remove one of another run where ``force`` is set."""
    try:
        checkpoint.key(b"")
    except InputError:
        if not force:
            raise
        checkpoint.remove()
    if checkpoint.path.exists():
        typer.echo(f"going on from {checkpoint.path}", err=True)


@contextlib.contextmanager
def resumable(checkpoint: "Checkpoint") -> Iterator[None]:
    """Say, when a run is interrupted or the disk is full, that the same command goes on."""
    try:
        yield
    except (KeyboardInterrupt, OSError) as error:
        if not checkpoint.path.exists():
            raise
        what = error.strerror if isinstance(error, OSError) else "interrupted"
        raise DeniableError(f"{what}: the same command goes on from {str(checkpoint.path)!r}.") from None


class StepLines:
    """Lines about a training run, not too many: step and mean loss since the last line."""

    def __init__(self) -> None:
        self._last, self._sum, self._count = time.monotonic(), 0.0, 0

    def __call__(self, done: int, steps: int, loss: float) -> None:
        """Take note of a step, and print a line now and then, the last one always."""
        self._sum, self._count = self._sum + loss, self._count + 1
        now = time.monotonic()
        if now - self._last < _SECONDS and done < steps:
            return
        typer.echo(f"step {done}/{steps}  loss {self._sum / self._count:.3f}", err=True)
        self._last, self._sum, self._count = now, 0.0, 0


def write_model(output: Path, model: bytes, about: object, page: str, owner: object, *, force: bool) -> None:
    """Write a model and what stands beside it, whole or not at all: its card, the card as text, the owner's file."""
    from deniable.text.tables.files import writing  # noqa: PLC0415 - keeps --help fast

    contents = (model, packed_json(about), page.encode("utf-8", "backslashreplace"), packed_json(owner))
    paths = [f"{output}{ending}" for ending in ("", *_BESIDE)]
    with writing(*paths, force=force, owner_only=paths[-1:]) as streams:
        for stream, content in zip(streams, contents, strict=True):
            stream.write(content)


def packed_json(value: object) -> bytes:
    """Return JSON with a line end, without infinity and NaN, which it has not; a lone surrogate is an escape."""
    from deniable.verdict import finite  # noqa: PLC0415

    return json.dumps(finite(value), indent=1, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
