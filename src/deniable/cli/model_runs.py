"""What commands about models share: checks before hours of work, training that can be resumed, files of a model."""

import contextlib
import dataclasses
import hashlib
import importlib.util
import json
import secrets
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from deniable.cli.progress import Steps
from deniable.core.errors import DeniableError, InputError, is_interruption

if TYPE_CHECKING:
    from deniable.core.report import Report
    from deniable.learning.artifact import StoredModel
    from deniable.learning.loop import Checkpoint

HELD_OUT_SHARE = 0.1
"""Share of the texts that is held out for tests where no test table is given."""
_OUT_OF_MEMORY_MESSAGES = ("can't allocate memory", "not enough memory", "out of memory")
_AVERAGED_LOSSES = 100
"""Steps whose mean loss is shown."""
_COMPANION_ENDINGS = (".card.json", ".card.txt", ".owner.json")
Model = TypeVar("Model")


@dataclasses.dataclass(frozen=True)
class ModelOutput:
    """Where a trained model goes.

    Attributes:
        path: of the model; its card and the owner's file go next to it.
        force: overwrite what exists, and the checkpoint of another run.
        checkpoint_every: training steps between two checkpoints.
    """

    path: Path
    force: bool
    checkpoint_every: int

    def check(self, *read_paths: str | Path | None) -> None:
        """Raise `InputError` now, not after hours, if a file cannot be written or would overwrite what is read."""
        from deniable.core.files import PIPE, check_outputs

        if str(self.path) == PIPE or self.path.suffix.lower() in {".gz", ".zst"}:
            raise InputError(
                f"The output {str(self.path)!r} must be a file, not compressed: name it, for example, trained.model."
            )
        check_outputs(self.paths, read_paths, force=self.force, intermediates=[f"{self.path}.checkpoint"])

    @property
    def paths(self) -> list[str]:
        """The model, its card as JSON and as text, and the owner's file."""
        return [f"{self.path}{ending}" for ending in ("", *_COMPANION_ENDINGS)]

    def write(self, files: "ModelFiles") -> None:
        """Write all files of a model, whole or not at all."""
        from deniable.core.files import open_outputs
        from deniable.learning.artifact import serialize_model

        contents = (
            serialize_model(files.model),
            encode_json(files.card.to_dict()),
            files.card.to_text().encode("utf-8", "backslashreplace"),
            encode_json(files.owner_record),
        )
        # The model comes last: it never appears without its card.
        with open_outputs(*reversed(self.paths), force=self.force, owner_only=self.paths[-1:]) as streams:
            for stream, content in zip(streams, reversed(contents), strict=True):
                stream.write(content)


@dataclasses.dataclass(frozen=True)
class ModelFiles:
    """A trained model, ready to be written.

    Attributes:
        model: as training returned it.
        card: for those who receive the model.
        owner_record: for the owner only.
        figures: one line for standard output.
        are_figures_private: whether that line is for the owner alone, and goes to standard error.
    """

    model: "StoredModel"
    card: "Report"
    owner_record: object
    figures: str
    are_figures_private: bool = False


def train_and_write(
    output: ModelOutput,
    parameters: dict[str, Any],
    fit: "Callable[[Checkpoint], Model]",
    describe: Callable[[Model], ModelFiles],
) -> None:
    """Train a model or resume its training, write it with its card, and print the card and its figures.

    Args:
        output: where the model goes.
        parameters: what the run is a function of: a checkpoint with others is refused.
        fit: trains the model, or resumes from a checkpoint.
        describe: makes the files of the trained model.
    """
    from deniable.learning.loop import Checkpoint

    checkpoint = Checkpoint(Path(f"{output.path}.checkpoint"), parameters, output.checkpoint_every)
    _announce_resumption(checkpoint, force=output.force)
    with translate_memory_errors(), _explain_resumption(checkpoint):
        files = describe(fit(checkpoint))
        output.write(files)
    checkpoint.remove()
    typer.echo(files.card.to_text(), err=True)
    typer.echo(files.figures, err=files.are_figures_private)


def commit_to_data(data_fingerprint: str) -> dict[str, str]:
    """Return a fresh commitment to a data set, and what opens it.

    A plain hash would let somebody who knows all records but one test guesses at the last. The commitment is keyed
    BLAKE2b of the data's fingerprint, and says nothing to whoever lacks the key.

    Returns:
        ``commitment`` for the card; ``fingerprint`` and ``key`` (hexadecimal) for the owner.
    """
    key = secrets.token_bytes(32)
    digest = hashlib.blake2b(data_fingerprint.encode(), key=key, digest_size=16).hexdigest()
    return {"commitment": digest, "fingerprint": data_fingerprint, "key": key.hex()}


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


def _announce_resumption(checkpoint: "Checkpoint", *, force: bool) -> None:
    """Say that a run is resumed, if there is a checkpoint of it; remove one of another run where ``force`` is set."""
    try:
        checkpoint.load_key(b"")
    except InputError:
        if not force:
            raise
        checkpoint.remove()
    if checkpoint.path.exists():
        typer.echo(f"resuming from {checkpoint.path}", err=True)


@contextlib.contextmanager
def _explain_resumption(checkpoint: "Checkpoint") -> Iterator[None]:
    """Say, when a run is interrupted or the disk is full, that the same command resumes it."""
    try:
        yield
    except (KeyboardInterrupt, OSError, SystemError) as error:
        if not checkpoint.path.exists() or (isinstance(error, SystemError) and not is_interruption(error)):
            raise
        reason = error.strerror if isinstance(error, OSError) else "interrupted"
        raise DeniableError(f"{reason}: run the same command again to resume from {str(checkpoint.path)!r}.") from None


class LossSteps:
    """The steps of a training run: number, and mean loss over the last ones, see `deniable.cli.progress.show_steps`."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._losses: deque[float] = deque(maxlen=_AVERAGED_LOSSES)

    def __call__(self, done: int, total: int, loss: float) -> None:
        """Take note of a step."""
        self._losses.append(loss)
        self._steps.update(done, total, f"loss {sum(self._losses) / len(self._losses):.3f}")


def encode_json(value: object) -> bytes:
    """Return JSON with a line end; infinity and NaN, which JSON lacks, are texts, and a lone surrogate is an escape."""
    from deniable.core.guarantees import encode_nonfinite_numbers

    text = json.dumps(encode_nonfinite_numbers(value), indent=1, ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace") + b"\n"
