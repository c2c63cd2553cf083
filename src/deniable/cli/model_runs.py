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

from deniable.core.errors import DeniableError, InputError

if TYPE_CHECKING:
    from deniable.core.report import Report
    from deniable.learning.artifact import StoredModel
    from deniable.learning.loop import Checkpoint

_OUT_OF_MEMORY_MESSAGES = ("can't allocate memory", "not enough memory", "out of memory")
_COMPANION_ENDINGS = (".card.json", ".card.txt", ".owner.json")
_PROGRESS_SECONDS = 5.0
"""Least time between two lines of progress."""


@dataclasses.dataclass(frozen=True)
class CertifyOptions:
    """How predictions are certified.

    Attributes:
        draws: of the noise for each image or text.
        alpha: chance, at most, that the certificate of one of them is wrong.
        attack_count: how many that are certified are attacked.
        seed: of the noise.
    """

    draws: int
    alpha: float
    attack_count: int
    seed: int


def check_torch() -> None:
    """Raise `InputError` where the extra is missing."""
    for name in ("torch", "dp_accounting"):
        if importlib.util.find_spec(name) is None:
            raise InputError(f"Models need {name}, which is missing: install deniable[train].")


@contextlib.contextmanager
def translate_memory_errors() -> Iterator[None]:
    """Raise `MemoryError` where torch finds no memory, for which it has no error of its own."""
    try:
        yield
    except RuntimeError as error:
        if any(message in str(error) for message in _OUT_OF_MEMORY_MESSAGES):
            raise MemoryError from None
        raise


def check_model_outputs(output: Path, *read_paths: str | Path | None, force: bool) -> None:
    """Raise `InputError` now, not after hours, where a model cannot be written, or would overwrite what is read."""
    from deniable.core.files import PIPE, check_outputs  # noqa: PLC0415 - keeps --help fast

    if str(output) == PIPE or output.suffix.lower() in {".gz", ".zst"}:
        raise InputError(f"The output {str(output)!r} must be a file, not compressed: name it, for example, model.pt.")
    check_outputs(
        [f"{output}{ending}" for ending in ("", *_COMPANION_ENDINGS)],
        read_paths,
        force=force,
        intermediates=[f"{output}.checkpoint"],
    )


def resume_run(checkpoint: "Checkpoint", *, force: bool) -> None:
    """Say that a run goes on, if there is a checkpoint of it; remove one of another run where ``force`` is set."""
    try:
        checkpoint.load_key(b"")
    except InputError:
        if not force:
            raise
        checkpoint.remove()
    if checkpoint.path.exists():
        typer.echo(f"going on from {checkpoint.path}", err=True)


@contextlib.contextmanager
def explain_resumption(checkpoint: "Checkpoint") -> Iterator[None]:
    """Say, when a run is interrupted or the disk is full, that the same command goes on."""
    try:
        yield
    except (KeyboardInterrupt, OSError) as error:
        if not checkpoint.path.exists():
            raise
        reason = error.strerror if isinstance(error, OSError) else "interrupted"
        raise DeniableError(f"{reason}: the same command goes on from {str(checkpoint.path)!r}.") from None


class StepProgress:
    """Lines about a training run, not too many: step and mean loss since the last line."""

    def __init__(self) -> None:
        self._last_time, self._loss_sum, self._step_count = time.monotonic(), 0.0, 0

    def __call__(self, done: int, steps: int, loss: float) -> None:
        """Take note of a step, and print a line now and then, the last one always."""
        self._loss_sum, self._step_count = self._loss_sum + loss, self._step_count + 1
        now = time.monotonic()
        if now - self._last_time < _PROGRESS_SECONDS and done < steps:
            return
        typer.echo(f"step {done}/{steps}  loss {self._loss_sum / self._step_count:.3f}", err=True)
        self._last_time, self._loss_sum, self._step_count = now, 0.0, 0


def write_model_files(
    output: Path, model: "StoredModel", card: "Report", owner_record: dict[str, str], *, force: bool
) -> None:
    """Write a model and what stands beside it, whole or not at all: its card, the card as text, the owner's file."""
    from deniable.core.files import open_outputs  # noqa: PLC0415 - keeps --help fast
    from deniable.learning.artifact import serialize_model  # noqa: PLC0415

    contents = (
        serialize_model(model),
        encode_json(card.to_dict()),
        card.to_text().encode("utf-8", "backslashreplace"),
        encode_json(owner_record),
    )
    paths = [f"{output}{ending}" for ending in ("", *_COMPANION_ENDINGS)]
    with open_outputs(*paths, force=force, owner_only=paths[-1:]) as streams:
        for stream, content in zip(streams, contents, strict=True):
            stream.write(content)


def encode_json(value: object) -> bytes:
    """Return JSON with a line end, without infinity and NaN, which it has not; a lone surrogate is an escape."""
    from deniable.core.evidence import encode_nonfinite_numbers  # noqa: PLC0415

    return (
        json.dumps(encode_nonfinite_numbers(value), indent=1, ensure_ascii=False).encode("utf-8", "backslashreplace")
        + b"\n"
    )
