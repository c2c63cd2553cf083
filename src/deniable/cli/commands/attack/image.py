"""``deniable attack image``: how often the predictions of an image model change under attacks of one size."""

import dataclasses
import io
import math

import typer

from deniable.cli.commandline import option
from deniable.cli.images import read_test_images
from deniable.cli.model_runs import check_torch
from deniable.cli.options import ImageModelArgument, ImagesArgument
from deniable.cli.progress import show_passes
from deniable.core.errors import InputError
from deniable.core.numbers import format_exact
from deniable.models.images.options import ImageAttackChoice


@dataclasses.dataclass(frozen=True, kw_only=True)
class ImageAttackOptions:
    """Attack.

    Attributes:
        attack: attack: l2 and l1 move pixels inside a ball of that norm, the others inside an l_inf ball. all runs the
            four in l_inf.
        size: radius of the ball; pixels are in [0, 1].
        steps: number of gradients of an attack; FGSM takes one.
        gradient_draws: number of noise draws that each gradient of a randomized model averages over.
        draws: number of noise draws for a prediction of a randomized model.
        limit: maximum number of test images to use (the first ones).
        output: .npz file with labels, attacked images and predictions.
        force: overwrite existing output files.
        seed: seed of noise and random starts; the same seed gives the same results.

    Raises:
        InputError: a size that is not finite, or an output of another format.
    """

    attack: ImageAttackChoice = "all"
    size: float = dataclasses.field(default=0.1, metadata=option(min=0))
    steps: int | None = dataclasses.field(default=None, metadata=option(min=1, show_default="by attack"))
    gradient_draws: int = dataclasses.field(default=4, metadata=option(min=1))
    draws: int = dataclasses.field(default=32, metadata=option(min=1))
    limit: int | None = dataclasses.field(default=None, metadata=option(min=1, metavar="IMAGES", show_default="all"))
    output: str | None = dataclasses.field(
        default=None, metadata=option("--output", "-o", metavar="FILE", panel="Output")
    )
    force: bool = dataclasses.field(default=False, metadata=option("--force", panel="Output"))
    seed: int = dataclasses.field(default=0, metadata=option(panel="Output"))

    def __post_init__(self) -> None:
        """Refuse what would fail after the attack."""
        if not math.isfinite(self.size):
            raise InputError(f"--size must be a finite number. Got {self.size}: pixels are in [0, 1].")
        if self.output is not None and not self.output.endswith(".npz"):
            raise InputError(f"The output {self.output!r} must be an .npz file: name it, for example, attacked.npz.")


def run_attack_image(model: ImageModelArgument, data: ImagesArgument, options: ImageAttackOptions) -> None:
    """Attack the predictions of an image model on the test images.

    Prints the accuracy without attack, under each attack, and the share of images that no attack changes. The attacks
    know the model and average over its noise. Their accuracy is an upper bound, and certifies nothing: see deniable
    certify image. Requires the train extra of deniable.
    """
    check_torch()
    import numpy as np

    from deniable.core.files import check_outputs, open_outputs
    from deniable.models.images.attacking import attack_image_model, choose_image_attacks, list_attack_arrays
    from deniable.models.tally import make_noise_generator
    from deniable.registry import load_image_model

    if options.output is not None:
        check_outputs([options.output], [model, data], force=options.force)
    image_model = load_image_model(model)
    gradient_draws = options.gradient_draws if image_model.noises else 1
    attacks = choose_image_attacks(options.attack, steps=options.steps, draws=gradient_draws)
    tested = read_test_images(data, image_model, options.limit)
    with show_passes("attack"):
        result = attack_image_model(
            image_model,
            tested,
            attacks,
            options.size,
            generator=make_noise_generator(options.seed),
            votes=options.draws,
        )
    if options.output is not None:
        stream = io.BytesIO()
        np.savez_compressed(stream, **list_attack_arrays(result))
        with open_outputs(options.output, force=options.force, owner_only=[options.output]) as (output,):
            output.write(stream.getvalue())
    norm = options.attack if options.attack in {"l1", "l2"} else "l_inf"
    sampling = ""
    if image_model.noises:
        sampling = f"; {options.gradient_draws:,} noise draws per gradient, {options.draws:,} per prediction"
    typer.echo(f"{len(tested):,} images, {norm} attacks of size {format_exact(options.size)}{sampling}")
    typer.echo(f"{'no attack':<10} accuracy {result.clean_accuracy().format_percent()}")
    for name in attacks:
        typer.echo(f"{name:<10} accuracy {result.adversarial_accuracy(name).format_percent()}")
    if len(attacks) > 1:
        typer.echo(f"{'every one':<10} accuracy {result.surviving_accuracy().format_percent()}")
