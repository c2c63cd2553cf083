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
from typing import TYPE_CHECKING, TypeVar

from deniable.cli.commandline import option
from deniable.cli.progress import Steps
from deniable.cli.terminal import say
from deniable.core.errors import DeniableError, InputError, is_interruption

if TYPE_CHECKING:
    from deniable.core.report import Report
    from deniable.learning.artifact import StoredModel
    from deniable.learning.loop import Checkpoint

HELD_OUT_SHARE = 0.1
"""Share of the texts that is held out for tests where no test table is given."""
_AVERAGED_LOSSES = 100
"""Steps whose mean loss is shown."""
_COMPANION_ENDINGS = (".card.json", ".card.txt", ".owner.json")
Model = TypeVar("Model")


@dataclasses.dataclass(frozen=True)
class ModelOutput:
    """Output.

    Attributes:
        output: model file; its card and the owner's file go next to it.
        force: overwrite existing output files.
    """

    output: Path = dataclasses.field(metadata=option("--output", "-o", metavar="FILE"))
    force: bool = False

    def check(self, *read_paths: str | Path | None) -> None:
        """Raise `InputError` now, not after hours, if a file cannot be written or would overwrite what is read."""
        from deniable.core.files import PIPE, check_outputs

        if str(self.output) == PIPE or self.output.suffix.lower() in {".gz", ".zst"}:
            raise InputError(
                f"The output {str(self.output)!r} must be a file, not compressed: name it, for example, trained.model."
            )
        check_outputs(self.paths, read_paths, force=self.force, intermediates=[f"{self.output}.checkpoint"])

    @property
    def paths(self) -> list[str]:
        """The model, its card as JSON and as text, and the owner's file."""
        return [f"{self.output}{ending}" for ending in ("", *_COMPANION_ENDINGS)]

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
class ResumableOutput(ModelOutput):
    """Output.

    Attributes:
        force: overwrite files, and the checkpoint of another run.
        checkpoint_every: training steps between two checkpoints.
    """

    checkpoint_every: int = dataclasses.field(default=20, metadata=option(min=1, metavar="STEPS"))


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
    output: ResumableOutput,
    fit: "Callable[[Checkpoint], Model]",
    describe: Callable[[Model], ModelFiles],
) -> None:
    """Train a model or resume its training, write it with its card, and print the card and its figures.

    Args:
        output: where the model goes.
        fit: trains the model, or resumes from a checkpoint.
        describe: makes the files of the trained model.
    """
    from deniable.learning.loop import Checkpoint

    path = Path(f"{output.output}.checkpoint")
    checkpoint = Checkpoint(path, output.checkpoint_every, output.force, lambda: say(f"resuming from {path}", err=True))
    with explain_resumption(checkpoint):
        files = describe(fit(checkpoint))
        output.write(files)
    checkpoint.remove()
    say(files.card.to_text(), err=True)
    say(files.figures, err=files.are_figures_private)


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


def refuse_pipes(*paths: Path | None) -> None:
    """Raise `InputError` for a table that a resumed run could not read again."""
    from deniable.core.files import PIPE

    if PIPE in map(str, paths):
        raise InputError("An interrupted run reads its tables again, which a pipe cannot do: give the path of a file.")


def check_torch() -> None:
    """Raise `InputError` where the extra is missing."""
    for name in ("torch", "dp_accounting"):
        if importlib.util.find_spec(name) is None:
            raise InputError(f"Models need {name}, which is missing: install deniable[train].")


@contextlib.contextmanager
def explain_resumption(checkpoint: "Checkpoint") -> Iterator[None]:
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
