"""What the commands of ``deniable certify`` share."""

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import typer

from deniable.cli.model_runs import encode_json
from deniable.cli.options import CERTIFICATION_PANEL, OUTPUT_PANEL, make_option
from deniable.core.errors import InputError, check_positive
from deniable.core.files import PIPE

_TASK_OF_KIND = {"image model": "image", "text model": "text"}

DrawsOption = Annotated[
    int, make_option(CERTIFICATION_PANEL, "--draws", "Number of noise draws per image or text.", min=1)
]
AlphaOption = Annotated[
    float,
    make_option(
        CERTIFICATION_PANEL, "--alpha", "Maximum probability that the certificate of one image or text is wrong."
    ),
]
AttackCountOption = Annotated[
    int,
    make_option(
        CERTIFICATION_PANEL,
        "--attack-count",
        "Number of certified images or texts to attack, in an attempt to refute their certificates.",
        min=0,
    ),
]
CertifySeedOption = Annotated[
    int | None,
    make_option(
        OUTPUT_PANEL,
        "--seed",
        (
            "Seed of the noise, to repeat a run: --alpha then holds for models that were made without knowledge of the "
            "seed."
        ),
        default_text="fresh noise",
    ),
]
ResultsOption = Annotated[
    Path | None,
    make_option(
        OUTPUT_PANEL,
        "--output",
        "-o",
        'JSON file with the result for every image or text; "-" writes to standard output.',
        metavar="FILE",
    ),
]


@dataclasses.dataclass(frozen=True)
class CertifyOptions:
    """How predictions are certified.

    Attributes:
        draws: of the noise for each image or text.
        alpha: maximum probability that the certificate of one of them is wrong.
        attack_count: number of certified images or texts to attack.
        seed: of the noise; None for fresh noise.

    Raises:
        InputError: a value outside its domain.
    """

    draws: int
    alpha: float
    attack_count: int
    seed: int | None

    def __post_init__(self) -> None:
        check_positive("a certificate", "alpha", self.alpha, 1.0)

    def make_key(self, offset: int = 0) -> bytes:
        """Return the key of one part of the run, fresh or by the seed; other parts have other offsets."""
        from deniable.core.randomness import derive_key_from_seed, generate_key

        return generate_key() if self.seed is None else derive_key_from_seed(self.seed + offset)

    def describe_noise(self) -> str:
        """Return one line about what ``alpha`` holds for."""
        if self.seed is None:
            return "noise: fresh"
        return f"noise: seed {self.seed}; alpha holds for models that were made without knowledge of the seed"


@dataclasses.dataclass(frozen=True)
class TextCertification:
    """What is printed and written.

    Attributes:
        lines: for the terminal.
        record: for the JSON.
        is_refuted: whether an attack refuted a certificate that is stated as proved.
    """

    lines: list[str]
    record: dict[str, Any]
    is_refuted: bool


def check_task(model_path: Path, task: str) -> None:
    """Raise `InputError` for a model of another kind, with the command that takes it.

    Args:
        model_path: of any model.
        task: "image" or "text".
    """
    from deniable.learning.artifact import read_artifact

    model_task = _TASK_OF_KIND.get(read_artifact(model_path).kind, task)
    if task != model_task:
        raise InputError(f"{str(model_path)!r} is a model of {model_task}s: use deniable certify {model_task}.")


def report_certification(lines: list[str], record: object, output: Path | None, *, force: bool) -> None:
    """Write the results for every image or text, and print the lines; where JSON goes to stdout, to stderr.

    Args:
        lines: for the terminal.
        record: for the JSON file.
        output: of the JSON; None for no file.
        force: overwrite it.
    """
    from deniable.core.files import open_outputs

    if output is not None:
        with open_outputs(str(output), force=force, owner_only=[str(output)]) as (stream,):
            stream.write(encode_json(record))
    for line in lines:
        typer.echo(line, err=str(output) == PIPE)
