"""What the commands of ``deniable certify`` share."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from deniable.cli.commandline import option
from deniable.cli.model_runs import encode_json
from deniable.cli.terminal import say
from deniable.core.errors import InputError, check_positive
from deniable.core.files import PIPE

_TASK_OF_KIND = {"image model": "image", "text model": "text"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class CertificationOptions:
    """Certification.

    Attributes:
        draws: number of noise draws per image or text.
        alpha: maximum probability that the certificate of one image or text is wrong.
        attack_count: number of certified images or texts to attack, in an attempt to refute their certificates.
        output: JSON file with the result for every image or text; "-" writes to standard output.
        force: overwrite existing output files.
        seed: seed of the noise, to repeat a run; --alpha then holds for models that were made without knowledge of it.

    Raises:
        InputError: an alpha outside (0, 1).
    """

    draws: int = dataclasses.field(default=1_000, metadata=option(min=1))
    alpha: float = 0.001
    attack_count: int = dataclasses.field(default=0, metadata=option(min=0))
    output: str | None = dataclasses.field(
        default=None, metadata=option("--output", "-o", metavar="FILE", panel="Output")
    )
    force: bool = dataclasses.field(default=False, metadata=option("--force", panel="Output"))
    seed: int | None = dataclasses.field(default=None, metadata=option(panel="Output", show_default="fresh noise"))

    def __post_init__(self) -> None:
        """Refuse an alpha before a model is read."""
        check_positive("a certificate", "alpha", self.alpha, 1.0)

    def check(self, task: str, model: Path, *read_paths: str | Path | None) -> None:
        """Refuse an output that cannot be written or would overwrite what is read, and a model of another kind.

        Args:
            task: "image" or "text".
            model: path of the model.
            read_paths: of everything else that is read.

        Raises:
            InputError: as above; the message names the command that takes the model.
        """
        from deniable.core.files import check_outputs
        from deniable.learning.artifact import read_artifact

        if self.output is not None:
            check_outputs([self.output], [model, *read_paths], force=self.force)
        model_task = _TASK_OF_KIND.get(read_artifact(model).kind, task)
        if task != model_task:
            raise InputError(f"{str(model)!r} is a model of {model_task}s: use deniable certify {model_task}.")

    def make_key(self, offset: int = 0) -> bytes:
        """The key of one part of the run, fresh or by the seed; other parts have other offsets."""
        from deniable.core.randomness import derive_key_from_seed, generate_key

        return generate_key() if self.seed is None else derive_key_from_seed(self.seed + offset)

    def describe_noise(self) -> str:
        """One line about what ``alpha`` holds for."""
        if self.seed is None:
            return "noise: fresh"
        return f"noise: seed {self.seed}; alpha holds for models that were made without knowledge of the seed"

    def report(self, lines: Sequence[str], record: object) -> None:
        """Write the results for every image or text, and print the lines; where JSON goes to stdout, to stderr."""
        from deniable.core.files import open_outputs

        if self.output is not None:
            with open_outputs(self.output, force=self.force, owner_only=[self.output]) as (stream,):
                stream.write(encode_json(record))
        for line in lines:
            say(line, err=self.output == PIPE)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextCertificationOptions(CertificationOptions):
    """Certification."""

    draws: int = dataclasses.field(default=10_000, metadata=option(min=1))
